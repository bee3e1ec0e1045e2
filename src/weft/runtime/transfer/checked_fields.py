"""Fields and records of a file: how stored values are written as JSON, and read back and checked.

One `RecordSpec` serves both directions. Files are not trusted: a wrong value is refused
with the name of its field, and `Located` adds the place in the file.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum, auto
from types import TracebackType
from typing import Any

import orjson
from sqlalchemy import Table

from weft.errors import InvalidInputError, LimitExceededError
from weft.ids import is_ulid
from weft.interop.weft_json import Record
from weft.runtime.operations.scope import dump_json
from weft.tree.content import CONTENT_LIMIT, check_text
from weft.tree.json import JsonObject, JsonValue, snake
from weft.tree.json_names import iso_moment, to_microseconds

Write = Callable[[Any], JsonValue]
"""From the stored value to JSON."""
Read = Callable[[JsonValue, str], Any]
"""From JSON and the field's name to the stored value."""

Row = dict[str, Any]
"""Values by column."""

_REQUIRED = object()
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_DEPTH_LIMIT = 64


@dataclass(frozen=True, slots=True)
class FieldType:
    """How a stored value is written in a file, and how it is read and checked."""

    read: Read
    write: Write | None = None
    """None: the stored value is written unchanged."""


class RecordReference(Enum):
    """The type of a field that names another record of the file: by its id, or a response by its number."""

    AGENT = auto()
    NODE = auto()
    PROJECT = auto()
    RESPONSE = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record."""

    name: str
    type: FieldType | RecordReference
    column: str = ""
    """By default the name in snake_case."""
    default: object = _REQUIRED
    """The value that is left out of the file."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", self.column or snake(self.name))

    def writer(self, references: Mapping[RecordReference, Write]) -> Write | None:
        return references[self.type] if isinstance(self.type, RecordReference) else self.type.write

    def reader(self, references: Mapping[RecordReference, Read]) -> Read:
        return references[self.type] if isinstance(self.type, RecordReference) else self.type.read


def optional(name: str, kind: FieldType | RecordReference, column: str = "") -> Field:
    """A field that is left out where its column is null."""
    return Field(name, kind, column, None)


class RecordSpec:
    """One kind of record: its fields in the order of the file.

    `kind` is the value of `record`, empty for a record inside another one. `unique` are columns
    that no two records of a tree (or of the file) have in common. Where each row of `table` makes
    one record, `order` are the columns by which they are ordered, by default those of `unique`.
    """

    def __init__(
        self,
        kind: str,
        *fields: Field,
        table: Table | None = None,
        unique: tuple[str, ...] = (),
        order: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.fields = fields
        self.table = table
        self.unique = unique
        self.order = order or unique

    @property
    def columns(self) -> set[str]:
        return {field.column for field in self.fields}

    def writer(self, references: Mapping[RecordReference, Write] | None = None) -> "RowWriter":
        """A function from a row to its record. `references` turn keys into ids."""
        steps = [
            (each.name, each.writer(references or {}), each.column, each.default) for each in self.fields
        ]
        start: Record = {"record": self.kind} if self.kind else {}

        def write(row: Mapping[str, Any]) -> Record:
            record = start.copy()
            for name, convert, column, default in steps:
                value = row[column]
                if value is not None and value != default:
                    record[name] = value if convert is None else convert(value)
            return record

        return write

    def reader(self, references: Mapping[RecordReference, Read] | None = None) -> "RecordReader":
        """A function from a record to its row, checked. `references` turn ids into keys."""
        steps = [
            (each.name, each.reader(references or {}), each.column, each.default) for each in self.fields
        ]
        names = {"record"} if self.kind else set[str]()
        names.update(each.name for each in self.fields)

        def read(record: Record) -> Row:
            if not record.keys() <= names:
                raise InvalidInputError(
                    f"{min(record.keys() - names)[:60]!r} is unknown",
                    hint="the file may come from a newer Weft; nothing is dropped silently",
                )
            row: Row = {}
            for name, convert, column, default in steps:
                value = record.get(name)
                row[column] = default if value is None and default is not _REQUIRED else convert(value, name)
            return row

        return read


RowWriter = Callable[[Mapping[str, Any]], Record]
RecordReader = Callable[[Record], Row]


class RecordSet:
    """Reads the records of a file, or of one tree in it; none may be there twice."""

    def __init__(self, specs: Iterable[RecordSpec], references: Mapping[RecordReference, Read]) -> None:
        self.specs = {spec.kind: spec for spec in specs}
        self._readers = {kind: spec.reader(references) for kind, spec in self.specs.items()}
        self._seen: set[tuple[object, ...]] = set()

    def read(self, kind: str, record: Record) -> Row:
        row = self._readers[kind](record)
        if unique := self.specs[kind].unique:
            self.require_new(kind, *(row[column] for column in unique))
        return row

    def require_new(self, kind: str, *key: object) -> None:
        if (kind, *key) in self._seen:
            raise InvalidInputError(f"this {kind} occurs twice")
        self._seen.add((kind, *key))


class Located:
    """Adds a place in the file to errors about its contents."""

    __slots__ = ("_place",)

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, InvalidInputError | LimitExceededError):
            raise type(error)(f"{self._place}: {error.message}", hint=error.hint) from None


