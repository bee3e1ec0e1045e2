"""The one reader of commands: it fills the slots of a form from a line, and must consume every token of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from weft.commands.actions import Action, LineSpan
from weft.commands.catalog import verbs
from weft.commands.grammar import Form, Slot, SlotKind
from weft.commands.lexer import Option, as_reference
from weft.commands.vocabulary import (
    FILLER,
    GUARDED,
    NUMBERS,
    ORDINALS,
    Sort,
    VocabularyToken,
    range_of,
    words,
)

_MOST_STEPS = 4_000
_MANY = 10**18
_DIGITS = 18


@dataclass(slots=True)
class Misfit:
    """Why a line was not read as a form: the best reason of all attempts."""

    rank: int = -1
    why: str = ""

    def note(self, rank: int, why: str) -> None:
        if rank > self.rank:
            self.rank, self.why = rank, why


_END = 10_000
_BETWEEN = words("to through until - – —")


class _Unfit(Exception):  # noqa: N818 - no failure: one reading of several does not fit
    pass


def read_form(
    form: Form, items: Sequence[VocabularyToken], noise: frozenset[str], misfit: Misfit
) -> Action | None:
    """The action that the items give by this form, or None: every item must be consumed."""
    values = _Reader(form.flat, items, noise, misfit).read(0, {})
    if values is None:
        return None
    return form.build({path: value for path, value in values.items() if value is not None})


class _Reader:
    def __init__(
        self, slots: Sequence[Slot], items: Sequence[VocabularyToken], noise: frozenset[str], misfit: Misfit
    ) -> None:
        self._slots, self._items, self._noise, self._misfit = slots, items, noise, misfit
        self._steps = 0

    def read(self, place: int, filled: dict[int, object]) -> dict[str, object] | None:
        """Fill the slots from this place on; the first way that consumes all."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return None
        if place == len(self._items):
            return self._result(filled)
        item = self._items[place]
        blocked: set[SlotKind] = set()
        for index, slot in enumerate(self._slots):
            if index in filled:
                continue
            taken = self._take(slot, place)
            if taken is None:
                continue
            value, end, marked = taken
            if not marked and slot.kind in blocked and not slot.swaps:
                continue
            if not marked:
                blocked.add(slot.kind)
            values = self.read(end, {**filled, index: value})
            if values is not None:
                return values
        if item.sort is Sort.WORD and item.text in self._noise:
            return self.read(place + 1, filled)
        self._misfit.note(place, f"{_called(item)} was not expected")
        return None

    def _result(self, filled: Mapping[int, object]) -> dict[str, object] | None:
        missing = [
            slot for index, slot in enumerate(self._slots) if index not in filled and not slot.optional
        ]
        if missing:
            self._misfit.note(_END, missing[0].question or "which node?")
            return None
        values: dict[str, object] = {}
        for index, value in filled.items():
            paths = self._slots[index].path.split()
            if len(paths) == 1:
                values[paths[0]] = value
            else:
                values.update(zip(paths, cast("Sequence[object]", value), strict=True))
        return values

    def _take(self, slot: Slot, place: int) -> tuple[object, int, bool] | None:
        """The value of a slot, if the items from here on give one: itself, where it ends, if it is marked."""
        start = self._words_end(place, slot.after | slot.names | (slot.requires - slot.units), slot)
        if start == len(self._items):
            if start > place and slot.question:
                self._misfit.note(_END, slot.question)
            return None
        try:
            value = _Value(slot, self._items, start).read()
        except _Unfit as unfit:
            self._misfit.note(_END + 1, str(unfit))
            return None
        if value is None:
            return None
        end = self._words_end(value[1], slot.units | slot.names)
        around = (*self._items[place:start], *self._items[value[1] : end])
        option = self._items[start].option
        words_around = {item.text for item in around} | ({option.name} if option is not None else set[str]())
        is_plain = option is not None or not slot.names or self._items[start].text in slot.plain
        if not (is_plain or words_around & slot.names):
            return None
        if slot.requires and not words_around & slot.requires:
            return None
        return value[0], end, start > place or option is not None

    def _words_end(self, place: int, allowed: frozenset[str], slot: Slot | None = None) -> int:
        """Where the run of such words ends; a word that is a value of the slot is none of them."""
        while place < len(self._items):
            item = self._items[place]
            is_value = slot is not None and item.text in slot.values
            if item.sort is not Sort.WORD or is_value or item.text not in allowed:
                break
            place += 1
        return place


def _called(item: VocabularyToken) -> str:
    if item.option is not None:
        return f"{item.text}:"
    return repr((item.raw or item.text)[:40])


