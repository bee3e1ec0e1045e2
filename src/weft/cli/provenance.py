"""Provenance: verify, provenance, timestamp, authority."""

import sys
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.arguments import NodeName, argument, flag, option
from weft.cli.output import Column, Piece, progress_bar, where
from weft.cli.session import CliSession
from weft.errors import CODES, InvalidInputError, NotFoundError
from weft.tree.citation import cited_sources
from weft.tree.node import counted

if TYPE_CHECKING:
    from weft.provenance.findings import Report
    from weft.runtime.evidence.provenance_view import Provenance, Stamp

_SHOWN = 20
_UNCERTIFIED = "not certified"
_STYLES = {"valid": "green", "invalid": "bold red", "incomplete": "yellow"}
_EXITS = {"invalid": CODES["STORAGE"].exit, "incomplete": CODES["NOT_FOUND"].exit}


def verify(
    session: CliSession,
    reference: Annotated[
        str | None,
        argument(
            "NODE|TREE", "A node with everything it was written from, or a tree; default: the whole grove."
        ),
    ] = None,
    *,
    only: Annotated[bool, flag("--node", "Only that node.")] = False,
    bundle: Annotated[Path | None, option("--bundle FILE", "Verify a bundle; needs no grove.")] = None,
    trust: Annotated[
        Path | None, option("--trust FILE", "Certificates (PEM) to check a bundle's timestamps against.")
    ] = None,
    quick: Annotated[
        bool, flag("--quick", "Skip the database's check of indexes against tables (whole grove).")
    ] = False,
) -> None:
    """Verify that nothing was changed after it was written.

    Prints valid, invalid (and what differs), or incomplete (and what is missing). The exit code is 0 only
    for valid.
    """
    if bundle is not None:
        from weft.provenance.bundle import verify_bundle  # noqa: PLC0415 - cryptography is large

        if reference is not None or only or quick:
            raise InvalidInputError("--bundle takes no node or tree, and no --quick")
        certificates = None if trust is None else _certificates(trust).encode()
        with progress_bar("verifying") as progress:
            report = verify_bundle(bundle, progress, trust=certificates)
        if report.timestamps and trust is None:
            session.out.message(
                "timestamps are checked against the bundle's own certificates; give yours with --trust"
            )
        _show_report(session, report, f"in {bundle.name}")
        return
    if trust is not None:
        raise InvalidInputError("--trust needs --bundle", hint="a grove has its authorities' certificates")
    with progress_bar("verifying") as progress:
        if reference is None and session.options.tree is None:
            report, place = session.grove.verify(progress, quick=quick), "in the grove"
        else:
            tree, node = session.place(reference)
            place = where(tree.title)
            report = tree.verify(progress) if node is None else node.verify(path=not only, progress=progress)
    _show_report(session, report, place)


def _show_report(session: CliSession, report: "Report", place: str) -> None:
    if session.out.as_json:
        session.out.json(report)
    else:
        rest = (report.events, report.bodies, report.blobs, report.timestamps)
        nouns = zip(("event", "body", "blob", "timestamp"), rest, strict=True)
        counts = [counted(report.nodes, "node"), *(counted(each, noun) for noun, each in nouns if each)]
        verdict = Piece(str(report.verdict), _STYLES[report.verdict])
        session.out.line([verdict, Piece(f"  {', '.join(counts)} {place}", "dim")])
        for finding in report.findings[:_SHOWN]:
            session.out.text(f"  {finding}")
        for line in report.unchecked:
            session.out.message(f"not checked: {line}")
        more = len(report.findings) - _SHOWN + report.more
        if more > 0:
            session.out.text(f"  … and {more:,} more; --json lists them", "dim")
    if not report.valid:
        session.out.flush()
        raise typer.Exit(_EXITS[report.verdict])


