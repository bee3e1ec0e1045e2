"""JSON fields from annotations: for each type that operations take, its schema and how it is read."""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, cast

from weft.argument_checks import LARGEST, refuse_unknown
from weft.errors import InvalidInputError
from weft.server.wire import BOOLEAN, NUMBER, TEXT, Schema, array, object_of
from weft.tree.content import (
    Audio,
    Image,
    Mixed,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    content_from_wire,
    is_storable,
)
from weft.tree.json import JsonValue, camel

_LONGEST_LIST = 10_000
_CONTENT = {Text, Image, Audio, ToolCall, ToolResult, Thinking, Mixed}
_LISTS = {list, tuple, Sequence, Iterable}


class FieldForm(NamedTuple):
    """How a value looks in JSON, and how it is read; errors name the field."""

    schema: Schema
    read: Callable[[JsonValue, str], Any]


def read_fields(
    kind: type,
    body: Mapping[str, JsonValue],
    given: Mapping[str, object],
    without: Sequence[str] = (),
    path: str = "",
) -> Any:
    """A dataclass from a JSON object; `given` are the fields that come from elsewhere."""
    forms = {
        each.name: each for each in fields_of(kind) if each.name not in given and each.name not in without
    }
    refuse_unknown(body, [camel(name) for name in forms], "field")
    values = dict(given)
    for name, each in forms.items():
        wire = camel(name)
        place = f"{path}.{wire}" if path else wire
        if wire in body:
            values[name] = form_of(each.type).read(body[wire], place)
        elif is_required(each):
            raise InvalidInputError(f"{place} is missing", path=place)
    return kind(**values)


def fields_schema(kind: type, without: Iterable[str] = ()) -> Schema:
    """The schema of a dataclass as a JSON object."""
    left_out = set(without)
    forms = [each for each in fields_of(kind) if each.name not in left_out]
    required = [camel(each.name) for each in forms if is_required(each)]
    return object_of(*required, **{camel(each.name): form_of(each.type).schema for each in forms})


def is_required(each: "dataclasses.Field[Any]") -> bool:
    return each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING


def fields_of(kind: type) -> "list[dataclasses.Field[Any]]":
    """The fields that a dataclass is made with."""
    return [each for each in dataclasses.fields(kind) if each.init]


@functools.cache
def form_of(annotation: Any) -> FieldForm:
    """The form of a type; `TypeError` for one that has none."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in {typing.Union, types.UnionType}:
        # A path is given as text.
        return _union([member for member in arguments if member is not Path])
    if origin in _LISTS:
        return _list(form_of(arguments[0]), tuple if origin is tuple else list)
    if origin is Mapping:
        return FieldForm({"type": "object"}, _read_object)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _enumeration(annotation)
    if dataclasses.is_dataclass(cast("object", annotation)):
        return _object(cast("type", annotation))
    raise TypeError(f"{annotation} has no form in JSON")


def _object(kind: type) -> FieldForm:
    def read(value: JsonValue, path: str) -> Any:
        return read_fields(kind, _read_object(value, path), {}, path=path)

    return FieldForm(fields_schema(kind), read)


def _union(members: list[Any]) -> FieldForm:
    if types.NoneType in members:
        return _optional(_union([member for member in members if member is not types.NoneType]))
    if _CONTENT & set(members):
        return _content(plain=str in members)
    # A word of an enumeration is that, also where any text may be given.
    forms = [form_of(member) for member in sorted(members, key=_is_enumeration, reverse=True)]
    if len(forms) == 1:
        return forms[0]

    def read(value: JsonValue, path: str) -> Any:
        return _first(forms, value, path)

    return FieldForm({"anyOf": [form.schema for form in forms]}, read)


def _is_enumeration(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, Enum)


def _optional(inner: FieldForm) -> FieldForm:
    def read(value: JsonValue, path: str) -> Any:
        return None if value is None else inner.read(value, path)

    return FieldForm({"anyOf": [inner.schema, {"type": "null"}]}, read)


def _first(forms: Sequence[FieldForm], value: JsonValue, path: str) -> Any:
    """The value by the first form that takes it."""
    for form in forms[:-1]:
        try:
            return form.read(value, path)
        except InvalidInputError:
            continue
    return forms[-1].read(value, path)


def _list(inner: FieldForm, kind: Callable[[list[Any]], Any]) -> FieldForm:
    def read(value: JsonValue, path: str) -> Any:
        if not isinstance(value, list) or len(value) > _LONGEST_LIST:
            raise InvalidInputError(f"{path} must be a list of at most {_LONGEST_LIST:,}", path=path)
        return kind([inner.read(each, f"{path}[{index}]") for index, each in enumerate(value)])

    return FieldForm(array(inner.schema, maxItems=_LONGEST_LIST), read)


def _enumeration(kind: type[Enum]) -> FieldForm:
    known = [str(each.value) for each in kind]

    def read(value: JsonValue, path: str) -> Enum:
        if value not in known:
            raise InvalidInputError(f"{path} must be one of {', '.join(known)}", path=path)
        return kind(value)

    return FieldForm({"enum": known}, read)


def _content(*, plain: bool) -> FieldForm:
    described: Schema = {"type": "object", "description": "Any content of the tree."}

    def read(value: JsonValue, path: str) -> Any:
        if plain and isinstance(value, str):
            return _read_text(value, path)
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{path} must be a string or an object", path=path)
        try:
            return content_from_wire(value, path=path)
        except InvalidInputError as error:
            raise InvalidInputError(error.message, hint=error.hint, path=path) from None

    return FieldForm({"anyOf": [TEXT, described]} if plain else described, read)


def _read_object(value: JsonValue, path: str) -> Mapping[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{path} must be an object", path=path)
    return value


def _read_text(value: JsonValue, path: str) -> str:
    if not isinstance(value, str) or not is_storable(value):
        raise InvalidInputError(f"{path} must be a string, without NUL or lone surrogates", path=path)
    return value


def _read_flag(value: JsonValue, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"{path} must be true or false", path=path)
    return value


def _read_whole(value: JsonValue, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST:
        raise InvalidInputError(f"{path} must be a whole number", path=path)
    return value


def _read_number(value: JsonValue, path: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST:
        raise InvalidInputError(f"{path} must be a number", path=path)
    return float(value)


def _read_moment(value: JsonValue, path: str) -> datetime:
    try:
        read = datetime.fromisoformat(_read_text(value, path))
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise InvalidInputError(f"{path} must be a time in ISO 8601 with its zone", path=path)
    return read


_PLAIN: dict[Any, FieldForm] = {
    str: FieldForm(TEXT, _read_text),
    bool: FieldForm(BOOLEAN, _read_flag),
    int: FieldForm({"type": "integer"}, _read_whole),
    float: FieldForm(NUMBER, _read_number),
    datetime: FieldForm({"type": "string", "format": "date-time"}, _read_moment),
}
