"""A command as text: in its canonical form, which `parse` reads back, and as the trace tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import NamedTuple, cast

from weft.commands.actions import Action, Command, LineSpan, ThinkCommand
from weft.commands.catalog import ROWS
from weft.commands.grammar import CommandRow, Form, Slot, SlotKind
from weft.commands.lexer import quote
from weft.commands.reply import short

_TARGET = 40
_TYPES: Mapping[SlotKind, tuple[type, ...]] = {
    SlotKind.NODE: (str,),
    SlotKind.NODES: (tuple,),
    SlotKind.TEXT: (str,),
    SlotKind.TEXTS: (tuple,),
    SlotKind.NAME: (str,),
    SlotKind.NUMBER: (int,),
    SlotKind.DECIMAL: (float, int),
    SlotKind.LINES: (LineSpan,),
    SlotKind.RANGE: (tuple,),
    SlotKind.COMMAND: (str,),
}


def write_command(command: Command) -> str:
    """The command as the catalog would say it, without the arrow."""
    text = _write_action(command.action)
    if command.tree is not None:
        text += f" in tree:{quote(command.tree)}"
    return f"{text} in:grove" if command.grove else text


def _write_action(action: Action) -> str:
    if isinstance(action, ThinkCommand):
        return f"think {action.text}".rstrip()
    row, form, values = _form_of(action)
    parts = [slot.written(value) for slot, value in _given(form, action, values)]
    return " ".join([row.name, *form.words.split(), *parts])


def _form_of(action: Action) -> tuple[CommandRow, Form, dict[str, object]]:
    """The first form that makes this action, its command, and the values of its fields."""
    for row in ROWS:
        for form in row.variants:
            values = form.values(action)
            if values is not None and all(_fits(action, slot, _value(slot, values)) for slot in form.flat):
                return row, form, values
    raise TypeError(f"no form makes {type(action).__name__}")


def _value(slot: Slot, values: Mapping[str, object]) -> object:
    paths = slot.path.split()
    return values[paths[0]] if len(paths) == 1 else tuple(values[path] for path in paths)


def _fits(action: Action, slot: Slot, value: object) -> bool:
    """Whether a slot could have been given this value, or could have been left out for it."""
    if slot.optional and value == _default(action, slot.path):
        return True
    if slot.kind is SlotKind.CHOICE:
        return value in slot.values.values()
    return type(value) in _TYPES[slot.kind]


def _given(form: Form, action: Action, values: Mapping[str, object]) -> list[tuple[Slot, object]]:
    """The slots that say something, with their values."""
    given: list[tuple[Slot, object]] = []
    for slot in form.flat:
        value = _value(slot, values)
        if slot.optional and not slot.always and value == _default(action, slot.path):
            continue
        given.append((slot, value))
    return given


def _default(action: object, path: str) -> object:
    *outer, name = path.split(".")
    for each in outer:
        action = getattr(action, each)
    (field,) = [each for each in fields(action) if each.name == name]  # pyright: ignore[reportArgumentType] - a dataclass
    return field.default if field.default is not MISSING else None


class Described(NamedTuple):
    """What was done, in the past tense: `viewed a7x2`."""

    verb: str
    target: str = ""
    noun: str = "node"
    """What its targets are counted as when the trace is compressed."""


def describe(action: Action) -> Described:
    """The action as the trace tells it."""
    if isinstance(action, ThinkCommand):
        return Described("thought", noun="")
    row, form, values = _form_of(action)
    target = _target(form, values)
    verb = form.past.format(**{name: value for name, value in values.items() if "." not in name})
    return Described(
        verb if target else verb.removesuffix(" from"), target, row.noun if form.noun is None else form.noun
    )


def _target(form: Form, values: Mapping[str, object]) -> str:
    slot = next(iter(form.flat), None)
    if slot is None or slot.kind is SlotKind.COMMAND or (slot.kind is SlotKind.CHOICE and slot.optional):
        return ""
    value = _value(slot, values)
    match slot.kind:
        case SlotKind.NODE | SlotKind.CHOICE:
            return "" if value is None else str(value)
        case SlotKind.NODES:
            return " and ".join(cast("Sequence[str]", value))
        case SlotKind.TEXT | SlotKind.NAME:
            text = f'"{short(str(value), _TARGET)}"'
            return f"doc:{text}" if slot.option == "doc" else text
        case _:
            return slot.written(value)