_NO_NAMES = (
    FILLER
    | GUARDED
    | frozenset(NUMBERS)
    | words(
        "this that these those its it their them any some such own and only with of to on from off as by for in "
        "into at about called named again here there tomorrow soon nothing anything something nobody half almost "
        "more less us him her you i"
    )
)
"""Words that say which one, or when, and are no names."""


class _Value:
    """The value of one slot at one place."""

    def __init__(self, slot: Slot, items: Sequence[VocabularyToken], place: int) -> None:
        self.slot, self.items, self.place, self.item = slot, items, place, items[place]

    def read(self) -> tuple[object, int] | None:
        option = self.item.option
        if option is not None:
            if option.name != self.slot.option and option.name not in self.slot.also:
                return None
            value = _OPTION[self.slot.kind](self.slot, option)
            return None if value is None else (value, self.place + 1)
        return getattr(self, f"_{self.slot.kind.name.lower()}")()

    def _one(self, value: object | None) -> tuple[object, int] | None:
        return None if value is None else (value, self.place + 1)

    def _node(self) -> tuple[object, int] | None:
        if self.item.text in self.slot.values and self.item.sort is Sort.WORD:
            return self.slot.values[self.item.text], self.place + 1
        return self._one(self.item.text if self.item.sort is Sort.NODE else None)

    def _nodes(self) -> tuple[object, int] | None:
        nodes: list[str] = []
        end = self.place
        while end < len(self.items):
            item = self.items[end]
            follows = self.items[end + 1].sort if end + 1 < len(self.items) else None
            if item.sort in {Sort.NODE, Sort.NODES}:
                nodes += item.text.split()
            elif not (nodes and item.text in {"and", "with"} and follows in {Sort.NODE, Sort.NODES}):
                break
            end += 1
        return (tuple(nodes), end) if len(nodes) >= self.slot.least else None

    def _range(self) -> tuple[object, int] | None:
        if self.item.sort is Sort.RANGE:
            return self._one(range_of(self.item.text))
        ends = self.items[self.place : self.place + 3]
        if [each.sort for each in ends] == [Sort.NODE, Sort.WORD, Sort.NODE] and ends[1].text in _BETWEEN:
            return (ends[0].text, ends[2].text), self.place + 3
        return None

    def _text(self) -> tuple[object, int] | None:
        return self._one(self.item.text if self.item.sort is Sort.TEXT else None)

    def _texts(self) -> tuple[object, int] | None:
        texts: list[str] = []
        end = self.place
        while end < len(self.items) and self.items[end].sort is Sort.TEXT:
            texts.append(self.items[end].text)
            joined = end + 2 < len(self.items) and self.items[end + 1].text == "or"
            end += 2 if joined and self.items[end + 2].sort is Sort.TEXT else 1
        return (tuple(texts), end) if texts else None

    def _name(self) -> tuple[object, int] | None:
        item = self.item
        if item.sort is Sort.TEXT:
            return self._one(item.text)
        if (
            item.sort is Sort.OPTION
            or item.raw.startswith(("-", "["))
            or item.text in _NO_NAMES | self.slot.no_names
        ):
            return None
        if item.sort is not Sort.WORD and (any(map(str.isdecimal, item.raw)) or item.raw == "."):
            return None
        if (item.text,) in verbs() or not any(map(str.isalnum, item.raw)):
            return None
        if self.slot.capital and not item.raw[:1].isupper():
            return None
        return self._one(item.raw.lstrip("#"))

    def _number(self) -> tuple[object, int] | None:
        value: int | None = None
        if self.item.sort is Sort.NUMBER:
            value = _whole(self.item.text, self.slot)
        elif self.item.sort is Sort.WORD:
            value = NUMBERS.get(self.item.text) or (
                ORDINALS.get(self.item.text) if self.slot.option == "result" else None
            )
        following = self.items[self.place + 1] if self.place + 1 < len(self.items) else None
        if value is not None and following is not None and following.text == "hundred":
            return 100 * value, self.place + 2
        if value is None and self.item.sort is Sort.NODE and self.item.text.isdecimal():
            value = _whole(self.item.text, self.slot)
        return self._one(value)

    def _decimal(self) -> tuple[object, int] | None:
        return self._one(_decimal(self.item.raw) if self.item.raw[:1].isdecimal() else None)

    def _lines(self) -> tuple[object, int] | None:
        three = self.items[self.place : self.place + 3]
        first, last = _count(self.item), _count(three[2]) if len(three) == 3 else None
        if first is not None and last is not None and three[1].text in _BETWEEN - {"—"}:
            return _lines(f"{first}-{last}"), self.place + 3
        if first is not None:
            return self._one(_lines(str(first)))
        parts = self.item.raw.replace("–", "-").replace("—", "-").replace("..", "-").lstrip("#")
        return self._one(_lines(parts) if parts[:1].isdecimal() and "-" in parts else None)

    def _choice(self) -> tuple[object, int] | None:
        if self.item.sort is not Sort.WORD or self.item.text not in self.slot.values:
            return None
        return self.slot.values[self.item.text], self.place + 1

    def _command(self) -> tuple[object, int] | None:
        names = verbs().get((self.item.text,), ()) if self.item.sort is Sort.WORD else ()
        return self._one(names[0] if names else None)


