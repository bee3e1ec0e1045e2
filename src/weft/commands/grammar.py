"""What a row of the catalog is made of, and the one reader that must consume every token.

A form is a list of slots. A slot takes one value: a string, a node, an option, a word out of a set. Words
may stand before and after a value only if its slot names them, so nothing in a line is passed over:
`merge a7x2 into b3k9` has an `into` that no slot of `merge` takes, and is not read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from enum import Enum
from itertools import product
from typing import TypeAlias, cast

from weft.commands.actions import Action, Lines
from weft.commands.lexer import Option, as_reference, quote
from weft.commands.vocabulary import FILLER, GUARDED, NUMBERS, Item, Sort, ordinal, range_of, words
from weft.tree.agent import Permission

__all__ = ["Either", "Form", "Kind", "Misfit", "Row", "Slot", "read_form"]

_MOST_STEPS = 4_000
_MANY = 10**18
_DIGITS = 18


class Kind(Enum):
    """What a slot takes."""

    NODE = "ID"
    NODES = "ID ID …"
    RANGE = "ID-ID"
    TEXT = '"…"'
    TEXTS = '"…",…'
    NAME = "name"
    """A string, or one bare word that is no word of the language."""
    NUMBER = "N"
    DECIMAL = "X"
    LINES = "A-B"
    CHOICE = "choice"
    COMMAND = "COMMAND"


Build: TypeAlias = Callable[..., object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One value of a command: where it goes, how it is said, and how it is written back."""

    path: str
    """The action's field; `target.title` inside of a part; two with a blank between for a range."""
    kind: Kind
    option: str = ""
    """Its name as an option. Written so unless it is `bare`."""
    also: frozenset[str] = frozenset()
    """Other options that give the same value."""
    bare: bool = False
    """Written without the option's name."""
    lead: str = ""
    """The word written before it: `to ID`."""
    notation: str = ""
    """How forms show its value."""
    optional: bool = False
    hidden: bool = False
    """Left out of the forms."""
    always: bool = False
    """Written even if it is the default."""
    after: frozenset[str] = frozenset()
    """Words that may stand before the value."""
    names: frozenset[str] = frozenset()
    """Words before or after the value of which one must be there, unless it is given as an option."""
    requires: frozenset[str] = frozenset()
    """Words before or after the value of which one must be there, whatever the value is given as."""
    units: frozenset[str] = frozenset()
    """Words that may follow the value."""
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    """Of a choice: each word, and what it stands for. The first word of each is the one written."""
    plain: frozenset[str] = frozenset()
    """Words of a choice that need no name."""
    no_names: frozenset[str] = frozenset()
    """Words that are no bare names here."""
    capital: bool = False
    """Whether a bare name must begin with a capital letter."""
    swaps: bool = False
    """May be given before an earlier slot of its kind, if that one is marked by its words."""
    number: bool | None = None
    """Whether an option's value must be a number, or must not be one."""
    least: int = 1
    question: str = ""
    """What is asked if it is missing."""
    argument: str = ""
    """Its name as an argument of an MCP tool; the field's if not given."""
    about: str = ""
    """What an MCP client reads of it."""

    def shown(self) -> str:
        """The slot in a form."""
        value = self.notation or self.kind.value
        if self.kind is Kind.CHOICE:
            value = self.notation or "|".join(dict.fromkeys(self.first_words()))
        text = value if self.bare or not self.option else f"{self.option}:{value}"
        return f"{self.lead} {text}".lstrip()

    def first_words(self) -> list[str]:
        """Of each value, the word that is written."""
        chosen: dict[str, str] = {}
        for word, value in self.values.items():
            chosen.setdefault(str(value), word)
        return list(chosen.values())

    def written(self, value: object) -> str:
        """The value as a command says it."""
        text = _WRITE[self.kind](self, value)
        if not self.bare and self.option:
            text = f"{self.option}:{text}"
        return f"{self.lead} {text}".lstrip()


