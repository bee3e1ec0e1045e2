"""How values are written in a record."""

import base64
import gzip
import zlib
from collections.abc import Iterator
from typing import Any

from weft.errors import StorageError
from weft.interop.weft_json import Record
from weft.tree.content import JsonValue
from weft.tree.wire import from_microseconds, iso

__all__ = ["base64_of", "compact", "hex_of", "in_parts", "item_record", "time_of", "unpack"]

_PART = 3 * 256 * 1024
"""Bytes in one record of a body or blob; a multiple of three, so that base64 does not pad between."""


def unpack(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise StorageError("a stored body is damaged", hint="restore a backup") from error


def in_parts(record: str, name: str, data: bytes) -> Iterator[Record]:
    """Bytes in pieces: a line stays short whatever they are."""
    for start in range(0, max(1, len(data)), _PART):
        part: Record = {"record": record, "sha256": name, "size": len(data)}
        if start:
            part["offset"] = start
        part["data"] = base64_of(data[start : start + _PART])
        yield part


def item_record(row: Any) -> Record:
    return compact(
        id=row.id,
        type=row.type,
        sha256=row.sha256.hex(),
        recoverable=None if row.recoverable else False,
        about=row.about,
        attachedBy=row.attached_by,
        detachedBy=row.detached_by,
    )


def compact(**fields: JsonValue) -> Record:
    return {name: value for name, value in fields.items() if value is not None}


def time_of(value: int | None) -> str | None:
    return None if value is None else iso(from_microseconds(value))


def hex_of(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()