def provenance(
    session: CliSession,
    reference: NodeName,
    *,
    raw: Annotated[bool, flag("--raw", "Print the provider's raw response, to the byte.")] = False,
    request: Annotated[bool, flag("--request", "Print the request that was sent, to the byte.")] = False,
    bundle: Annotated[
        Path | None, option("--bundle FILE", "Write all evidence to one file, to verify it elsewhere.")
    ] = None,
) -> None:
    """Show a node's origin: its chain, its timestamps, the request and the response."""
    if sum((raw, request, bundle is not None)) > 1:
        raise InvalidInputError("--raw, --request and --bundle exclude each other")
    node = session.node(reference)
    evidence, tree = session.grove.evidence, node.value.tree_id
    if raw or request:
        body = evidence.raw_response(tree, node.id) if raw else evidence.request(tree, node.id)
        if body is None:
            what = "raw response" if raw else "request"
            raise NotFoundError(
                f"[{node.local_id}] has no {what}", hint="only nodes written by a model have one"
            )
        session.out.flush()
        sys.stdout.buffer.write(body)
        return
    if bundle is not None:
        with progress_bar("bundling") as progress:
            count = evidence.write_bundle(tree, node.id, bundle, progress)
        message = f"wrote {counted(count, 'node')} to {bundle}; verify it anywhere: weft verify --bundle"
        session.out.result({"bundle": str(bundle), "nodes": count}, str(bundle), message)
        return
    with progress_bar("verifying") as progress:
        shown = evidence.provenance(tree, node.id, progress)
    if session.out.as_json:
        session.out.json(shown)
        return
    for name, value in _facts(shown):
        style = _STYLES[shown.chain] if name == "chain" else "dim" if value == _UNCERTIFIED else ""
        session.out.line([Piece(f"{name:<12}", "dim"), Piece(value, style, shrinks=True)])
    for finding in shown.report.findings[:_SHOWN]:
        session.out.text(f"  {finding}")


def _facts(shown: "Provenance") -> Iterator[tuple[str, str]]:
    """Name and value of each line."""
    yield "node", f"[{shown.local_id}] {shown.node_id}"
    yield "author", f"{shown.author} ({shown.author_type})"
    yield "created", _moment(shown.created_at)
    yield "hash", shown.content_hash
    yield "chain", f"{shown.chain}, {counted(shown.report.nodes, 'node')}"
    if shown.edited_from is not None:
        yield "edited from", shown.edited_from
    for index, source in enumerate(shown.sources):
        yield "" if index else "source", f"{source.id} {source.role} {source.content_hash[:12]}…"
    yield from (("time", _stamp(stamp)) for stamp in shown.timestamps)
    if not shown.timestamps:
        yield "time", _UNCERTIFIED
    for index, source in enumerate(cited_sources(shown.citations)):
        yield "" if index else "cites", source
    if shown.provider is not None:
        yield from _call_facts(shown)


def _call_facts(shown: "Provenance") -> Iterator[tuple[str, str]]:
    """The same of the call that wrote the node."""
    yield "model", f"{shown.model} by {shown.provider}"
    if shown.request_id is not None:
        yield "request id", shown.request_id
    if shown.requested_at is not None:
        took = "" if shown.latency_ms is None else f"; answered in {shown.latency_ms:,.0f} ms"
        yield "requested", _moment(shown.requested_at) + took
    if shown.usage is not None:
        counts = {
            "prompt": shown.usage.prompt,
            "completion": shown.usage.completion,
            "read from cache": shown.usage.cached_read,
            "written to cache": shown.usage.cached_write,
        }
        if tokens := [f"{number:,} {name}" for name, number in counts.items() if number is not None]:
            yield "tokens", ", ".join(tokens)
    if shown.call_note is not None:
        yield "note", shown.call_note
    yield "response", shown.response_sha256 or ""
    if shown.replaced_keys:
        places = ", ".join(f"{place:,}" for place in shown.replaced_keys)
        times = counted(len(shown.replaced_keys), "time")
        yield "key", f"echoed by the provider, replaced {times}, at byte {places} of the response"
    if shown.request_sha256 is not None:
        yield "request", shown.request_sha256


