"""The account of a context: every candidate, what became of it, and why.

Kept in runs of like candidates, so that making one costs next to nothing; entries exist
while somebody reads them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from weft.errors import InvalidInputError
from weft.tree.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from weft.context.manifest_view import Changes

NO_LIMIT = 2**53 - 1
"""The budget where neither a limit nor a window is known: everything is kept."""
RENDERER = 1
"""Raised whenever equal inputs would give other bytes than before."""


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
        found: dict[str, JsonValue] = {
            "kind": self.kind.value,
            "id": self.id,
            "tokens": self.tokens,
            "size": self.size,
            "outcome": self.outcome.value,
            "reason": self.reason,
        }
        if self.position is not None:
            found["position"] = self.position
        if self.last is not None:
            found |= {"count": self.count, "last": self.last}
        return found


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a context was made with, so that it can be made again."""

    budget: int
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    hash: str = ""
    """SHA-256 of what was rendered, where it was."""
    renderer: int = RENDERER


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


class Manifest:
    """Iterate it for entries; ask it for sums; compare it with another."""

    __slots__ = ("_facts", "_make", "_pieces")

    def __init__(
        self, facts: Facts | Callable[[], Facts], pieces: Sequence[Piece] | Callable[[], Sequence[Piece]]
    ) -> None:
        self._facts = facts
        self._make: Callable[[], Sequence[Piece]] | None = pieces if callable(pieces) else None
        self._pieces: Sequence[Piece] | None = None if callable(pieces) else pieces

    @property
    def facts(self) -> Facts:
        if not isinstance(self._facts, Facts):
            self._facts = self._facts()
        return self._facts

    @property
    def pieces(self) -> Sequence[Piece]:
        if self._pieces is None:
            self._pieces = self._make() if self._make is not None else ()
            self._make = None
        return self._pieces

    def __iter__(self) -> Iterator[ManifestEntry]:
        for piece in self.pieces:
            yield from piece.entries()

    def __len__(self) -> int:
        """How many candidates are accounted for; additions are not candidates."""
        return sum(piece.count for piece in self.pieces if piece.outcome is not Outcome.ADDED)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifest) and self.stored() == other.stored()

    __hash__ = None  # type: ignore[assignment] - a manifest is compared by what it says

    def __repr__(self) -> str:
        said = ", ".join(f"{count:,} {outcome}" for outcome, (count, _) in self.totals().items())
        limit = f" of {self.facts.budget:,}" if self.facts.budget < NO_LIMIT else ""
        return f"<Manifest {self.tokens:,}{limit} tokens: {said or 'nothing'}>"

    @property
    def tokens(self) -> int:
        return sum(piece.cost for piece in self.pieces)

    @property
    def removed_tokens(self) -> int:
        """By the ruler: what was cut was never read."""
        return sum(
            piece.size for piece in self.pieces if isinstance(piece, Gap) and piece.outcome is Outcome.CUT
        )

    def totals(self) -> dict[Outcome, tuple[int, int]]:
        """For each outcome how many, and their size in full."""
        counts: Counter[Outcome] = Counter()
        sizes: Counter[Outcome] = Counter()
        for piece in self.pieces:
            counts[piece.outcome] += piece.count
            sizes[piece.outcome] += piece.size
        return {outcome: (counts[outcome], sizes[outcome]) for outcome in Outcome if counts[outcome]}

    def diff(self, other: "Manifest") -> "Changes":
        """What would be otherwise with the other: "what would rollingWindow drop?"."""
        from weft.context.manifest_view import changes_between  # noqa: PLC0415 - it stands on this module

        return changes_between(self.pieces, other.pieces)

    def _repr_html_(self) -> str:
        from weft.context.manifest_view import manifest_html  # noqa: PLC0415 - only notebooks need it

        return manifest_html(self)

    def to_wire(self) -> JsonObject:
        return {
            "renderer": self.facts.renderer,
            "budget": self.facts.budget,
            "tokens": self.tokens,
            "settings": self.facts.settings,
            "hash": self.facts.hash,
            "entries": [entry.to_wire() for entry in self],
        }

    def stored(self) -> JsonObject:
        """The compact form that is kept with an attempt: runs instead of entries."""
        return {
            "renderer": self.facts.renderer,
            "budget": self.facts.budget,
            "settings": self.facts.settings,
            "hash": self.facts.hash,
            "runs": [piece.stored() for piece in self.pieces],
        }

    @classmethod
    def from_stored(cls, value: JsonValue) -> "Manifest":
        """Read the compact form; whatever is wrong with it is an `InvalidInputError`."""
        if not isinstance(value, Mapping):
            raise InvalidInputError("a stored manifest must be an object")
        settings, runs = value.get("settings", {}), value.get("runs")
        if not isinstance(settings, Mapping) or not isinstance(runs, Sequence) or isinstance(runs, str):
            raise InvalidInputError("a stored manifest has settings and a list of runs")
        facts = Facts(
            budget=_whole(value.get("budget"), "budget"),
            settings=settings,
            hash=_text(value.get("hash"), "hash"),
            renderer=_whole(value.get("renderer"), "renderer"),
        )
        return cls(facts, [_piece(run, f"runs[{index}]") for index, run in enumerate(runs)])


