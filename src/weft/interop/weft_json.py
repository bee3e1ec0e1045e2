"""Weft's own JSON: one document with one record a line, written and read as a stream.

The first line opens the document; the last one closes it with the number of records and
the SHA-256 of everything before, so that a file that was cut or changed is detected.
A reader holds one line at a time. The same records always give the same bytes.
"""

import contextlib
import gzip
import hashlib
import io
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import orjson

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError
from weft.tree.json import JsonValue

FORMAT = "weft"
VERSION = 1
Record = dict[str, JsonValue]

_LINE_LIMIT = 160 * 1024 * 1024
"""Longer than the longest node with every character escaped."""
_HEAD_LIMIT = 10_000
_FREE_BYTES = 64 * 1024 * 1024
_RATIO_LIMIT = 250
"""How many times larger than its file the unpacked data may be, beyond the first `_FREE_BYTES`."""
_GZIP = b"\x1f\x8b"
_SNIFFED = 200
_HINT = "export it again; Weft writes one record a line, and reads only what it wrote"


class JsonLine(NamedTuple):
    """A record and the number of its line."""

    number: int
    record: Record


class JsonWriter:
    """Writes a document record by record."""

    def __init__(self, file: BinaryIO, scope: str) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.count = 0
        head = {"format": FORMAT, "version": VERSION, "scope": scope}
        self._put(orjson.dumps(head)[:-1] + b',"records":[\n')

    def write(self, record: Record) -> None:
        data = orjson.dumps(record)
        if len(data) > _LINE_LIMIT:
            raise LimitExceededError(f"a record of {len(data):,} bytes is more than a file may hold in one")
        self._put(b",\n" + data if self.count else data)
        self.count += 1

    def close(self) -> None:
        """Write the last line, without which the document is not complete."""
        if self.count:
            self._put(b"\n")
        tail = {"count": self.count, "sha256": self._digest.hexdigest()}
        self._file.write(b"]," + orjson.dumps(tail)[1:] + b"\n")
        self._file.flush()

    def _put(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)