def _stamp(stamp: "Stamp") -> str:
    when = "" if stamp.certified_at is None else f" {_moment(stamp.certified_at)}"
    why = "" if stamp.error is None else f": {stamp.error}"
    return f"{stamp.status}{when} by {stamp.authority}{why}"


def _moment(value: datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S} UTC"


def timestamp(
    session: CliSession,
    reference: Annotated[str | None, argument("NODE", "The node to certify.")] = None,
    *,
    whole: Annotated[bool, flag("--all", "Certify the whole grove: the heads of all chains.")] = False,
    authority: Annotated[
        list[str] | None, option("--authority URL", "Only this authority. Repeatable.")
    ] = None,
    wait: Annotated[bool, flag("--wait", "Query the authorities now, once.")] = False,
) -> None:
    """Have a timestamp authority certify a node, or the whole grove.

    Records the request; --wait sends it now. Without a node: send all pending requests. Only a hash
    leaves the machine.
    """
    if reference is not None and whole:
        raise InvalidInputError("--all takes no node")
    chosen = authority or []
    evidence = session.grove.evidence
    made: list[str] = []
    if whole:
        made = session.grove.timestamp(*chosen)
        stamps = evidence.timestamps
        place = "the grove"
    elif reference is not None:
        node = session.node(reference)
        made = node.timestamp(*chosen)
        stamps = partial(evidence.timestamps, node.value.tree_id, node.id)
        place = f"[{node.local_id}]"
    else:
        done = session.grove.fetch_timestamps(everything=True)
        message = f"certified {done.certified:,}, failed {done.failed:,}, still pending {done.waiting:,}"
        session.out.result(done, str(done.waiting), message)
        return
    if wait:
        session.grove.fetch_timestamps(everything=True)
    listed = [stamp for stamp in stamps() if stamp.id in made]
    plain = "\n".join(f"{stamp.id}\t{stamp.status}" for stamp in listed)
    session.out.result(
        listed, plain, f"timestamp of {place}: " + "; ".join(_stamp(stamp) for stamp in listed)
    )


def authority(session: CliSession) -> None:
    """The authorities that certify times. None by default. Alone: list them."""
    session.out.listing(
        list(_authorities(session).items()),
        Column("authority", lambda row: row[0], shrinks=True),
        Column("trusted by", lambda row: counted(row[1].count("BEGIN CERTIFICATE"), "certificate")),
        empty="no timestamp authority; add one: weft authority add URL --trust CERTIFICATES.pem",
        wire=lambda row: {"url": row[0], "certificates": row[1]},
    )


def _authorities(session: CliSession) -> dict[str, str]:
    from weft.runtime.evidence.timestamps import authorities_of  # noqa: PLC0415 - cryptography is large

    with session.grove.read.store.read() as reader:
        return {each.url: each.certificates for each in authorities_of(reader)}


def authority_add(
    session: CliSession,
    url: Annotated[str, argument("URL", "Its address: http:// or https://.")],
    *,
    trust: Annotated[Path, option("--trust FILE", "The certificates (PEM) to check its answers against.")],
) -> None:
    """Add an authority; its certificates come from a file, never from the network."""
    session.grove.set_authorities({**_authorities(session), url: _certificates(trust)})
    session.out.result({"url": url}, url, f"added {url}")


def _certificates(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{path} contains no PEM certificates", hint="export the authority's certificate as PEM"
        ) from None


def authority_remove(session: CliSession, url: Annotated[str, argument("URL", "Its address.")]) -> None:
    """Remove an authority; its certificates stay."""
    known = _authorities(session)
    if url not in known:
        raise NotFoundError(f"no authority {url[:200]!r}", hint="weft authority lists them")
    del known[url]
    session.grove.set_authorities(known)
    session.out.result({"url": url}, url, f"removed {url}")
