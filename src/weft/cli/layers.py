"""`weft context --layers`: the request of a turn layer by layer, as it would be sent or as it was."""

from enum import Enum
from typing import TYPE_CHECKING

from weft.cli.call import Call
from weft.cli.output import Column, Piece
from weft.cli.wording import quoted
from weft.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.context.layers.envelope import Envelope
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle
    from weft.runtime.contexts.assembler import ContextWishes
    from weft.runtime.contexts.prepared_request import Prepared

__all__ = ["COLOURS", "View", "layer_bar", "show_layers"]

COLOURS = {
    "L1_SYSTEM": "magenta",
    "L2_LIBRARY": "cyan",
    "L4_HISTORY": "blue",
    "L3_TURN": "green",
    "L5_USER": "yellow",
}
"""In the order in which layers are sent."""
_BLOCKS = dict(zip(COLOURS, "█▓▒░▪", strict=True))
"""Told apart without colour, too."""
_SHORTEST = 20


class View(Enum):
    PICTURE = "picture"
    RAW = "raw"
    ENTRIES = "entries"
    PAYLOAD = "payload"

    @classmethod
    def of(cls, *, raw: bool, entries: bool, payload: bool) -> "View":
        chosen = [
            view
            for view, wanted in ((cls.RAW, raw), (cls.ENTRIES, entries), (cls.PAYLOAD, payload))
            if wanted
        ]
        if len(chosen) > 1:
            raise InvalidInputError("one view at a time", hint="--raw, --entries or --payload")
        return chosen[0] if chosen else cls.PICTURE


def show_layers(
    call: Call,
    tree: "TreeHandle",
    node: "NodeHandle | None",
    wishes: "ContextWishes",
    *,
    sent: bool,
    view: View,
) -> None:
    """An envelope in the view that was asked for; warnings are talk."""
    place = tree.cursor if node is None else node
    prepared = None if sent else place.prepare(**wishes)
    envelope = place.sent() if prepared is None else prepared.envelope
    if call.out.as_json:
        call.out.json(envelope.to_wire() if prepared is None else prepared.to_wire())
        return
    for warning in envelope.warnings:
        call.out.talk(f"warning: {warning}")
    match view:
        case View.RAW:
            call.out.json(envelope.llm_messages)
        case View.PAYLOAD:
            call.out.exact(_payload(envelope, prepared))
        case View.ENTRIES | View.PICTURE:
            call.out.line(
                [
                    Piece(quoted(tree.title) if node is None else f"[{place.local_id}]", "bold"),
                    Piece(_told(envelope, prepared)),
                ]
            )
            _draw(call, envelope, entries=view is View.ENTRIES)


def _payload(envelope: "Envelope", prepared: "Prepared | None") -> str:
    from weft.context.layers.recorder import record_payload  # noqa: PLC0415 - the engine

    return record_payload(envelope).text if prepared is None else prepared.payload.text


def _told(envelope: "Envelope", prepared: "Prepared | None") -> str:
    from weft.context.manifest import NO_LIMIT  # noqa: PLC0415 - the engine is loaded by who asks it

    limit = f" of {envelope.budget:,}" if envelope.budget < NO_LIMIT else ""
    told = f"  {envelope.tokens:,}{limit} tokens"
    if prepared is not None and prepared.provider:
        told += f", about {prepared.prediction.cached:,} of them cached"
    return told


def _draw(call: Call, envelope: "Envelope", *, entries: bool) -> None:
    sizes = [(name, envelope.layer(name).tokens) for name in COLOURS]
    if call.out.terminal:
        call.out.line(layer_bar(sizes, max(_SHORTEST, call.out.width - 2)))
    call.out.table(
        (
            Column("layer"),
            Column("holds", gives=True),
            Column("tokens", number=True),
            Column("pieces", number=True),
            Column("changes"),
            Column("hash"),
        ),
        [_row(envelope, name) for name in COLOURS],
        [_row(envelope, name) for name in COLOURS],
    )
    lines = [each for each in envelope.manifest if each.kind.value == "item"]
    if entries:
        lines = list(envelope.manifest)
    if not lines:
        return
    rows = [
        (each.outcome.value, each.id, f"{each.tokens:,}", f"{each.size:,}", each.reason) for each in lines
    ]
    call.out.table(
        (
            Column("outcome"),
            Column("item" if not entries else "what"),
            Column("tokens", number=True),
            Column("of", number=True),
            Column("why", gives=True),
        ),
        rows,
        rows,
    )


def _row(envelope: "Envelope", name: str) -> tuple[str, ...]:
    layer = envelope.layer(name)
    return (
        name,
        layer.label,
        f"{layer.tokens:,}",
        f"{len(layer.segments):,}",
        "stable" if layer.stable else "every turn",
        layer.hash[:12],
    )


def layer_bar(sizes: "Sequence[tuple[str, int]]", width: int) -> list[Piece]:
    """Each layer with as many blocks as it has of the request; none that is there is invisible."""
    whole = max(1, sum(tokens for _, tokens in sizes))
    pieces: list[Piece] = []
    done = shown = 0
    for name, tokens in sizes:
        if not tokens:
            continue
        done += tokens
        blocks = max(1, round(done * width / whole) - shown)
        shown += blocks
        pieces.append(Piece(_BLOCKS[name] * blocks, COLOURS[name]))
    return pieces
