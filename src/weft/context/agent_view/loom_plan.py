"""A plan for a loom-aware agent, and the account of what pruning did to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from weft.context.assemble import Plan
from weft.context.layers.plan import LayerPlan
from weft.context.manifest import EntryKind, Gap, Outcome, Piece, Run
from weft.errors import InvalidInputError
from weft.tree.content import Content
from weft.tree.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class LoomPlan:
    """A plan, the contents that it needs beside the nodes', and the account of what was pruned."""

    plan: Plan
    """The engine's."""
    layers: LayerPlan | None = None
    """Of a dialogue: what stands in which layer."""
    own: Mapping[str, Content]
    pruned: tuple[Piece, ...] = ()
    collapsed: int = 0
    """How many levels one stands for now: later ones are that many further on, less one."""
    label: str = ""
    after: tuple[Message, ...] = ()
    """What stands behind a document: the turns of a run that is going on."""

    @property
    def wanted(self) -> list[str]:
        """Ids of the nodes whose contents rendering needs."""
        names = self.plan.wanted if self.layers is None else [*self.layers.wanted, *self.layers.turn]
        return [name for name in dict.fromkeys(names) if name not in self.own]

    @property
    def laid_out(self) -> LayerPlan:
        """Its layers, which a document does not have."""
        if self.layers is None:
            raise InvalidInputError("layers are made of dialogues", hint="a text in buffer mode has no turns")
        return self.layers

    @property
    def first(self) -> int:
        """The number that the account has for the level that stands for others."""
        return 0 if self.layers is None else self.layers.path.offset


def with_pruned(pieces: Sequence[Piece], found: LoomPlan) -> list[Piece]:
    """The account of what was sent, with what pruning did to the path, each at its own level."""
    if not found.collapsed:
        return [*pieces, *found.pruned]
    start = next((index for index, piece in enumerate(pieces) if piece.position is not None), len(pieces))
    shifted: list[Piece] = []
    for piece in pieces[start:]:
        shifted += _shifted(piece, found)
    return [*pieces[:start], *found.pruned, *shifted]


def _shifted(piece: Piece, found: LoomPlan) -> list[Piece]:
    if piece.position is None:
        return [piece]
    by = found.collapsed - 1 - found.first
    if piece.position > found.first:
        return [replace(piece, position=piece.position + by)]
    if isinstance(piece, Gap):
        # The summaries themselves were cut: what they stood for is told apart.
        count = piece.count - 1
        return [replace(piece, position=found.collapsed, count=count)] if count else []
    tokens = piece.tokens if piece.tokens is not None else piece.sizes
    stands = Run(
        kind=EntryKind.MESSAGE,
        outcome=Outcome.ADDED,
        reason="stands for what was pruned",
        ids=piece.ids[:1],
        sizes=piece.sizes[:1],
        tokens=tokens[:1],
    )
    rest = replace(
        piece,
        ids=piece.ids[1:],
        sizes=piece.sizes[1:],
        tokens=None if piece.tokens is None else piece.tokens[1:],
        position=found.collapsed,
    )
    return [stands, rest] if rest.ids else [stands]


def added_piece(name: str, tokens: int, reason: str) -> Run:
    return Run(kind=EntryKind.MESSAGE, outcome=Outcome.ADDED, reason=reason, ids=(name,), sizes=(tokens,))
