"""Typed reading of a record from a file that nobody vouches for; every error names line and field."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from weft.errors import InvalidInputError, LimitExceededError
from weft.ids import is_ulid
from weft.interop.weft_json import Line
from weft.tree.content import CONTENT_LIMIT, JsonObject, JsonValue, check_text
from weft.tree.wire import to_microseconds

__all__ = ["Fields"]

T = TypeVar("T")

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_DEPTH_LIMIT = 64
_INTEGER = 2**31 - 1
_LARGE = 2**63 - 1


class Fields:
    """One JSON object. What it holds must all be asked for: nothing is silently dropped."""

    def __init__(self, value: JsonValue, where: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{where} must be an object")
        self.where = where
        self._value = value
        self._seen: set[str] = set()

    @classmethod
    def of(cls, line: Line) -> "Fields":
        return cls(line.record, f"line {line.number:,}")

    def get(self, name: str) -> JsonValue:
        self._seen.add(name)
        return self._value.get(name)

    def done(self) -> None:
        unknown = self._value.keys() - self._seen
        if unknown:
            raise InvalidInputError(
                f"{self.where}: {min(unknown)[:60]!r} is not known here",
                hint="the file may come from a newer Weft; nothing is dropped silently",
            )

    def wrong(self, what: str, *, hint: str | None = None) -> InvalidInputError:
        return InvalidInputError(f"{self.where}: {what}", hint=hint)

    def text(self, name: str, *, limit: int = CONTENT_LIMIT) -> str:
        value = self.get(name)
        if not isinstance(value, str):
            raise self.wrong(f"{name} must be a string")
        return check_text(value, what=f"{self.where}: {name}", limit=limit)

    def optional_text(self, name: str, *, limit: int = CONTENT_LIMIT) -> str | None:
        return None if self.get(name) is None else self.text(name, limit=limit)

    def ulid(self, name: str) -> str:
        value = self.get(name)
        if not isinstance(value, str) or not is_ulid(value):
            raise self.wrong(f"{name} must be a ULID")
        return value

    def optional_ulid(self, name: str) -> str | None:
        return None if self.get(name) is None else self.ulid(name)

    def count(self, name: str, *, limit: int = _INTEGER) -> int:
        value = self.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= limit:
            raise self.wrong(f"{name} must be a whole number between 0 and {limit:,}")
        return value

    def optional_count(self, name: str, *, limit: int = _INTEGER) -> int | None:
        return None if self.get(name) is None else self.count(name, limit=limit)

    def optional_mark(self, name: str) -> int | None:
        """The number of the event that put a mark."""
        return self.optional_count(name, limit=_LARGE)

    def flag(self, name: str) -> bool:
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(f"{name} must be true or false")
        return bool(value)

    def time(self, name: str) -> int:
        value = self.get(name)
        if isinstance(value, str) and _TIME.match(value):
            try:
                return to_microseconds(datetime.fromisoformat(value[:-1]).replace(tzinfo=UTC))
            except ValueError:
                pass
        raise self.wrong(f"{name} must be a time such as 2026-01-31T12:00:00.000000Z")

    def optional_time(self, name: str) -> int | None:
        return None if self.get(name) is None else self.time(name)

    def digest(self, name: str) -> bytes:
        value = self.get(name)
        if not isinstance(value, str) or _DIGEST.match(value) is None:
            raise self.wrong(f"{name} must be a SHA-256 in hex")
        return bytes.fromhex(value)

    def optional_digest(self, name: str) -> bytes | None:
        return None if self.get(name) is None else self.digest(name)

    def data(self, name: str) -> bytes:
        value = self.get(name)
        try:
            return base64.b64decode(value if isinstance(value, str) else "?", validate=True)
        except (binascii.Error, ValueError):
            raise self.wrong(f"{name} must be base64") from None

    def choice(self, name: str, options: Sequence[T]) -> T:
        value = self.get(name)
        for option in options:
            if isinstance(value, str) and str(option) == value:
                return option
        raise self.wrong(f"{name} must be one of {', '.join(map(str, options))}")

    def many(self, name: str, *, limit: int) -> list["Fields"]:
        """A list of objects, each with its place."""
        return [
            Fields(item, f"{self.where}: {name}[{index}]")
            for index, item in enumerate(self.values(name, limit=limit))
        ]

    def values(self, name: str, *, limit: int) -> Sequence[JsonValue]:
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong(f"{name} must be a list")
        if len(value) > limit:
            raise LimitExceededError(
                f"{self.where}: {name} has {len(value):,} entries, the limit is {limit:,}"
            )
        return value

    def object(self, name: str) -> JsonObject:
        value = self.get(name)
        if not isinstance(value, Mapping):
            raise self.wrong(f"{name} must be an object")
        self._check_depth(name, value)
        return value

    def _check_depth(self, name: str, value: JsonValue) -> None:
        """What is nested too deep could be kept, but not be read again everywhere."""
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
        raise LimitExceededError(f"{self.where}: {name} is nested deeper than {_DEPTH_LIMIT} levels")
