"""The entries of a manifest: candidates, what became of them, and why, in runs of like candidates."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter
from typing import TypeAlias

from weft.tree.json import JsonObject, JsonValue


class Outcome(StrEnum):
    """What became of a candidate: nine words, the same on every face."""

    KEPT = "kept"
    CUT = "cut"
    """By the budget."""
    EXCLUDED = "excluded"
    """For a reason of its own."""
    COLLAPSED = "collapsed"
    SHORTENED = "shortened"
    MASKED = "masked"
    """An old tool result, as one line."""
    MERGED = "merged"
    REFERENCED = "referenced"
    ADDED = "added"


class EntryKind(StrEnum):
    NODE = "node"
    SOURCE = "source"
    ITEM = "item"
    LAYER = "layer"
    MESSAGE = "message"
    FILTER = "filter"
    SYSTEM = "system"
    BUFFER = "buffer"


ABSENT = (Outcome.CUT, Outcome.EXCLUDED, Outcome.COLLAPSED)
"""What is not in the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """One candidate, or one stretch of them that went the same way unread."""

    kind: EntryKind
    id: str
    tokens: int
    """What it costs in the request."""
    size: int
    """What it would cost in full."""
    outcome: Outcome
    reason: str
    position: int | None = None
    """Its level on the path, or its place in the list."""
    count: int = 1
    last: str | None = None
    """The last id of a stretch."""

    def to_wire(self) -> JsonObject:
        wire: dict[str, JsonValue] = {
            "kind": self.kind.value,
            "id": self.id,
            "tokens": self.tokens,
            "size": self.size,
            "outcome": self.outcome.value,
            "reason": self.reason,
        }
        if self.position is not None:
            wire["position"] = self.position
        if self.last is not None:
            wire |= {"count": self.count, "last": self.last}
        return wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Candidates in a row with one outcome and one reason."""

    kind: EntryKind
    outcome: Outcome
    reason: str
    ids: Sequence[str]
    sizes: Sequence[int]
    tokens: Sequence[int] | None = None
    """In the request; None: all of the size if it is there, else nothing."""
    position: int | None = None

    @classmethod
    def one(
        cls,
        kind: EntryKind,
        name: str,
        outcome: Outcome,
        reason: str,
        *,
        size: int = 0,
        tokens: int | None = None,
        position: int | None = None,
    ) -> "Run":
        """A single candidate."""
        cost = None if tokens is None else (tokens,)
        return cls(
            kind=kind,
            outcome=outcome,
            reason=reason,
            ids=(name,),
            sizes=(size,),
            tokens=cost,
            position=position,
        )

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def cost(self) -> int:
        if self.tokens is not None:
            return sum(self.tokens)
        return 0 if self.outcome in ABSENT else self.size

    def entries(self) -> Iterator[ManifestEntry]:
        absent = self.outcome in ABSENT
        for index, (each, size) in enumerate(zip(self.ids, self.sizes, strict=True)):
            cost = self.tokens[index] if self.tokens is not None else 0 if absent else size
            yield ManifestEntry(
                kind=self.kind,
                id=each,
                tokens=cost,
                size=size,
                outcome=self.outcome,
                reason=self.reason,
                position=None if self.position is None else self.position + index,
            )

    def id_at(self, position: int) -> str | None:
        return None if self.position is None else self.ids[position - self.position]

    def stored(self) -> JsonValue:
        return [
            self.kind.value,
            self.outcome.value,
            self.reason,
            self.position,
            list(self.ids),
            list(self.sizes),
            None if self.tokens is None else list(self.tokens),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A removed stretch: one entry, however long it is."""

    kind: EntryKind
    outcome: Outcome
    reason: str
    position: int
    count: int
    first: str
    last: str
    measure: int | Callable[[], int]
    """Its tokens, or how to find them if somebody asks."""
    cost: int = 0

    @property
    def size(self) -> int:
        return self.measure if isinstance(self.measure, int) else self.measure()

    def entries(self) -> Iterator[ManifestEntry]:
        yield ManifestEntry(
            kind=self.kind,
            id=self.first,
            tokens=0,
            size=self.size,
            outcome=self.outcome,
            reason=self.reason,
            position=self.position,
            count=self.count,
            last=self.last,
        )

    def id_at(self, position: int) -> str | None:
        if position == self.position:
            return self.first
        return self.last if position == self.position + self.count - 1 else None

    def stored(self) -> JsonValue:
        return [
            self.kind.value,
            self.outcome.value,
            self.reason,
            self.position,
            {"count": self.count, "first": self.first, "last": self.last, "size": self.size},
        ]


Piece: TypeAlias = Run | Gap


def removed_range(
    kind: EntryKind, ids: tuple[str, str], start: int, stop: int, measure: int | Callable[[], int]
) -> Gap:
    """A range of levels that the cut removed, by its first and its last id."""
    return Gap(
        kind=kind,
        outcome=Outcome.CUT,
        reason="over the budget",
        position=start,
        count=stop - start,
        first=ids[0],
        last=ids[1],
        measure=measure,
    )


def addition(
    name: str, size: int, reason: str, *, tokens: int | None = None, position: int | None = None
) -> Run:
    """What assembly adds: a marker, an opening, a placeholder."""
    return Run.one(
        EntryKind.MESSAGE, name, Outcome.ADDED, reason, size=size, tokens=tokens, position=position
    )


def in_order(pieces: Iterable[tuple[int, Piece]]) -> list[Piece]:
    """Pieces by the level at which they begin."""
    return [piece for _, piece in sorted(pieces, key=itemgetter(0))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestChange:
    """What one manifest says otherwise than another, of one candidate or a stretch of them."""

    kind: EntryKind
    id: str
    before: Outcome | None
    """None where the candidate is not in that manifest at all."""
    after: Outcome | None
    count: int = 1
    last: str | None = None
    position: int | None = None