class JsonReader:
    """Reads a document line by line. Errors name the line."""

    def __init__(self, file: BinaryIO, compressed: BinaryIO | None = None) -> None:
        self._file = file
        self._source = compressed or file
        self._digest = hashlib.sha256()
        self._number = 0
        self.scope = self._head()

    @property
    def position(self) -> int:
        """The number of bytes read of the file, compressed if it is."""
        return self._source.tell()

    def __iter__(self) -> Iterator[JsonLine]:
        count, open_end = 0, False
        while True:
            raw = self._line()
            if raw.startswith(b"]"):
                self._close(raw, count, open_end=open_end)
                return
            self._digest.update(raw)
            if count and not open_end:
                raise self._wrong("a comma is missing before this record")
            if not raw.endswith(b"\n"):
                raise self._wrong("the file ends in the middle of a record")
            body = raw[:-1]
            open_end = body.endswith(b",")
            yield JsonLine(self._number, self._record(body[:-1] if open_end else body))
            count += 1

    def _head(self) -> str:
        raw = self._line(_HEAD_LIMIT)
        if not raw.startswith(b"{"):
            raise InvalidInputError("this is not a file in Weft's own JSON", hint=_HINT)
        self._digest.update(raw)
        try:
            head = orjson.loads(raw.rstrip(b"\n") + b"]}")
        except orjson.JSONDecodeError:
            head = None
        if not isinstance(head, dict) or cast("Record", head).get("format") != FORMAT:
            raise InvalidInputError("line 1 does not begin a file in Weft's own JSON", hint=_HINT)
        start = cast("Record", head)
        version = start.get("version")
        if version != VERSION or isinstance(version, bool):
            raise InvalidInputError(
                f"the file has version {str(version)[:20]} of the format, this Weft reads version {VERSION}",
                hint="upgrade Weft, or export again with the version you have",
            )
        scope = start.get("scope")
        if set(start) != {"format", "version", "scope", "records"} or start["records"] != []:
            raise InvalidInputError("line 1 does not begin a file in Weft's own JSON", hint=_HINT)
        if scope not in {"grove", "trees"}:
            raise InvalidInputError("line 1: scope must be grove or trees")
        return str(scope)

    def _close(self, raw: bytes, count: int, *, open_end: bool) -> None:
        if open_end:
            raise self._wrong("a record is missing after the comma")
        try:
            tail = orjson.loads(b"{" + raw[2:])
        except orjson.JSONDecodeError:
            tail = None
        if not raw.startswith(b"],") or not isinstance(tail, dict):
            raise self._wrong("the file's last line is damaged")
        expected = {"count": count, "sha256": self._digest.hexdigest()}
        for name, value in expected.items():
            if cast("Record", tail).get(name) != value:
                raise self._wrong(f"the file was changed or cut: its {name} does not match")
        if set(cast("Record", tail)) != set(expected) or self._read(1):
            raise self._wrong("there is something after the end")

    def _record(self, body: bytes) -> Record:
        try:
            record = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise self._wrong(f"not a JSON value ({error.msg} at column {error.pos + 1:,})") from None
        if not isinstance(record, dict):
            raise self._wrong("a record is a JSON object")
        return cast("Record", record)

    def _line(self, limit: int | None = None) -> bytes:
        self._number += 1
        limit = limit or _LINE_LIMIT
        raw = self._read_line(limit + 1)
        if not raw:
            raise self._wrong("the file ends too early" if self._number > 1 else "the file is empty")
        if len(raw) > limit:
            if self._number == 1:
                raise InvalidInputError("this is not a file in Weft's own JSON", hint=_HINT)
            raise LimitExceededError(f"line {self._number:,} is longer than {limit:,} bytes")
        return raw

    def _read_line(self, limit: int) -> bytes:
        with self._explained():
            return self._file.readline(limit)

    def _read(self, size: int) -> bytes:
        with self._explained():
            return self._file.read(size)

    @contextlib.contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise self._wrong("the compressed file is damaged or cut off") from None
        except OSError as error:
            raise StorageError(f"cannot read the file: {error.strerror or error}") from error

    def _wrong(self, what: str) -> InvalidInputError:
        return InvalidInputError(f"line {self._number:,}: {what}", hint=_HINT)


def begins_as_weft(path: Path) -> bool:
    """Whether a file begins like one of ours, compressed or not."""
    try:
        with path.open("rb") as file:
            head = file.read(2)
            return head == _GZIP or (head + file.read(_SNIFFED)).lstrip().startswith(b'{"format":"weft"')
    except OSError:
        return True


@contextlib.contextmanager
def open_file(path: Path) -> Generator[JsonReader]:
    """Open a file for reading, and unpack it if it is compressed."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}") from None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    with file:
        try:
            packed = file.read(2) == _GZIP
            file.seek(0)
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror}") from error
        if not packed:
            yield JsonReader(file)
            return
        with gzip.GzipFile(fileobj=file) as unpacking:
            unpacked = io.BufferedReader(_LimitedUnpacker(unpacking, file), 1 << 18)
            yield JsonReader(cast("BinaryIO", unpacked), file)


class _LimitedUnpacker(io.RawIOBase):
    """Unpacks a file, and refuses one that unpacks to far more than its size."""

    def __init__(self, unpacking: gzip.GzipFile, packed: BinaryIO) -> None:
        super().__init__()
        self._unpacking = unpacking
        self._packed = packed
        self._unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer)  # pyright: ignore[reportArgumentType] - a writable buffer, says the caller
        data = self._unpacking.read(len(view))
        self._unpacked += len(data)
        if self._unpacked > _FREE_BYTES + _RATIO_LIMIT * self._packed.tell():
            raise LimitExceededError(
                f"the compressed file unpacks to more than {_RATIO_LIMIT} times its size",
                hint="unpack it yourself if you trust it, and import the result",
            )
        view[: len(data)] = data
        return len(data)