Member = TypeVar("Member", EntryKind, Outcome)
_EARLIER = (Outcome.EXCLUDED, Outcome.CUT)
_BY_BUDGET = frozenset({"over the budget", "its message is over the budget", "its message was cut"})
"""Earlier manifests had one word for both."""


def _piece(value: JsonValue, path: str) -> Piece:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) not in {5, 7}:
        raise InvalidInputError(f"{path} is not a run")
    kind = _member(EntryKind, value[0], path)
    reason = _text(value[2], path)
    outcome = _EARLIER[reason in _BY_BUDGET] if value[1] == "dropped" else _member(Outcome, value[1], path)
    position = None if value[3] is None else _whole(value[3], path)
    if len(value) == 5:
        return _gap(value[4], path, kind=kind, outcome=outcome, reason=reason, position=position)
    ids = [_text(each, f"{path} ids") for each in _list(value[4], path)]
    sizes = [_whole(each, f"{path} sizes") for each in _list(value[5], path)]
    tokens = None if value[6] is None else [_whole(each, f"{path} tokens") for each in _list(value[6], path)]
    if len(ids) != len(sizes) or (tokens is not None and len(tokens) != len(ids)):
        raise InvalidInputError(f"{path} has columns of different lengths")
    return Run(
        kind=kind, outcome=outcome, reason=reason, ids=ids, sizes=sizes, tokens=tokens, position=position
    )


def _gap(
    value: JsonValue, path: str, *, kind: EntryKind, outcome: Outcome, reason: str, position: int | None
) -> Gap:
    if not isinstance(value, Mapping) or position is None:
        raise InvalidInputError(f"{path} is not a stretch")
    return Gap(
        kind=kind,
        outcome=outcome,
        reason=reason,
        position=position,
        count=_whole(value.get("count"), f"{path} count"),
        first=_text(value.get("first"), f"{path} first"),
        last=_text(value.get("last"), f"{path} last"),
        measure=_whole(value.get("size"), f"{path} size"),
    )


def _member(kind: type[Member], value: JsonValue, path: str) -> Member:
    try:
        return kind(str(value))
    except ValueError:
        raise InvalidInputError(f"{path} says {value!r}, which is no {kind.__name__.lower()}") from None


def _list(value: JsonValue, path: str) -> Sequence[JsonValue]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidInputError(f"{path} must hold lists")
    return cast("Sequence[JsonValue]", value)


def _text(value: JsonValue, path: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{path} must be a string")
    return value


def _whole(value: JsonValue, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"{path} must be a whole number of at least 0")
    return value