def _word_for(slot: Slot, value: object) -> str:
    return next(word for word, meant in slot.values.items() if meant == value)


def _joined(slot: Slot, value: object) -> str:
    return (" " if slot.bare else ",").join(cast("Sequence[str]", value))


def _ends(_: Slot, value: object) -> str:
    if isinstance(value, Lines):
        return f"{value.first}-{value.last}"
    return "-".join(cast("Sequence[str]", value))


_WRITE: Mapping[Kind, Callable[[Slot, object], str]] = {
    Kind.NODE: lambda _, value: str(value),
    Kind.NODES: _joined,
    Kind.RANGE: _ends,
    Kind.TEXT: lambda _, value: quote(str(value)),
    Kind.TEXTS: lambda _, value: ",".join(map(quote, cast("Sequence[str]", value))),
    Kind.NAME: lambda _, value: quote(str(value)),
    Kind.NUMBER: lambda _, value: str(value),
    Kind.DECIMAL: lambda _, value: f"{value:.12g}",
    Kind.LINES: _ends,
    Kind.CHOICE: _word_for,
    Kind.COMMAND: lambda _, value: str(value),
}


@dataclass(frozen=True, slots=True)
class Either:
    """One of several slots, or groups of them."""

    groups: tuple["Group", ...]
    lead: str = ""
    optional: bool = False

    def shown(self) -> str:
        texts = [
            " ".join(_optional(slot, slot.shown()) for slot in group.slots if not slot.hidden)
            for group in self.groups
        ]
        return f"{self.lead} {'|'.join(texts)}".lstrip()


@dataclass(frozen=True, slots=True)
class Group:
    """Slots that go together, and the value that they make up."""

    slots: tuple[Slot, ...]
    parts: Mapping[str, Build] = field(default_factory=dict[str, Build])


def _optional(slot: Slot | Either, text: str) -> str:
    return f"[{text}]" if slot.optional else text


@dataclass(frozen=True, slots=True)
class Form:
    """One action of a command, and the slots that give its values."""

    action: type[Action]
    slots: tuple[Slot | Either, ...]
    past: str
    """What the trace says was done; `{what}` stands for a field."""
    parts: Mapping[str, Build] = field(default_factory=dict[str, Build])
    """Fields that are values themselves: their classes, by field."""
    noun: str = "node"
    """What its targets are counted as."""
    words: str = ""
    """Words written right after the verb."""
    shown: bool = True
    """Whether help shows it."""
    tool: bool = True
    """Whether it is a form of the MCP tool: not if it only says another form in a different order."""

    def notation(self, name: str) -> str:
        """The form as help and hints show it, without the arrow."""
        parts = [
            _optional(slot, slot.shown())
            for slot in self.slots
            if not (isinstance(slot, Slot) and slot.hidden)
        ]
        return " ".join([name, *self.words.split(), *parts])

    def variants(self) -> Iterator["Form"]:
        """The form once for every choice among its alternatives, without any."""
        ways = [
            [Group((slot,))]
            if isinstance(slot, Slot)
            else [*slot.groups, *([Group(())] if slot.optional else [])]
            for slot in self.slots
        ]
        for way in product(*ways):
            slots = tuple(slot for group in way for slot in group.slots)
            parts = {name: made for group in way for name, made in group.parts.items()}
            yield Form(
                self.action,
                slots,
                self.past,
                {**self.parts, **parts},
                self.noun,
                self.words,
                self.shown,
                self.tool,
            )

    @property
    def flat(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if isinstance(slot, Slot))

    def build(self, values: Mapping[str, object]) -> Action:
        """The action with these values, by field."""
        given: dict[str, object] = {}
        parts: dict[str, dict[str, object]] = {name: {} for name in self.parts}
        for path, value in values.items():
            name, _, inner = path.partition(".")
            if inner:
                parts[name][inner] = value
            else:
                given[name] = value
        for name, inside in parts.items():
            given[name] = self.parts[name](**inside)
        return cast("Callable[..., Action]", self.action)(**given)

    def values(self, action: Action) -> dict[str, object] | None:
        """What the slots would have been given to make this action; None if this form cannot make it."""
        if type(action) is not self.action:
            return None
        for name, made in self.parts.items():
            if type(getattr(action, name)) is not made:
                return None
        got = {path: _value_at(action, path) for slot in self.flat for path in slot.path.split()}
        made = {path: value for path, value in got.items() if value is not MISSING}
        try:
            return got if self.build(made) == action else None
        except TypeError:
            return None


