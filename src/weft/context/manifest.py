"""The account of a context: every candidate, what became of it, and why.

It holds runs of like candidates, so that making one costs next to nothing; entries are made while they
are read.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from weft.context.manifest_entries import (
    EntryKind,
    Gap,
    ManifestEntry,
    Outcome,
    Piece,
    Run,
)
from weft.context.manifest_view import Changes, changes_between, manifest_html
from weft.context.tokens import NO_LIMIT
from weft.errors import InvalidInputError
from weft.tree.json import JsonObject, JsonValue

RENDERER = 1
"""Raised whenever equal inputs would give other bytes than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a context was made with, so that it can be made again."""

    budget: int
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    hash: str = ""
    """SHA-256 of what was rendered, where it was."""
    renderer: int = RENDERER


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

    def diff(self, other: "Manifest") -> Changes:
        """What would be otherwise with the other: "what would rollingWindow drop?"."""
        return changes_between(self.pieces, other.pieces)

    def _repr_html_(self) -> str:
        return manifest_html(self.pieces, self.facts.budget)

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
