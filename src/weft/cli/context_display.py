"""Draw a context: its manifest as a bar and tables, its layers, the difference of two."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weft.cli.output import Column, Output, Piece, quoted
from weft.cli.session import CliSession
from weft.errors import InvalidInputError, WeftError
from weft.tree.node import counted

if TYPE_CHECKING:
    from weft.context.envelope import Envelope
    from weft.context.manifest import Manifest
    from weft.context.manifest_view import Changes
    from weft.context.result import Context
    from weft.runtime.contexts.statistics import Requests, TreeStats

LAYERS = {
    "L1_SYSTEM": ("magenta", "█"),
    "L2_LIBRARY": ("cyan", "▓"),
    "L4_HISTORY": ("blue", "▒"),
    "L3_TURN": ("green", "░"),
    "L5_USER": ("yellow", "▪"),
}
"""Colour and block of each layer, in the order in which layers are sent."""
_SEGMENTS = {
    "system": ("magenta", "█"),
    "layers": ("magenta", "▓"),
    "sources": ("cyan", "▓"),
    "items": ("cyan", "▒"),
    "nodes": ("blue", "▒"),
    "messages": ("blue", "▒"),
    "input": ("yellow", "▪"),
    "added": ("green", "▚"),
    "free": ("dim", "░"),
}
"""Colour and block of each part of the window: the legend shows the same, so that it works without colour."""
_NARROWEST = 20
_BY_ID = re.compile(r"\b(doc|tree):([0-9A-HJKMNP-TV-Z]{26})")


def bar(sizes: Sequence[tuple[str, int]], looks: Mapping[str, tuple[str, str]], width: int) -> list[Piece]:
    """Blocks in proportion to the sizes; every size above 0 has at least one."""
    width = max(_NARROWEST, width)
    whole = max(1, sum(size for _, size in sizes))
    pieces: list[Piece] = []
    done = shown = 0
    for name, size in sizes:
        if not size:
            continue
        done += size
        blocks = max(1, round(done * width / whole) - shown)
        shown += blocks
        colour, block = looks.get(name, ("", "█"))
        pieces.append(Piece(block * blocks, colour))
    return pieces


def draw_manifest(session: CliSession, place: str, manifest: "Manifest") -> None:
    """The window as a bar, then the outcome of every candidate, with its reason."""
    from weft.context.manifest_view import lines_of, segments_of  # noqa: PLC0415 - loads with the engine

    out = session.out
    out.line([Piece(place, "bold"), Piece(_size(manifest.tokens, manifest.facts.budget))])
    segments = segments_of(manifest.pieces, manifest.facts.budget)
    if out.terminal:
        out.line(bar([(each.name, each.tokens) for each in segments], _SEGMENTS, out.width - 2))
    sums = Counter[str]()
    for each in segments:
        sums[each.name] += each.tokens
    out.pieces(_legend(sums, _SEGMENTS) if out.terminal else [Piece(_sums(sums))])
    out.table(
        lines_of(manifest.pieces),
        Column("outcome", lambda line: line.outcome.value),
        Column("", lambda line: f"{line.count:,}", number=True),
        Column("what", lambda line: line.what),
        Column(
            "tokens",
            lambda line: (
                f"{line.tokens:,}" if line.tokens == line.size else f"{line.tokens:,} of {line.size:,}"
            ),
            number=True,
        ),
        Column("which", lambda line: _titled(session, line.names), field=lambda line: line.names),
        Column("why", lambda line: line.reason, shrinks=True, wraps=True),
    )


def _titled(session: CliSession, names: str) -> str:
    """Names with titles where they hold the ids of documents and trees, which nobody knows by heart."""
    return _BY_ID.sub(lambda found: _title(session, found[1], found[2]) or found[0], names)


def _title(session: CliSession, kind: str, identity: str) -> str | None:
    try:
        read = session.grove.read
        return (
            f"{kind} {quoted(read.tree(identity).title if kind == 'tree' else read.document(identity).title)}"
        )
    except WeftError:
        return None


def _sums(sums: Mapping[str, int]) -> str:
    return " · ".join(f"{name} {tokens:,}" for name, tokens in sums.items())


def _legend(sums: Mapping[str, int], looks: Mapping[str, tuple[str, str]]) -> list[Piece]:
    """Each name with the colour and the block that the bar has for it."""
    pieces: list[Piece] = []
    for name, tokens in sums.items():
        colour, block = looks.get(name, ("", "█"))
        pieces += [
            Piece("  " if pieces else ""),
            Piece(block, colour),
            Piece(f"\u00a0{name}\u00a0{tokens:,}"),
        ]
    return pieces


def print_entries(session: CliSession, manifest: "Manifest") -> None:
    """Every candidate of a manifest, one a line."""
    session.out.table(
        list(manifest),
        Column("outcome", lambda each: each.outcome.value),
        Column(
            "what", lambda each: each.kind.value if each.count == 1 else f"{each.count:,} {each.kind.value}s"
        ),
        Column("id", lambda each: each.id if each.last in {None, each.id} else f"{each.id} … {each.last}"),
        Column("tokens", lambda each: each.tokens, number=True),
        Column("of", lambda each: each.size, number=True),
        Column("why", lambda each: each.reason, shrinks=True, wraps=True),
    )


def show_changes(session: CliSession, one: "Context | Envelope", two: "Context | Envelope") -> None:
    """The difference of two contexts."""
    from weft.context.manifest_view import change_rows  # noqa: PLC0415 - loads with the engine

    changes: Changes = one.manifest.diff(two.manifest)
    if session.out.as_json:
        session.out.json({"tokens": [one.tokens, two.tokens], "changes": list(changes)})
        return
    if changes:
        session.out.table(
            change_rows(changes),
            Column("what", lambda line: line[0], shrinks=True),
            Column("how many", lambda line: line[1]),
            Column("becomes", lambda line: line[2]),
        )
    session.out.message(
        f"{one.tokens:,} tokens, then {two.tokens:,}" if changes else "no differences in what both include"
    )


def show_layers(
    session: CliSession,
    place: str,
    shown: "Context | Envelope",
    *,
    raw: bool,
    entries: bool,
    payload: bool,
) -> None:
    """A request that would be sent, or the envelope of one that was; its warnings are messages."""
    from weft.context.envelope import Envelope  # noqa: PLC0415 - loads with the engine
    from weft.context.payload import record_payload  # noqa: PLC0415 - loads with the engine

    if sum((raw, entries, payload)) > 1:
        raise InvalidInputError("--raw, --entries and --payload exclude each other")
    if session.out.as_json:
        session.out.json(
            shown.to_wire()
            if isinstance(shown, Envelope)
            else {
                **shown.payload.to_wire(),
                "instabilities": [each.to_wire() for each in shown.instabilities],
            }
        )
        return
    was_sent = isinstance(shown, Envelope)
    envelope = shown if was_sent else shown.laid_out
    for warning in envelope.warnings:
        session.out.message(f"warning: {warning}")
    if raw:
        session.out.json(envelope.llm_messages)
    elif payload:
        session.out.exact((record_payload(shown) if was_sent else shown.payload).text)
    else:
        size = _size(envelope.tokens, envelope.budget)
        if not was_sent and shown.prediction is not None:
            size += f", about {shown.prediction.cached:,} cached"
        session.out.line([Piece(place, "bold"), Piece(size)])
        _draw_layers(session, envelope, entries=entries)


def _size(tokens: int, budget: int) -> str:
    from weft.context.tokens import NO_LIMIT  # noqa: PLC0415 - loads with the engine

    limit = f" of {budget:,}" if budget < NO_LIMIT else ""
    return f"  {tokens:,}{limit} tokens"


def _draw_layers(session: CliSession, envelope: "Envelope", *, entries: bool) -> None:
    out = session.out
    if out.terminal:
        sizes = [(name, envelope.layer(name).tokens) for name in LAYERS]
        out.line(bar(sizes, LAYERS, out.width - 2))
        out.pieces(_legend({name: size for name, size in sizes if size}, LAYERS))
    out.table(
        [(name, envelope.layer(name)) for name in LAYERS],
        Column("layer", lambda row: row[0]),
        Column("holds", lambda row: row[1].label, shrinks=True),
        Column("tokens", lambda row: f"{row[1].tokens:,}", number=True),
        Column("pieces", lambda row: f"{len(row[1].segments):,}", number=True),
        Column("changes", lambda row: "stable" if row[1].stable else "every turn"),
        Column("hash", lambda row: row[1].hash[:12]),
    )
    out.table(
        [each for each in envelope.manifest if entries or each.kind.value == "item"],
        Column("outcome", lambda each: each.outcome.value),
        Column(
            "what" if entries else "item", lambda each: _titled(session, each.id), field=lambda each: each.id
        ),
        Column("tokens", lambda each: f"{each.tokens:,}", number=True),
        Column("of", lambda each: f"{each.size:,}", number=True),
        Column("why", lambda each: each.reason, shrinks=True, wraps=True),
    )


def draw_stats(out: Output, statistics: "TreeStats") -> None:
    whole = statistics.requests
    out.line(
        [
            Piece(quoted(statistics.title), "bold"),
            Piece(f"  {counted(whole.count, 'request')}, {whole.tokens:,} tokens"),
        ]
    )
    if out.terminal and whole.count:
        _draw_bars(out, whole)
    if whole.count:
        out.table(
            [("all", whole), *((f"[{each.leaf}]", each.requests) for each in statistics.branches)],
            Column("branch", lambda row: row[0]),
            Column("requests", lambda row: f"{row[1].count:,}", number=True),
            Column("tokens", lambda row: f"{row[1].tokens:,}", number=True),
            *(_layer_column(layer) for layer in LAYERS),
            Column("expected", lambda row: _percent(row[1].predicted_share), number=True),
            Column("reported", lambda row: _percent(row[1].reported_share), number=True),
        )
    else:
        out.message("nothing was sent from this tree yet")
    if statistics.unstable:
        out.line([Piece("the cache was lost without a recorded reason", "yellow")])
        out.table(
            statistics.unstable,
            Column("turn", lambda each: f"[{each.node}]"),
            Column("layer", lambda each: each.layer),
            Column("from", lambda each: each.segment, shrinks=True),
        )
    if statistics.variants:
        out.line([Piece(f"the last {counted(statistics.turns, 'turn')} with other settings", "dim")])
        out.table(
            statistics.variants,
            Column("library", lambda each: each.library),
            Column("cuts", lambda each: "exact" if each.step == 0 else f"steps of {each.step:g}"),
            Column("cost", lambda each: f"{each.cost:,.0f}", number=True),
            Column("cached", lambda each: _percent(each.cached), number=True),
            Column(
                "saves",
                lambda each: "current" if each.current else f"{100 * each.saved:+.0f} %",
                number=True,
            ),
        )


def _draw_bars(out: Output, requests: "Requests") -> None:
    width = max(_NARROWEST, out.width - 18)
    sizes = [(name, requests.in_layer(name)) for name in LAYERS]
    out.line([Piece("layers     ", "dim"), *bar(sizes, LAYERS, width)])
    for name, share in (("expected", requests.predicted_share), ("reported", requests.reported_share)):
        if share is not None:
            filled = round(min(1.0, share) * width)
            blocks = [Piece("█" * filled, "green"), Piece("░" * (width - filled), "dim")]
            out.line([Piece(f"{name}   ", "dim"), *blocks, Piece(f" {_percent(share)}")])


def _layer_column(layer: str) -> "Column[tuple[str, Requests]]":
    return Column(layer[:2], lambda row: f"{row[1].in_layer(layer):,}", number=True)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"