def text(limit: int = CONTENT_LIMIT) -> FieldType:
    """Text of at most so many characters."""

    def read(value: JsonValue, name: str) -> str:
        if not isinstance(value, str):
            raise InvalidInputError(f"{name} must be a string")
        return check_text(value, what=name, limit=limit)

    return FieldType(read)


def count(limit: int = 2**31 - 1) -> FieldType:
    """A whole number that is not negative."""

    def read(value: JsonValue, name: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= limit:
            raise InvalidInputError(f"{name} must be a whole number between 0 and {limit:,}")
        return value

    return FieldType(read)


def choice(options: Sequence[StrEnum]) -> FieldType:
    """One of several words, stored as its index."""
    words = [str(option) for option in options]

    def read(value: JsonValue, name: str) -> int:
        if value not in words:
            raise InvalidInputError(f"{name} must be one of {', '.join(words)}")
        return words.index(str(value))

    return FieldType(read, words.__getitem__)


def read_list(value: JsonValue, name: str, limit: int) -> Sequence[JsonValue]:
    """A list with a limited number of entries; without a value, an empty one."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} must be a list")
    if len(value) > limit:
        raise LimitExceededError(f"{name} has {len(value):,} entries, the limit is {limit:,}")
    return value


def one_of(spec: RecordSpec) -> FieldType:
    """A record inside another one."""
    read_record = spec.reader()

    def read(value: JsonValue, name: str) -> Row:
        if not isinstance(value, dict):
            raise InvalidInputError(f"{name} must be an object")
        with Located(name):
            return read_record(value)

    return FieldType(read, spec.writer())


def list_of(spec: RecordSpec, limit: int) -> FieldType:
    """Several records inside another one."""
    inner, write = one_of(spec), spec.writer()

    def read(value: JsonValue, name: str) -> list[Row]:
        return [
            inner.read(item, f"{name}[{index}]") for index, item in enumerate(read_list(value, name, limit))
        ]

    return FieldType(read, lambda rows: [write(row) for row in rows])


def _read_ulid(value: JsonValue, name: str) -> str:
    if not isinstance(value, str) or not is_ulid(value):
        raise InvalidInputError(f"{name} must be a ULID")
    return value


def _read_flag(value: JsonValue, name: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false")
    return value


def _read_time(value: JsonValue, name: str) -> int:
    if isinstance(value, str) and _TIME.match(value):
        try:
            return to_microseconds(datetime.fromisoformat(value[:-1]).replace(tzinfo=UTC))
        except ValueError:
            pass
    raise InvalidInputError(f"{name} must be a time such as 2026-01-31T12:00:00.000000Z")


def _read_digest(value: JsonValue, name: str) -> bytes:
    if not isinstance(value, str) or _DIGEST.match(value) is None:
        raise InvalidInputError(f"{name} must be a SHA-256 in hex")
    return bytes.fromhex(value)


def _read_data(value: JsonValue, name: str) -> bytes:
    try:
        return base64.b64decode(value if isinstance(value, str) else "?", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInputError(f"{name} must be base64") from None


def _read_object(value: JsonValue, name: str) -> str:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name} must be an object")
    _check_depth(value, name)
    return dump_json(value)


def _check_depth(value: JsonObject, name: str) -> None:
    """Deeper values could be stored, but not every JSON reader could read them again."""
    level: list[JsonValue] = [value]
    for _ in range(_DEPTH_LIMIT):
        inner: list[JsonValue] = []
        for item in level:
            if isinstance(item, Mapping):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        if not inner:
            return
        level = inner
    raise LimitExceededError(f"{name} is nested deeper than {_DEPTH_LIMIT} levels")


TEXT = text()
NAME = text(1_000)
COUNT = count()
EVENT_NUMBER = count(2**63 - 1)
"""The number of the event that set a mark, such as `pruned`."""
LARGE_COUNT = count(2**62)
ULID = FieldType(_read_ulid)
FLAG = FieldType(_read_flag)
TIME = FieldType(_read_time, iso_moment)
DIGEST = FieldType(_read_digest, bytes.hex)
HEX_DIGEST = FieldType(lambda value, name: _read_digest(value, name).hex())
"""The same, stored in hex."""
DATA = FieldType(_read_data, lambda data: base64.b64encode(data).decode())
OBJECT = FieldType(_read_object, orjson.loads)
"""A JSON object, stored as text."""
