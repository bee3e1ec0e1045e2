"""Showing that things are as they were written: verify, provenance, timestamp, authority."""

import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.completing import complete_nodes
from weft.cli.output import Column, Piece
from weft.cli.progress import progress_bar
from weft.cli.wording import where
from weft.cli.writing import NodeName
from weft.errors import CODES, InvalidInputError, NotFoundError
from weft.tree.node_labels import counted

if TYPE_CHECKING:
    from weft.provenance.report import Report
    from weft.runtime.evidence.provenance_view import Provenance, Stamp

__all__ = ["add_to"]

_PANEL = "Trust"
_SHOWN = 20
_STYLES = {"valid": "green", "invalid": "bold red", "incomplete": "yellow"}
_EXITS = {"invalid": CODES["STORAGE"].exit, "incomplete": CODES["NOT_FOUND"].exit}


def verify(
    call: Call,
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="NODE|TREE",
            help="A node with all it was written from, or a tree; else the whole grove.",
            autocompletion=complete_nodes,
        ),
    ] = None,
    *,
    only: Annotated[bool, flag("--node", help="Just that node.")] = False,
    quick: Annotated[
        bool, flag("--quick", help="Skip the database's check of indexes against tables (whole grove).")
    ] = False,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", metavar="FILE", help="A bundle from anywhere; needs no grove.")
    ] = None,
    trust: Annotated[
        Path | None,
        typer.Option(
            "--trust", metavar="FILE", help="Certificates (PEM) to check a bundle's timestamps against."
        ),
    ] = None,
) -> None:
    """Check that everything is as it was written.

    Says valid, invalid (and what differs), or incomplete (and what is missing). The exit
    code is 0 only where it is valid.
    """
    if bundle is not None:
        from weft.provenance.bundle import verify_bundle  # noqa: PLC0415 - brings cryptography along

        if reference is not None or only or quick:
            raise InvalidInputError("--bundle takes no node or tree, and no --quick")
        certificates = None if trust is None else _certificates(trust).encode()
        with progress_bar("verifying") as progress:
            report = verify_bundle(bundle, progress, trust=certificates)
        if report.timestamps and trust is None:
            call.out.talk("timestamps are checked against the bundle's own certificates; --trust names yours")
        _tell(call, report, f"in {bundle.name}")
        return
    if trust is not None:
        raise InvalidInputError(
            "--trust goes with --bundle", hint="a grove knows its authorities' certificates"
        )
    with progress_bar("verifying") as progress:
        if reference is None and call.choices.tree is None:
            report, place = call.grove.verify(progress, quick=quick), "in the grove"
        else:
            tree, node = call.place(reference)
            place = where(tree.title)
            report = tree.verify(progress) if node is None else node.verify(path=not only, progress=progress)
    _tell(call, report, place)


def _tell(call: Call, report: "Report", place: str) -> None:
    if call.out.as_json:
        call.out.json(report)
    else:
        counts = [counted(report.nodes, "node")]
        for number, noun in (
            (report.events, "event"),
            (report.bodies, "body"),
            (report.blobs, "blob"),
            (report.timestamps, "timestamp"),
        ):
            if number:
                counts.append(
                    f"{number:,} bodies" if noun == "body" and number != 1 else counted(number, noun)
                )
        told = ", ".join(counts)
        call.out.line(
            [Piece(str(report.verdict), _STYLES[report.verdict]), Piece(f"  {told} {place}", "dim")]
        )
        for finding in report.findings[:_SHOWN]:
            call.out.text(f"  {finding}")
        for line in report.unchecked:
            call.out.talk(f"not checked: {line}")
        rest = len(report.findings) - _SHOWN + report.more
        if rest > 0:
            call.out.text(f"  … and {rest:,} more; --json lists them", "dim")
    if not report.valid:
        call.out.flush()
        raise typer.Exit(_EXITS[report.verdict])


