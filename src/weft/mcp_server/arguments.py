"""What a tool takes: its arguments as a model, the schema that clients see, and the reading of what they send."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from weft.commands.actions import Command, LineSpan
from weft.commands.grammar import CommandRow, Form, Slot, SlotKind
from weft.commands.parse import MOST_CONTINUATIONS
from weft.errors import InvalidInputError
from weft.runtime.collaboration.commands.queries import DEEPEST
from weft.tree.json import camel

MOST = 1_000
"""Of anything that is listed or counted in one call."""
_NAME = 300
_REFERENCE = 100

Tree = Annotated[
    str,
    Field(min_length=1, max_length=_NAME, description="The tree's id or title."),
]
Node = Annotated[
    str, Field(min_length=1, max_length=_REFERENCE, description="A node's local id, such as a7x2.")
]
Title = Annotated[str, Field(min_length=1, max_length=_NAME)]
Text = Annotated[str, Field(min_length=1, description="The text.")]


class Arguments(BaseModel):
    """The arguments of one tool. Nothing is guessed: what is unknown is refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", strict=True, frozen=True, alias_generator=camel, validate_by_name=False
    )

    @classmethod
    def input_schema(cls) -> dict[str, Any]:
        """As clients see it: plain, without what only Python needs."""
        plain = _plain(cls.model_json_schema(by_alias=True))
        return {"type": "object", "properties": {}, **plain, "additionalProperties": False}

    @classmethod
    def read(cls, given: Mapping[str, Any] | None) -> Self:
        """The arguments as they came, checked; the first that is wrong is named."""
        try:
            return cls.model_validate(dict(given or {}))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            path = ".".join(str(part) for part in first["loc"])[:200]
            raise InvalidInputError(
                f"{path}: {_problem(first)}" if path else _problem(first),
                hint="the tool's schema says what it takes",
                path=path,
            ) from None


class TreeArguments(Arguments):
    tree: Tree


