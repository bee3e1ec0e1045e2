"""Values and times as JSON: snake_case inside, camelCase on the wire and in files, one rule for all."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import cast

from weft.tree.content import Audio, Image, Mixed, Text, Thinking, ToolCall, ToolResult, content_to_wire
from weft.tree.json import JsonValue, camel

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONTENT = (Text, Image, Audio, ToolCall, ToolResult, Thinking, Mixed)


def from_microseconds(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


def to_microseconds(value: datetime) -> int:
    return (value - _EPOCH) // timedelta(microseconds=1)


def iso(value: datetime) -> str:
    """ISO 8601, UTC, microseconds always there, so that equal times are equal texts."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def iso_moment(microseconds: int) -> str:
    """The same of a stored time."""
    second, fraction = divmod(microseconds, 1_000_000)
    return f"{_iso_second(second)}.{fraction:06}Z"


@lru_cache(maxsize=256)
def _iso_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat()[:19]


def to_wire(value: object) -> JsonValue:
    """Any value of the tree as JSON, which has no infinite numbers: they are null, as in JavaScript."""
    if value is None or isinstance(value, bool | int | float) or type(value) is str:
        return None if isinstance(value, float) and not math.isfinite(value) else value
    if isinstance(value, _CONTENT):
        return content_to_wire(value)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Decimal):
        # As words: a float would not be the same amount.
        return format(value, "f")
    if is_dataclass(value):
        return {camel(item.name): to_wire(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        return {str(key): to_wire(inner) for key, inner in mapping.items()}
    if isinstance(value, frozenset | set):
        return sorted(str(inner) for inner in cast("frozenset[object]", value))
    if isinstance(value, Sequence):
        return [to_wire(inner) for inner in cast("Sequence[object]", value)]
    raise TypeError(f"{type(value).__name__} has no wire form")
