"""Values that several commands take, and short ways to write them down."""

from collections.abc import Mapping
from dataclasses import replace

from weft.commands.grammar import Slot, SlotKind
from weft.commands.vocabulary import words
from weft.tree.agent import Permission

AWARE, WRITE = Permission.LOOM_AWARE, Permission.LOOM_WRITE


def verbs(said: str) -> tuple[str, ...]:
    return tuple(verb.strip() for verb in said.split(","))


def choice(said: str, value: object = "") -> dict[str, object]:
    """Words that all mean one value: True, if none is given."""
    return dict.fromkeys(said.split(), True if value == "" else value)


def node(path: str = "node", after: str = "", **more: object) -> Slot:
    slot = Slot(
        path=path,
        kind=SlotKind.NODE,
        option="id",
        bare=True,
        after=words(after),
        question="which node?",
        about="A node's local id, such as a7x2.",
    )
    return _with(slot, more)


def text(path: str, after: str = "", **more: object) -> Slot:
    slot = Slot(
        path=path,
        kind=SlotKind.TEXT,
        option="text",
        bare=True,
        after=words(after),
        question="the text must be in quotes",
        about="The text.",
    )
    return _with(slot, more)


def _with(slot: Slot, more: Mapping[str, object]) -> Slot:
    changed = {
        name: words(value) if name in _WORD_FIELDS and isinstance(value, str) else value
        for name, value in more.items()
    }
    return replace(slot, **changed)  # pyright: ignore[reportArgumentType] - the fields of a slot, by name


WHICH = words("new another other same first second third last next previous current existing parent")
PLACES = words("beginning start top bottom front end home line lines section doc document text")
_WORD_FIELDS = frozenset({"after", "also", "names", "units", "requires", "plain"})

CALLED = "as under called named labelled labeled label name titled with"
SAYING = "with saying that text words message following note comment remark annotation stating reading"

DOCUMENT = Slot(
    path="document",
    kind=SlotKind.TEXT,
    option="doc",
    names=words("doc document docs"),
    after=words("of in from to into called named titled"),
    question='which document? doc:"…"',
    about="The document, by its title or id.",
)
SECTION = Slot(
    path="section",
    kind=SlotKind.NAME,
    option="section",
    notation="…",
    optional=True,
    no_names=WHICH | PLACES | words("whole entire full"),
    names=words("section"),
    after=words("called named from in of at"),
    about="A section of it, by its heading.",
)
LINES = Slot(
    path="part",
    kind=SlotKind.LINES,
    option="lines",
    names=words("lines line"),
    after=words("only number numbers between of"),
    argument="lines",
    about="Only these, the first and the last.",
)
RESULT = Slot(
    path="number",
    kind=SlotKind.NUMBER,
    option="result",
    also=frozenset({"pin"}),
    names=words("result"),
    after=words("number nr rest of in at"),
    question="which result?",
    argument="result",
    about="The number of an earlier result.",
)
CONTEXT = Slot(
    path="context",
    kind=SlotKind.NODES,
    option="context",
    notation="ID,…",
    optional=True,
    names=words("context"),
    after=words("with using given taking as and of from"),
    units=words("as"),
    about="Other nodes that it was written from.",
)
