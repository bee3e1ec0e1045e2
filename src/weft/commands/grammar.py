"""What a row of the catalog is made of.

A form is a list of slots. A slot takes one value: a string, a node, an option, a word out of a set. Words
may come before and after a value only if its slot names them, so nothing in a line is passed over:
`merge a7x2 into b3k9` has an `into` that no slot of `merge` takes, and is not read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from enum import Enum
from itertools import product
from typing import Any, TypeAlias, cast

from weft.commands.actions import Action, LineSpan
from weft.commands.lexer import quote
from weft.commands.vocabulary import words
from weft.tree.agent import Permission


class SlotKind(Enum):
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
    kind: SlotKind
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
    """Words that may come before the value."""
    names: frozenset[str] = frozenset()
    """Words before or after the value of which one must be there, unless it is given as an option."""
    requires: frozenset[str] = frozenset()
    """Words of which one must be there, also if the value is given as an option: before it, or after it if they are units."""
    units: frozenset[str] = frozenset()
    """Words that may follow the value."""
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    """Of a choice: each word and its value. The first word of each is the one written."""
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
        if self.kind is SlotKind.CHOICE:
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
    if isinstance(value, LineSpan):
        return f"{value.first}-{value.last}"
    return "-".join(cast("Sequence[str]", value))


_WRITE: Mapping[SlotKind, Callable[[Slot, object], str]] = {
    SlotKind.NODE: lambda _, value: str(value),
    SlotKind.NODES: _joined,
    SlotKind.RANGE: _ends,
    SlotKind.TEXT: lambda _, value: quote(str(value)),
    SlotKind.TEXTS: lambda _, value: ",".join(map(quote, cast("Sequence[str]", value))),
    SlotKind.NAME: lambda _, value: quote(str(value)),
    SlotKind.NUMBER: lambda _, value: str(value),
    SlotKind.DECIMAL: lambda _, value: f"{value:.12g}",
    SlotKind.LINES: _ends,
    SlotKind.CHOICE: _word_for,
    SlotKind.COMMAND: lambda _, value: str(value),
}


@dataclass(frozen=True, slots=True)
class Either:
    """One of several slots, or groups of them."""

    groups: tuple["SlotGroup", ...]
    lead: str = ""
    optional: bool = False

    def shown(self) -> str:
        texts = [
            " ".join(_optional(slot, slot.shown()) for slot in group.slots if not slot.hidden)
            for group in self.groups
        ]
        return f"{self.lead} {'|'.join(texts)}".lstrip()


@dataclass(frozen=True, slots=True)
class SlotGroup:
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
    """What the trace says was done; `{what}` is replaced by a field."""
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
            [SlotGroup((slot,))]
            if isinstance(slot, Slot)
            else [*slot.groups, *([SlotGroup(())] if slot.optional else [])]
            for slot in self.slots
        ]
        for way in product(*ways):
            slots = tuple(slot for group in way for slot in group.slots)
            parts = {name: made for group in way for name, made in group.parts.items()}
            yield replace(self, slots=slots, parts={**self.parts, **parts})

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
class CommandRow:
    """One command: all that is known of it."""

    name: str
    forms: tuple[Form, ...]
    permission: Permission
    help: str
    verbs: tuple[str, ...] = ()
    """Other verbs for it. Of those with several words, all but the first may come later:
    `leave a7x2 out` is `leave out a7x2`. After `=` come words that the verb brings with it."""
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


def choice(text: str, value: object = True) -> dict[str, object]:  # noqa: FBT002 - a value, not a switch
    """Words that all mean one value."""
    return dict.fromkeys(text.split(), value)


def command_row(
    permission: Permission, name: str, help_text: str, *forms: Form, **more: object
) -> CommandRow:
    """A row; its sets of words, and its verbs with commas between, are given as text."""
    return CommandRow(name=name, forms=forms, permission=permission, help=help_text, **_as_words(more))


def form(action: type[Action], past: str, *slots: Slot | Either, **more: object) -> Form:
    return Form(action, slots, past, **_as_words(more))


def slot(kind: SlotKind, path: str, after: str = "", **more: object) -> Slot:
    """A slot; its sets of words are given as text. Its option has the field's name, unless it is a choice."""
    option = "" if kind in {SlotKind.CHOICE, SlotKind.COMMAND} else path
    return changed(Slot(path=path, kind=kind, option=option, after=words(after)), **more)


def changed(slot: Slot, **more: object) -> Slot:
    """The slot with other values of these fields."""
    return replace(slot, **_as_words(more))


def node(path: str = "node", after: str = "", **more: object) -> Slot:
    given = slot(SlotKind.NODE, path, after, option="id", bare=True, question="which node?")
    return changed(given, **{"about": "A node's local id, such as a7x2.", **more})


def text(path: str, after: str = "", **more: object) -> Slot:
    given = slot(SlotKind.TEXT, path, after, option="text", bare=True, about="The text.")
    return changed(given, **{"question": "the text must be in quotes", **more})


def _as_words(given: Mapping[str, object]) -> dict[str, Any]:
    """Fields by name, with words as the sets or tuples that they are kept as."""
    return {
        name: _KEPT_AS[name](value) if name in _KEPT_AS and isinstance(value, str) else value
        for name, value in given.items()
    }


_KEPT_AS: Mapping[str, Callable[[str], object]] = {
    **{
        name: words
        for kind in (Slot, CommandRow)
        for name, of in kind.__annotations__.items()
        if of == frozenset[str]
    },
    "verbs": lambda given: tuple(map(str.strip, given.split(","))),
}
WHICH = words("new another other same first second third last next previous current existing parent")
PLACES = words("beginning start top bottom front end home line lines section doc document text")

CALLED = "as under called named labelled labeled label name titled with"
SAYING = "with saying that text words message following note comment remark annotation stating reading"

DOCUMENT = slot(
    SlotKind.TEXT,
    "document",
    "of in from to into called named titled",
    option="doc",
    names="doc document docs",
    question='which document? doc:"…"',
    about="The document, by its title or id.",
)
SECTION = slot(
    SlotKind.NAME,
    "section",
    "called named from in of at",
    notation="…",
    optional=True,
    no_names=WHICH | PLACES | words("whole entire full"),
    names="section",
    about="A section of it, by its heading.",
)
LINES = slot(
    SlotKind.LINES,
    "part",
    "only number numbers between of",
    option="lines",
    names="lines line",
    argument="lines",
    about="Only these, the first and the last.",
)
RESULT = slot(
    SlotKind.NUMBER,
    "number",
    "number nr rest of in at",
    option="result",
    also="pin",
    names="result",
    question="which result?",
    argument="result",
    about="The number of an earlier result.",
)
CONTEXT = slot(
    SlotKind.NODES,
    "context",
    "with using given taking as and of from",
    notation="ID,…",
    optional=True,
    names="context",
    units="as",
    about="Other nodes that it was written from.",
)