def provenance(
    call: Call,
    reference: NodeName,
    *,
    raw: Annotated[bool, flag("--raw", help="Print the provider's raw response, to the byte.")] = False,
    request: Annotated[bool, flag("--request", help="Print the request that was sent, to the byte.")] = False,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle", metavar="FILE", help="Write all the evidence to one file for others to verify."
        ),
    ] = None,
) -> None:
    """Show where a node comes from: its chain, its timestamps, what was asked and what came back."""
    if sum((raw, request, bundle is not None)) > 1:
        raise InvalidInputError("--raw, --request and --bundle exclude each other")
    node = call.node(reference)
    evidence, tree = call.grove.evidence, node.value.tree_id
    if raw or request:
        found = evidence.raw_response(tree, node.id) if raw else evidence.request(tree, node.id)
        if found is None:
            what = "raw response" if raw else "request"
            raise NotFoundError(f"[{node.local_id}] has no {what}", hint="only what a model wrote has one")
        call.out.flush()
        sys.stdout.buffer.write(found)
        return
    if bundle is not None:
        with progress_bar("bundling") as progress:
            count = evidence.write_bundle(tree, node.id, bundle, progress)
        told = f"wrote {counted(count, 'node')} to {bundle}; weft verify --bundle checks it anywhere"
        call.out.answer({"bundle": str(bundle), "nodes": count}, str(bundle), told)
        return
    with progress_bar("verifying") as progress:
        shown = evidence.provenance(tree, node.id, progress)
    if call.out.as_json:
        call.out.json(shown)
        return
    for name, value, style in _facts(shown):
        call.out.line([Piece(f"{name:<12}", "dim"), Piece(value, style, gives=True)])
    for finding in shown.report.findings[:_SHOWN]:
        call.out.text(f"  {finding}")


def _facts(shown: "Provenance") -> list[tuple[str, str, str]]:
    """What there is to say, one line each."""
    rows = [
        ("node", f"[{shown.local_id}] {shown.node_id}", ""),
        ("author", f"{shown.author} ({shown.author_type})", ""),
        ("created", _moment(shown.created_at), ""),
        ("hash", shown.content_hash, ""),
        ("chain", f"{shown.chain}, {counted(shown.report.nodes, 'node')}", _STYLES[shown.chain]),
    ]
    if shown.edited_from is not None:
        rows.append(("edited from", shown.edited_from, ""))
    rows.extend(
        ("source" if not at else "", f"{source.id} {source.role} {source.content_hash[:12]}…", "")
        for at, source in enumerate(shown.sources)
    )
    rows.extend(("time", _stamp(stamp), "") for stamp in shown.timestamps)
    if not shown.timestamps:
        rows.append(("time", "not certified by anyone outside", "dim"))
    if shown.provider is not None:
        rows += _response(shown)
    return rows


def _response(shown: "Provenance") -> list[tuple[str, str, str]]:
    rows = [("model", f"{shown.model} by {shown.provider}", "")]
    if shown.request_id is not None:
        rows.append(("request id", shown.request_id, ""))
    if shown.requested_at is not None:
        took = "" if shown.latency_ms is None else f", answered in {shown.latency_ms:,.0f} ms"
        rows.append(("asked", _moment(shown.requested_at) + took, ""))
    usage = shown.usage
    if usage is not None:
        parts = [
            f"{number:,} {name}"
            for number, name in (
                (usage.prompt, "prompt"),
                (usage.completion, "completion"),
                (usage.cached_read, "read from cache"),
                (usage.cached_write, "written to cache"),
            )
            if number is not None
        ]
        if parts:
            rows.append(("tokens", ", ".join(parts), ""))
    rows.append(("response", shown.response_sha256 or "", ""))
    if shown.request_sha256 is not None:
        rows.append(("request", shown.request_sha256, ""))
    return rows


def _stamp(stamp: "Stamp") -> str:
    when = "" if stamp.certified_at is None else f" {_moment(stamp.certified_at)}"
    why = "" if stamp.error is None else f": {stamp.error}"
    return f"{stamp.status}{when} by {stamp.authority}{why}"


def _moment(value: datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S} UTC"