def _value_at(action: object, path: str) -> object:
    for name in path.split("."):
        action = getattr(action, name)
    return action


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One command: all that is known of it."""

    name: str
    forms: tuple[Form, ...]
    permission: Permission
    help: str
    verbs: tuple[str, ...] = ()
    """Other verbs for it. Of those with several words, all but the first may stand further on:
    `leave a7x2 out` is `leave out a7x2`. After `=` stand words that the verb brings with it."""
    made: frozenset[str] = frozenset()
    """What `add`, `put` or `make` add: nouns for what the command makes."""
    removed: frozenset[str] = frozenset()
    """What `remove` or `delete` take away with it."""
    listed: frozenset[str] = frozenset()
    """What `show` or a question asks for with it."""
    keeps: bool = False
    """Whether such a noun is a word of the form, too."""
    noise: frozenset[str] = frozenset()
    """Words that change nothing about this command."""
    vocabulary: frozenset[str] = frozenset()
    """Words in which it is spoken of, beside its verbs and nouns: for the classifier."""
    verb: str = ""
    """What a human is asked to do where the permission is missing; the name if not given."""
    tool: str = ""
    """What an MCP client reads of it; the help text if not given."""
    repeatable: bool = False
    """Doing it twice is doing it once."""
    everywhere: bool = False
    """Can leave the tree with `in:grove`."""
    variants: tuple[Form, ...] = field(init=False)
    """Its forms without alternatives."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "variants", tuple(each for form in self.forms for each in form.variants()))

    @property
    def looks(self) -> bool:
        """Whether it changes nothing but where the agent is and what it has in mind."""
        return self.permission in {Permission.LOOM_AWARE, Permission.DOC_READ} and self.name not in _KEEPING

    @property
    def reads(self) -> bool:
        """Whether it changes nothing at all."""
        return self.looks and self.name not in _MOVING

    @property
    def notations(self) -> tuple[str, ...]:
        """The forms as help and hints show them."""
        shown = tuple(form.notation(self.name) for form in self.forms if form.shown)
        return (*shown, f"{shown[0]} in:grove") if self.name == "search" else shown


_KEEPING = frozenset({"pin", "stash", "drop"})
_MOVING = frozenset({"switch", "think", "recall"})


@dataclass(slots=True)
class Misfit:
    """Why a line was not read as a form: the best reason of all attempts."""

    rank: int = -1
    why: str = ""

    def note(self, rank: int, why: str) -> None:
        if rank > self.rank:
            self.rank, self.why = rank, why


_END = 10_000


class _Unfit(Exception):  # noqa: N818 - no failure: one reading of several does not fit
    pass


def read_form(
    form: Form,
    items: Sequence[Item],
    noise: frozenset[str],
    commands: Mapping[tuple[str, ...], Sequence[str]],
    misfit: Misfit,
) -> Action | None:
    """The action that the items give by this form, or None: every item must be consumed."""
    reader = _Reader(form.flat, items, noise, commands, misfit)
    values = reader.read(0, {})
    if values is None:
        return None
    return form.build({path: value for path, value in values.items() if value is not None})


