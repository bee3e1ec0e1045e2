"""Draw a context: its manifest as a bar and tables, its layers, the difference of two."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from weft.cli.formatting import quoted
from weft.cli.output import Column, Piece
from weft.cli.session import CliSession
from weft.errors import InvalidInputError

if TYPE_CHECKING:
    from weft.context.layers.envelope import Envelope
    from weft.context.manifest import Manifest
    from weft.context.manifest_view import Changes, WindowSegment
    from weft.context.result import AssembledContext
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle
    from weft.runtime.contexts.assembler import ContextWishes
    from weft.runtime.contexts.prepared_request import Prepared

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
    "sources": ("cyan", "█"),
    "nodes": ("blue", "█"),
    "input": ("yellow", "█"),
    "added": ("green", "█"),
    "free": ("dim", "░"),
}
_NARROWEST = 20


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
    from weft.context.manifest import NO_LIMIT  # noqa: PLC0415 - loads with the engine
    from weft.context.manifest_view import lines_of, segments_of  # noqa: PLC0415 - loads with the engine

    out = session.out
    budget = manifest.facts.budget
    limit = f" of {budget:,}" if budget < NO_LIMIT else ""
    out.line([Piece(place, "bold"), Piece(f"  {manifest.tokens:,}{limit} tokens")])
    segments = segments_of(manifest)
    if out.terminal:
        out.line(bar([(each.name, each.tokens) for each in segments], _SEGMENTS, out.width - 2))
    out.line([Piece(" · ".join(f"{name} {tokens:,}" for name, tokens in _sums(segments).items()), "dim")])
    out.table(
        list(lines_of(manifest)),
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
        Column("which", lambda line: line.names),
        Column("why", lambda line: line.reason, shrinks=True),
    )


def _sums(segments: "Sequence[WindowSegment]") -> dict[str, int]:
    """The tokens of each name, in the order in which names first occur."""
    sums: dict[str, int] = {}
    for each in segments:
        sums[each.name] = sums.get(each.name, 0) + each.tokens
    return sums


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
        Column("why", lambda each: each.reason, shrinks=True),
    )


def show_changes(
    session: CliSession, one: "AssembledContext | Envelope", two: "AssembledContext | Envelope"
) -> None:
    """The difference of two contexts."""
    from weft.context.manifest_view import told_changes  # noqa: PLC0415 - loads with the engine

    changes: Changes = one.manifest.diff(two.manifest)
    if session.out.as_json:
        session.out.json({"tokens": [one.tokens, two.tokens], "changes": list(changes)})
        return
    if changes:
        session.out.table(
            list(told_changes(changes)),
            Column("what", lambda line: line[0], shrinks=True),
            Column("how many", lambda line: line[1]),
            Column("becomes", lambda line: line[2]),
        )
    session.out.message(
        f"{one.tokens:,} tokens, then {two.tokens:,}" if changes else "no differences in what both include"
    )


class LayerView(Enum):
    PICTURE = "picture"
    RAW = "raw"
    ENTRIES = "entries"
    PAYLOAD = "payload"

    @classmethod
    def of(cls, *, raw: bool, entries: bool, payload: bool) -> "LayerView":
        chosen = [
            view
            for view, wanted in ((cls.RAW, raw), (cls.ENTRIES, entries), (cls.PAYLOAD, payload))
            if wanted
        ]
        if len(chosen) > 1:
            raise InvalidInputError("--raw, --entries and --payload exclude each other")
        return chosen[0] if chosen else cls.PICTURE


def show_layers(
    session: CliSession,
    tree: "TreeHandle",
    node: "NodeHandle | None",
    wishes: "ContextWishes",
    *,
    sent: bool,
    view: LayerView,
) -> None:
    """An envelope in the chosen view; warnings are messages."""
    from weft.context.layers.cache import record_payload  # noqa: PLC0415 - loads with the engine

    place = tree.cursor if node is None else node
    prepared = None if sent else place.prepare(**wishes)
    envelope = place.sent() if prepared is None else prepared.envelope
    if session.out.as_json:
        session.out.json(envelope.to_wire() if prepared is None else prepared.to_wire())
        return
    for warning in envelope.warnings:
        session.out.message(f"warning: {warning}")
    match view:
        case LayerView.RAW:
            session.out.json(envelope.llm_messages)
        case LayerView.PAYLOAD:
            payload = record_payload(envelope) if prepared is None else prepared.payload
            session.out.exact(payload.text)
        case LayerView.ENTRIES | LayerView.PICTURE:
            name = quoted(tree.title) if node is None else f"[{place.local_id}]"
            session.out.line([Piece(name, "bold"), Piece(_size(envelope, prepared))])
            _draw_layers(session, envelope, entries=view is LayerView.ENTRIES)


def _size(envelope: "Envelope", prepared: "Prepared | None") -> str:
    from weft.context.manifest import NO_LIMIT  # noqa: PLC0415 - loads with the engine

    limit = f" of {envelope.budget:,}" if envelope.budget < NO_LIMIT else ""
    size = f"  {envelope.tokens:,}{limit} tokens"
    if prepared is not None and prepared.provider:
        size += f", about {prepared.prediction.cached:,} cached"
    return size


def _draw_layers(session: CliSession, envelope: "Envelope", *, entries: bool) -> None:
    out = session.out
    if out.terminal:
        sizes = [(name, envelope.layer(name).tokens) for name in LAYERS]
        out.line(bar(sizes, LAYERS, out.width - 2))
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
        Column("what" if entries else "item", lambda each: each.id),
        Column("tokens", lambda each: f"{each.tokens:,}", number=True),
        Column("of", lambda each: f"{each.size:,}", number=True),
        Column("why", lambda each: each.reason, shrinks=True),
    )