def timestamp(
    call: Call,
    reference: Annotated[
        str | None,
        typer.Argument(metavar="NODE", help="The node to certify.", autocompletion=complete_nodes),
    ] = None,
    *,
    whole: Annotated[
        bool, flag("--all", help="Certify the whole grove: the heads of all its chains.")
    ] = False,
    authority: Annotated[
        list[str] | None,
        typer.Option("--authority", metavar="URL", help="Only this authority; may be given again."),
    ] = None,
    wait: Annotated[bool, flag("--wait", help="Ask the authorities now, and once.")] = False,
) -> None:
    """Have a node, or the whole grove, certified by a timestamp authority.

    Notes the wish; with --wait it asks at once. Without a node it asks for all that is pending.
    Only a hash leaves the machine.
    """
    if reference is not None and whole:
        raise InvalidInputError("--all takes no node")
    chosen = authority or []
    evidence = call.grove.evidence
    made: list[str] = []
    if whole:
        made = call.grove.timestamp(*chosen)
        stamps = evidence.timestamps
        place = "the grove"
    elif reference is not None:
        node = call.node(reference)
        made = node.timestamp(*chosen)
        stamps = partial(evidence.timestamps, node.value.tree_id, node.id)
        place = f"[{node.local_id}]"
    else:
        done = call.grove.fetch_timestamps(everything=True)
        told = f"certified {done.certified:,}, failed {done.failed:,}, still pending {done.waiting:,}"
        call.out.answer(done, str(done.waiting), told)
        return
    if wait:
        call.grove.fetch_timestamps(everything=True)
    listed = [stamp for stamp in stamps() if stamp.id in made]
    plain = "\n".join(f"{stamp.id}\t{stamp.status}" for stamp in listed)
    call.out.answer(listed, plain, f"timestamp of {place}: " + "; ".join(_stamp(stamp) for stamp in listed))


def authorities(call: Call) -> None:
    """Timestamp authorities: who is asked to certify times. None by default."""
    listed = _authorities(call)
    if call.out.as_json:
        call.out.json([{"url": url, "certificates": pem} for url, pem in listed.items()])
    elif not listed:
        call.out.talk("no timestamp authority is set; weft authority add URL --trust CERTIFICATES.pem")
    else:
        rows = [(url, counted(pem.count("BEGIN CERTIFICATE"), "certificate")) for url, pem in listed.items()]
        call.out.table([Column("authority", gives=True), Column("trusted by")], rows, rows)


def _authorities(call: Call) -> dict[str, str]:
    from weft.runtime.evidence.timestamps import authorities_of  # noqa: PLC0415 - brings cryptography along

    with call.grove.read.store.read() as session:
        return {each.url: each.certificates for each in authorities_of(session)}


def add(
    call: Call,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where it answers: http:// or https://.")],
    *,
    trust: Annotated[
        Path,
        typer.Option(
            "--trust", metavar="FILE", help="The certificates (PEM) its answers are checked against."
        ),
    ],
) -> None:
    """Choose an authority; its certificates come from a file, never from the network."""
    call.grove.set_authorities({**_authorities(call), url: _certificates(trust)})
    call.out.answer({"url": url}, url, f"times may be certified by {url}")


def _certificates(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{path} holds no PEM certificates", hint="export the authority's certificate as PEM"
        ) from None


def remove(call: Call, url: Annotated[str, typer.Argument(metavar="URL")]) -> None:
    """Ask an authority no more; what it certified stays."""
    known = _authorities(call)
    if url not in known:
        raise NotFoundError(f"no authority {url[:200]!r}", hint="weft authority shows them")
    del known[url]
    call.grove.set_authorities(known)
    call.out.answer({"url": url}, url, f"{url} is not asked any more")


def add_to(app: typer.Typer) -> None:
    for function in (verify, provenance, timestamp):
        command(app, function.__name__, function, panel=_PANEL)
    family = group(app, "authority", authorities, panel=_PANEL)
    command(family, "add", add)
    command(family, "remove", remove)