def _count(item: VocabularyToken) -> int | None:
    if item.sort is Sort.NUMBER or (item.sort is Sort.NODE and item.text.isdecimal()):
        return int(item.text[:_DIGITS])
    return NUMBERS.get(item.text) if item.sort is Sort.WORD else None


def _single(slot: Slot, option: Option) -> str | None:
    values = [value for value in option.values if value]
    if len(values) != 1:
        raise _Unfit(f"{option.name}: takes one value")
    if slot.number is not None and slot.number != values[0].isdecimal():
        return None
    return values[0]


def _reference(value: str) -> str:
    reference = as_reference(value)
    if reference is None:
        raise _Unfit(f"{value[:40]!r} is not a node id")
    return reference


def _option_node(slot: Slot, option: Option) -> object:
    value = _single(slot, option)
    other = "" if value is None else value.lower().rstrip(":")
    if value is None or value.lower().startswith("result:") or other in {"doc", "document"}:
        return None
    return _reference(value)


def _option_nodes(_: Slot, option: Option) -> object:
    nodes = tuple(_reference(value) for value in option.values if value)
    if not nodes:
        raise _Unfit(f"{option.name}: takes ids")
    return nodes


def _option_range(slot: Slot, option: Option) -> object:
    value = _single(slot, option)
    ends = None if value is None else range_of(value)
    if ends is None and option.name == slot.option:
        raise _Unfit("a range is two ids with a dash between, such as r001-a7x2")
    return ends


def _option_number(slot: Slot, option: Option) -> object:
    value = _single(slot, option)
    if value is None:
        return None
    if option.name == "pin":
        inner = value.lower().removeprefix("result:")
        return _whole(inner, slot) if inner != value.lower() and inner.isdecimal() else None
    if not value.isdecimal():
        raise _Unfit(f"{option.name}: takes a whole number")
    return _whole(value, slot)


def _whole(value: str, slot: Slot) -> int:
    number = int(value) if len(value) <= _DIGITS else _MANY
    if number < slot.least:
        raise _Unfit(f"{slot.option}: is at least {slot.least}")
    return number


def _decimal(value: str) -> float:
    try:
        number = float(value) if len(value) < 12 else -1.0
    except ValueError:
        number = -1.0
    if not 0 <= number <= 10:
        raise _Unfit("temp: is a number between 0 and 10")
    return number


def _lines(value: str) -> LineSpan:
    first, _, last = value.partition("-")
    last = last or first
    if not (first.isdecimal() and last.isdecimal() and len(first) < 10 and len(last) < 10):
        raise _Unfit("lines are numbers such as 12-20")
    if not 1 <= int(first) <= int(last):
        raise _Unfit("lines count from 1, the first before the last")
    return LineSpan(int(first), int(last))


def _option_lines(slot: Slot, option: Option) -> object:
    value = "-".join(option.values).lower().removeprefix("lines").lstrip(": ")
    try:
        return _lines(value.replace("–", "-").replace("..", "-"))
    except _Unfit:
        if option.name == slot.option == "lines":
            raise
        return None


def _option_choice(slot: Slot, option: Option) -> object:
    value = (_single(slot, option) or "").lower()
    if value not in slot.values:
        raise _Unfit(f"{option.name}: is one of {', '.join(slot.first_words())}")
    return slot.values[value]


_OPTION: Mapping[SlotKind, Callable[[Slot, Option], object]] = {
    SlotKind.NODE: _option_node,
    SlotKind.NODES: _option_nodes,
    SlotKind.RANGE: _option_range,
    SlotKind.TEXT: _single,
    SlotKind.TEXTS: lambda _, option: tuple(filter(None, option.values)) or None,
    SlotKind.NAME: _single,
    SlotKind.NUMBER: _option_number,
    SlotKind.DECIMAL: lambda slot, option: _decimal(_single(slot, option) or ""),
    SlotKind.LINES: _option_lines,
    SlotKind.CHOICE: _option_choice,
    SlotKind.COMMAND: lambda _, _option: None,
}
