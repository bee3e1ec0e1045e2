"""What a filter did to a list of messages, told so that a manifest can take it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple, TypeVar

from weft.context.manifest_entries import EntryKind, ManifestEntry, Outcome, Run
from weft.context.recipes.js_compat import compact_json, fields_of, is_truthy, utf16_units
from weft.errors import InvalidInputError
from weft.tree.json import JsonObject, JsonValue

_Key = TypeVar("_Key")
_IDS = ("docId", "docID", "id")


def id_of_message(message: object) -> object:
    """The first of `docId`, `docID` and `id` that says something."""
    fields = fields_of(message)
    for name in _IDS:
        if name in fields and is_truthy(fields[name]):
            return fields[name]
    return None


class Mark(NamedTuple):
    """One thing that a filter did to one message."""

    outcome: Outcome
    reason: str
    position: int | None = None
    """The message's place in the list that the filter was given; None for what it added."""
    before: object = None
    after: object = None

    @property
    def id(self) -> str:
        own_id = id_of_message(self.after if self.outcome is Outcome.ADDED else self.before)
        if isinstance(own_id, str):
            return own_id
        return "added" if self.position is None else f"messages[{self.position}]"

    @property
    def size(self) -> int:
        """Tokens of the message in full, a quarter of its JSON's length."""
        return _tokens(self.after if self.outcome is Outcome.ADDED else self.before)


def _tokens(message: object) -> int:
    return (utf16_units(_said(message)) + 3) >> 2


class Trace:
    """Where a filter writes down what it does, message by message."""

    __slots__ = ("marks",)

    def __init__(self) -> None:
        self.marks: list[Mark] = []

    def cut(self, position: int, message: object, reason: str) -> None:
        """It is gone for want of room."""
        self.marks.append(Mark(Outcome.CUT, reason, position, message))

    def excluded(self, position: int, message: object, reason: str) -> None:
        """It is gone for a reason of its own."""
        self.marks.append(Mark(Outcome.EXCLUDED, reason, position, message))

    def collapsed(self, position: int, message: object, reason: str) -> None:
        self.marks.append(Mark(Outcome.COLLAPSED, reason, position, message))

    def shortened(self, position: int, before: object, after: object, reason: str) -> None:
        self.marks.append(Mark(Outcome.SHORTENED, reason, position, before, after))

    def masked(self, position: int, before: object, after: object, reason: str) -> None:
        """Tool results in it became one line each."""
        self.marks.append(Mark(Outcome.MASKED, reason, position, before, after))

    def kept(self, position: int, before: object, after: object, reason: str) -> None:
        """It is still there, but moved, or in another form."""
        self.marks.append(Mark(Outcome.KEPT, reason, position, before, after))

    def merged(self, position: int, before: object, after: object, reason: str) -> None:
        self.marks.append(Mark(Outcome.MERGED, reason, position, before, after))

    def added(self, message: object, reason: str) -> None:
        self.marks.append(Mark(Outcome.ADDED, reason, after=message))

    def complete(self, before: Sequence[object], after: Sequence[object], name: str) -> None:
        """Record what the filter did without saying so.

        A message is known again by being the same object, or else by saying the same.
        """
        old, new = list(map(id, before)), list(map(id, after))
        if not self.marks and old == new:
            return
        told = Counter(id(mark.before) for mark in self.marks if mark.position is not None)
        made = Counter(id(mark.after) for mark in self.marks if mark.after is not None)
        gone, fresh = _left(old, Counter(new), told), _left(new, Counter(old), made)
        if gone and fresh:
            lost, gained = [_said(before[place]) for place in gone], [_said(after[place]) for place in fresh]
            copied = Counter(lost) & Counter(gained)
            gone = [gone[number] for number in _left(lost, Counter(copied))]
            fresh = [fresh[number] for number in _left(gained, copied)]
        for place in gone:
            self.excluded(place, before[place], f"left out by {name}")
        for place in fresh:
            self.added(after[place], f"put in by {name}")


def _left(keys: Sequence[_Key], *counts: Counter[_Key]) -> list[int]:
    """The places of the keys that no count has any more; each one that is found is used up."""
    places: list[int] = []
    for place, key in enumerate(keys):
        for count in counts:
            if count.get(key):
                count[key] -= 1
                break
        else:
            places.append(place)
    return places


def _said(message: object) -> str:
    try:
        return compact_json(message)
    except InvalidInputError:
        # What JSON cannot hold is compared by identity.
        return f"<{type(message).__name__} {id(message)}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterStep:
    """One filter of a pipeline: how many messages went in and came out, and what became of them."""

    index: int
    name: str
    given: int
    gave: int
    marks: Sequence[Mark] = ()
    warning: str = ""
    """Why the filter was skipped, where it failed and that was allowed."""
    options: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def outcome(self) -> Outcome:
        return Outcome.EXCLUDED if self.warning else Outcome.KEPT

    @property
    def reason(self) -> str:
        return f"skipped: {self.warning}" if self.warning else f"{self.given} in, {self.gave} out"

    def pieces(self) -> tuple[Run, ...]:
        """The step for a manifest. It costs nothing there: messages are counted where they stand."""
        own = Run(
            kind=EntryKind.FILTER,
            outcome=self.outcome,
            reason=f"filters[{self.index}] {self.name}: {self.reason}",
            ids=[self.name],
            sizes=[0],
        )
        return (own, *(_run(self.name, list(run)) for _, run in groupby(self.marks, key=_alike)))

    def entries(self) -> Iterator[ManifestEntry]:
        for piece in self.pieces():
            yield from piece.entries()

    def to_wire(self) -> JsonObject:
        wire: dict[str, JsonValue] = {
            "index": self.index,
            "name": self.name,
            "given": self.given,
            "gave": self.gave,
            "changes": [
                {
                    "outcome": mark.outcome.value,
                    "id": mark.id,
                    "position": mark.position,
                    "reason": mark.reason,
                }
                for mark in self.marks
            ],
        }
        if self.warning:
            wire["warning"] = self.warning
        return wire


def _alike(mark: Mark) -> tuple[Outcome, str]:
    return mark.outcome, mark.reason


def _run(name: str, marks: Sequence[Mark]) -> Run:
    places = [mark.position for mark in marks]
    first = places[0]
    in_a_row = first is not None and places == list(range(first, first + len(marks)))
    return Run(
        kind=EntryKind.FILTER,
        outcome=marks[0].outcome,
        reason=f"{name}: {marks[0].reason}",
        ids=[mark.id for mark in marks],
        sizes=[mark.size for mark in marks],
        tokens=[0] * len(marks),
        position=first if in_a_row else None,
    )