def _problem(wrong: Mapping[str, Any]) -> str:
    """What is wrong, in our words where they are shorter than pydantic's."""
    match wrong["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "is no argument of this tool"
        case _:
            return str(wrong["msg"])[:1].lower() + str(wrong["msg"])[1:]


def _plain(schema: Any) -> Any:
    """Without titles that only repeat names; what may be left out is not also null.

    Every word here is read by a model with every request, so what is said of a list is not said of its items.
    """
    if isinstance(schema, list):
        return [_plain(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    plain = {key: value for key, value in cast("dict[str, Any]", schema).items() if not _is_noise(key, value)}
    kinds = plain.get("anyOf")
    if isinstance(kinds, list):
        left = [each for each in cast("list[Any]", kinds) if each != {"type": "null"}]
        if len(left) == 1:
            del plain["anyOf"]
            plain = {**left[0], **plain}
    if "items" in plain:
        items = cast("dict[str, Any]", plain["items"])
        plain["items"] = {name: value for name, value in items.items() if name != "description"}
    if "properties" in plain:
        inner = cast("dict[str, Any]", plain["properties"])
        plain["properties"] = {name: _plain(value) for name, value in inner.items()}
    return {key: value if key == "properties" else _plain(value) for key, value in plain.items()}


def _is_noise(key: str, value: Any) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value is None)


_NAMED: dict[str, Any] = {"min_length": 1, "max_length": 300}
_TEXT: dict[str, Any] = {"max_length": 10_000}
_BOUNDS: Mapping[str, Mapping[str, Any]] = {
    "agent": _NAMED,
    "at_section": _NAMED,
    "document": _NAMED,
    "label": _NAMED,
    "name": _NAMED,
    "replace_section": _NAMED,
    "section": _NAMED,
    "stash": _NAMED,
    "to_document": _NAMED,
    "to_tree": _NAMED,
    "description": _TEXT,
    "note": _TEXT,
    "at": {"min_length": 1},
    "query": {"min_length": 1, **_TEXT},
    "item": {"min_length": 1, "max_length": 2_000},
    # Announced, and refused by the command with the code that commands have for it.
    "n": {"ge": 1, "json_schema_extra": {"maximum": MOST_CONTINUATIONS}},
    "depth": {"ge": 1, "le": DEEPEST},
    "result": {"ge": 1, "le": 1_000_000},
    "tokens": {"ge": 1, "le": 10_000_000},
    "at_line": {"ge": 1, "le": 10_000_000},
    "temperature": {"ge": 0, "le": 10},
}
"""How much an argument may be, by its name."""
_Line = Annotated[int, Field(ge=1, le=10_000_000)]
_Stop = Annotated[str, Field(**_NAMED)]
_TYPES: Mapping[SlotKind, Any] = {
    SlotKind.NODE: Node,
    SlotKind.NODES: Annotated[list[Node], Field(max_length=100)],
    SlotKind.RANGE: Annotated[list[Node], Field(min_length=2, max_length=2)],
    SlotKind.TEXT: str,
    SlotKind.TEXTS: Annotated[list[_Stop], Field(max_length=16)],
    SlotKind.NAME: str,
    SlotKind.NUMBER: int,
    SlotKind.DECIMAL: float,
    SlotKind.LINES: Annotated[list[_Line], Field(min_length=2, max_length=2)],
}
_DEFAULTS = {("view", "shape"): "nodes"}
"""Where a client that says nothing wants something else than a line that says nothing."""
_LAST = frozenset({"full", "with_annotations", "shape", "note"})
"""Choices come after what they are about."""
_MAY_BE_EMPTY = frozenset({"edit", "write"})
_EVERYWHERE = "Leave this tree for the whole grove; the agent must be allowed to."


class CommandArguments(TreeArguments):
    """The arguments of one command."""

    def command(self, row: CommandRow) -> Command:
        """The command that the arguments make."""
        given = {name for name in self.model_fields_set if getattr(self, name) not in (None, False)}
        form = _form(row, given)
        values: dict[str, object] = {}
        for slot in form.flat:
            values |= _values(slot, [getattr(self, name, None) for name in _names(slot)])
        grove = bool(getattr(self, "everywhere", False))
        return Command(row.name, form.build(values), grove=grove)


def arguments_of(row: CommandRow) -> type[CommandArguments]:
    """The arguments of a row, as a model with a schema."""
    made: dict[str, Any] = {}
    for name, slot in sorted(_arguments(row), key=lambda pair: pair[0] in _LAST):
        if name not in made:
            made[name] = _field(row, name, slot)
    if row.everywhere:
        made["everywhere"] = (Annotated[bool, Field(description=_EVERYWHERE)], False)
    return create_model(f"{row.name.capitalize()}Arguments", __base__=CommandArguments, **made)


def _forms(row: CommandRow) -> list[Form]:
    return [form for form in row.variants if form.tool]


def _arguments(row: CommandRow) -> Iterator[tuple[str, Slot]]:
    slots = (slot for form in _forms(row) for slot in form.flat if not (slot.hidden and slot.optional))
    return ((name, slot) for slot in slots for name in _names(slot))


def _names(slot: Slot) -> list[str]:
    return (slot.argument or slot.path.rpartition(".")[2]).split()


def _required(form: Form) -> set[str]:
    return {name for slot in form.flat if not slot.optional and not slot.always for name in _names(slot)}


def _form(row: CommandRow, given: set[str]) -> Form:
    """The form that these arguments are of. What only some forms need says which it is."""
    forms = _forms(row)
    always = set[str].intersection(*map(_required, forms))
    deciding = [name for name in dict.fromkeys(name for name, _ in _arguments(row)) if name not in always]
    deciding = [name for name in deciding if any(name in _required(form) for form in forms)]
    named = [name for name in deciding if name in given]
    for form in forms:
        if _required(form) - always == set(named):
            _refuse_others(row, form, given)
            return form
    names = ", ".join(map(camel, deciding))
    many = "none is" if not named else f"{' and '.join(map(camel, named))} are"
    raise InvalidInputError(f"one of {names} is needed: {many} given", hint="give exactly one of them")


def _refuse_others(row: CommandRow, form: Form, given: set[str]) -> None:
    """A value that another form takes is refused; a choice that another form has changes nothing here."""
    taken = {name for slot in form.flat for name in _names(slot)}
    for name, slot in _arguments(row):
        if name in given and name not in taken and slot.kind is not SlotKind.CHOICE:
            raise InvalidInputError(
                f"{camel(name)} does not go with the rest", hint="leave it out", path=camel(name)
            )


def _field(row: CommandRow, name: str, slot: Slot) -> tuple[Any, Any]:
    about = slot.about.split("|")[min(_names(slot).index(name), slot.about.count("|"))] or None
    kind = _type(row, name, slot)
    if all(name in _required(form) for form in _forms(row)):
        return Annotated[kind, Field(description=about)], ...
    default = _default(row, name, slot)
    if isinstance(default, tuple):
        return Annotated[kind, Field(description=about)], Field(default_factory=list)
    return Annotated[kind if default is not None else kind | None, Field(description=about)], default


def _type(row: CommandRow, name: str, slot: Slot) -> Any:
    if slot.kind is SlotKind.CHOICE:
        value = next(iter(slot.values.values()))
        return Literal[*(each.value for each in type(value))] if isinstance(value, StrEnum) else bool
    if slot.kind is SlotKind.RANGE and len(_names(slot)) > 1:
        return Node
    bounds = dict(_BOUNDS.get(name, {}))
    if name == "text" and row.name not in _MAY_BE_EMPTY:
        bounds["min_length"] = 1
    if name == "nodes":
        bounds["min_length"] = slot.least
    return Annotated[_TYPES[slot.kind], Field(**bounds)] if bounds else _TYPES[slot.kind]


def _default(row: CommandRow, name: str, slot: Slot) -> object:
    """What a client that says nothing is taken to have said."""
    if (row.name, name) in _DEFAULTS:
        return _DEFAULTS[row.name, name]
    value = next(iter(slot.values.values()), None) if slot.kind is SlotKind.CHOICE else None
    if slot.kind is SlotKind.CHOICE and not isinstance(value, StrEnum):
        return False
    if not slot.optional:
        return None
    for form in _forms(row):
        for each in fields(form.action):
            if each.name == slot.path and each.default is not MISSING:
                return each.default.value if isinstance(each.default, StrEnum) else each.default
    return None


def _values(slot: Slot, given: list[Any]) -> dict[str, object]:
    """The values of the fields that a slot fills."""
    paths = slot.path.split()
    if all(value is None or value is False for value in given):
        return {}
    if len(given) == 1 and slot.kind in _CONVERTED:
        given = [_CONVERTED[slot.kind](slot, given[0])]
    if len(paths) > len(given):
        given = list(given[0])
    return dict(zip(paths, given, strict=True))


def _chosen(slot: Slot, value: object) -> object:
    meant = next(iter(slot.values.values()))
    return type(meant)(value) if isinstance(meant, StrEnum) else meant


_CONVERTED: Mapping[SlotKind, Callable[[Slot, Any], object]] = {
    SlotKind.CHOICE: _chosen,
    SlotKind.LINES: lambda _, value: LineSpan(value[0], value[1]),
    SlotKind.NODES: lambda _, value: tuple(value),
    SlotKind.TEXTS: lambda _, value: tuple(value),
}