class _Reader:
    def __init__(
        self,
        slots: Sequence[Slot],
        items: Sequence[Item],
        noise: frozenset[str],
        commands: Mapping[tuple[str, ...], Sequence[str]],
        misfit: Misfit,
    ) -> None:
        self._slots, self._items, self._noise = slots, items, noise
        self._commands, self._misfit = commands, misfit
        self._steps = 0

    def read(self, place: int, filled: dict[int, object]) -> dict[str, object] | None:
        """Fill the slots from this place on; the first way that consumes all."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return None
        if place == len(self._items):
            return self._result(filled)
        item = self._items[place]
        blocked: set[Kind] = set()
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
        start = self._words_end(place, slot.after | slot.names | slot.requires, slot)
        if start == len(self._items):
            if start > place and slot.question:
                self._misfit.note(_END, slot.question)
            return None
        try:
            value = _Value(slot, self._items, start, self._commands).read()
        except _Unfit as unfit:
            self._misfit.note(_END + 1, str(unfit))
            return None
        if value is None:
            return None
        end = self._words_end(value[1], slot.units | slot.names)
        around = (*self._items[place:start], *self._items[value[1] : end])
        option = self._items[start].option
        said = {item.text for item in around} | ({option.name} if option is not None else set[str]())
        is_plain = option is not None or not slot.names or self._items[start].text in slot.plain
        if not (is_plain or said & slot.names) or (slot.requires and not said & slot.requires):
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


def _called(item: Item) -> str:
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

    def __init__(
        self, slot: Slot, items: Sequence[Item], place: int, commands: Mapping[tuple[str, ...], Sequence[str]]
    ) -> None:
        self.slot, self.items, self.place, self.item = slot, items, place, items[place]
        self.commands = commands

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
        if [each.sort for each in ends] == [Sort.NODE, Sort.WORD, Sort.NODE] and ends[1].text in {
            "to",
            "through",
            "until",
            "-",
            "–",
            "—",
        }:
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
        if (item.text,) in self.commands or not any(map(str.isalnum, item.raw)):
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
                ordinal(self.item.text) if self.slot.option == "result" else None
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
        if first is not None and last is not None and three[1].text in {"to", "through", "until", "-", "–"}:
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
        names = self.commands.get((self.item.text,), ()) if self.item.sort is Sort.WORD else ()
        return self._one(names[0] if names else None)


def _count(item: Item) -> int | None:
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
    if (
        value is None
        or value.lower().startswith("result:")
        or value.lower().rstrip(":") in {"doc", "document"}
    ):
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


def _option_text(slot: Slot, option: Option) -> object:
    return _single(slot, option)


def _option_texts(_: Slot, option: Option) -> object:
    return tuple(value for value in option.values if value) or None


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


def _lines(value: str) -> Lines:
    first, _, last = value.partition("-")
    last = last or first
    if not (first.isdecimal() and last.isdecimal() and len(first) < 10 and len(last) < 10):
        raise _Unfit("lines are numbers such as 12-20")
    if not 1 <= int(first) <= int(last):
        raise _Unfit("lines count from 1, the first before the last")
    return Lines(int(first), int(last))


def _option_lines(slot: Slot, option: Option) -> object:
    value = "-".join(option.values).lower().removeprefix("lines").lstrip(": ")
    value = value.replace("–", "-").replace("..", "-")
    if option.name == slot.option == "lines":
        return _lines(value)
    try:
        return _lines(value)
    except _Unfit:
        return None


def _option_choice(slot: Slot, option: Option) -> object:
    value = (_single(slot, option) or "").lower()
    if value not in slot.values:
        raise _Unfit(f"{option.name}: is one of {', '.join(slot.first_words())}")
    return slot.values[value]


_OPTION: Mapping[Kind, Callable[[Slot, Option], object]] = {
    Kind.NODE: _option_node,
    Kind.NODES: _option_nodes,
    Kind.RANGE: _option_range,
    Kind.TEXT: _option_text,
    Kind.TEXTS: _option_texts,
    Kind.NAME: _option_text,
    Kind.NUMBER: _option_number,
    Kind.DECIMAL: lambda slot, option: _decimal(_single(slot, option) or ""),
    Kind.LINES: _option_lines,
    Kind.CHOICE: _option_choice,
    Kind.COMMAND: lambda _slot, _option: None,
}
