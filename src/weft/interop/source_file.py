"""Files to import: one file, a folder, a zip or standard input, read within limits, as JSON or as text."""

import contextlib
import mmap
import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

import orjson

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError
from weft.interop.lenient_json import lenient_loads
from weft.interop.media_files import NO_MEDIA, MediaFiles, media_of_folder, media_of_zip
from weft.tree.json import JsonValue

_FILE_LIMIT = 4 * 1024 * 1024 * 1024
_VALUE_LIMIT = 512 * 1024 * 1024
"""Bytes of one JSON value that is parsed at once."""
_MEMBERS = 20_000
_RATIO_LIMIT = 250
_FREE_BYTES = 64 * 1024 * 1024
_SAMPLED = 40
_HEAD = 64 * 1024
_DEPTH = 200
_COPIED = 1024 * 1024
_READABLE = {".json", ".jsonl", ".md", ".markdown", ".txt", ".ndjson", ""}
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
_NOT_SPACE = re.compile(rb"[^ \t\r\n\x00]")
_RESPONSES = "model_responses*.json"
"""pyloom keeps what models answered in files of their own."""
_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """A JSON value of a file, and where it is."""

    place: str
    value: JsonValue
    start: int = 0
    """Its first byte in the file."""


class SourceFile:
    """One file of another program, opened for reading."""

    def __init__(self, name: str, data: "bytes | mmap.mmap", media: MediaFiles = NO_MEDIA) -> None:
        self.name = name
        self.media = media
        """Pictures that are in the same folder or zip."""
        self.beside: Sequence[SourceFile] = ()
        """The other files of the folder or zip, itself among them; of a file alone, those that belong to it."""
        self._data = data

    @property
    def base_name(self) -> str:
        return PurePosixPath(self.name).name

    @property
    def size(self) -> int:
        return len(self._data)

    @cached_property
    def _start(self) -> int:
        at = len(_BOM) if self._data[: len(_BOM)] == _BOM else 0
        while at < self.size and self._data[at] in _SPACE:
            at += 1
        return at

    @cached_property
    def is_array(self) -> bool:
        return self._data[self._start : self._start + 1] == b"["

    @cached_property
    def is_lines(self) -> bool:
        """True if the first line is a JSON object by itself and something follows it."""
        if self._data[self._start : self._start + 1] != b"{":
            return False
        end = self._data.find(b"\n", self._start)
        follows = end >= 0 and _NOT_SPACE.search(self._data, end) is not None
        return follows and _is_json(self._data[self._start : end])

    @cached_property
    def is_json(self) -> bool:
        return self._data[self._start : self._start + 1] in {b"[", b"{"}

    @cached_property
    def head(self) -> str:
        """The beginning as text."""
        return self._data[self._start : self._start + _HEAD].decode("utf-8", errors="replace")

    @cached_property
    def sample(self) -> Sequence[JsonValue]:
        """The first values: elements of a list, lines, or the one object."""
        values: list[JsonValue] = []
        with contextlib.suppress(InvalidInputError):
            for placed in self.values():
                values.append(placed.value)
                if len(values) == _SAMPLED:
                    break
        return values

    def forget_sample(self) -> None:
        """Release the first values: of a file with one value they are all of it."""
        self.__dict__.pop("sample", None)

    def require_readable(self) -> None:
        """Refuse a file that begins like JSON and is not, and one in another encoding."""
        if self._data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
            raise self._wrong("is UTF-16, not UTF-8, at line 1, byte 0")
        if self.is_json and not self.sample:
            next(self.values(), None)

    def lines_between(self, start: int, end: int) -> int:
        """How many lines end between two bytes."""
        steps = range(start, end, _COPIED)
        return sum(self._data[each : min(end, each + _COPIED)].count(b"\n") for each in steps)

    def _place_of(self, at: int) -> str:
        return f"line {1 + self.lines_between(0, at):,}, byte {at:,}"

    def text(self) -> str:
        """The whole file as text."""
        try:
            return self._data[self._start :].decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._wrong(f"is not UTF-8 at {self._place_of(self._start + error.start)}") from None

    def values(self) -> Iterator[PlacedValue]:
        """The elements of a list, the lines of a JSONL file, or the one value, each parsed by itself."""
        if self.is_lines:
            yield from self._lines()
        elif self.is_array:
            yield from self._elements()
        elif self.is_json:
            yield PlacedValue("", self._parsed(self._start, self.size, ""), self._start)
        else:
            raise self._wrong("is not JSON")

    def _lines(self) -> Iterator[PlacedValue]:
        at, number = self._start, 1 + self._data[: self._start].count(b"\n")
        while at < self.size:
            end = self._data.find(b"\n", at)
            end = self.size if end < 0 else end
            if self._data[at:end].strip():
                yield PlacedValue(f"line {number:,}", self._parsed(at, end, f"line {number:,}"), at)
            at, number = end + 1, number + 1

    def _elements(self) -> Iterator[PlacedValue]:
        depth, start, end, number = 0, 0, self._start + 1, 0
        for token in _TOKENS.finditer(self._data, self._start):
            sign = self._data[token.start()]
            if sign in b"[{":
                depth += 1
                if depth == 2:
                    start = token.start()
                    self._require_separator(end, start)
                elif depth > _DEPTH:
                    raise self._wrong(f"is nested deeper than {_DEPTH} levels")
            elif sign in b"]}":
                depth -= 1
                if depth == 1:
                    end = token.end()
                    yield PlacedValue(f"[{number}]", self._parsed(start, end, f"[{number}]"), start)
                    number += 1
                elif depth == 0:
                    self._require_separator(end, token.start())
                    if _NOT_SPACE.search(self._data, token.end()):
                        raise self._wrong(
                            f"goes on after its list has ended, at {self._place_of(token.end())}"
                        )
                    return
        raise self._wrong(f"ends in the middle of its list, after {number:,} entries")

    def _require_separator(self, start: int, end: int) -> None:
        """Between two entries there is a comma; values that are no objects are passed over."""
        if not _is_json(
            b"[0" + self._data[start:end].strip().strip(b",").join((b",", b",0]")).replace(b",,", b",")
        ):
            raise self._wrong(f"is not valid JSON at {self._place_of(start)}")

    def _parsed(self, start: int, end: int, place: str) -> JsonValue:
        if end - start > _VALUE_LIMIT:
            raise LimitExceededError(f"{self.name}: a value of {end - start:,} bytes is too large")
        data = self._data[start:end]
        try:
            return cast("JsonValue", orjson.loads(data))
        except orjson.JSONDecodeError as error:
            with contextlib.suppress(ValueError):
                return lenient_loads(data)
            where = f" {place}" if place else ""
            raise self._wrong(
                f"{where.strip()} is not valid JSON at {self._place_of(start + error.pos)}".strip()
            ) from None

    def _wrong(self, words: str) -> InvalidInputError:
        return InvalidInputError(f"{self.name} {words}", hint="export it again; nothing was imported")


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


@contextlib.contextmanager
def opened_files(path: Path, name: str = "") -> Generator[list[SourceFile]]:
    """The files at a path: itself, those of a folder, or those in a zip; `name` is what to call it."""
    with contextlib.ExitStack() as stack:
        if path.is_dir():
            readable, others = _files_below(path)
            media = media_of_folder((str(each.relative_to(path)), each) for each in others)
            files = [_mapped(stack, each, str(each.relative_to(path)), media) for each in readable]
        elif not path.exists():
            raise NotFoundError(f"there is no file {path}")
        elif zipfile.is_zipfile(path):
            files = _members(stack, path, name or path.name)
        else:
            files = [_mapped(stack, path, name or path.name)]
            belonging = [_mapped(stack, each, each.name) for each in _belonging(path)]
            if files[0] is not None:
                files[0].beside = [each for each in belonging if each is not None]
        found = [file for file in files if file is not None]
        if len(found) > 1:
            for file in found:
                file.beside = found
        yield found


@contextlib.contextmanager
def opened_stream(stream: BinaryIO, name: str = "standard input") -> Generator[list[SourceFile]]:
    """The same of a stream, which is copied to a temporary file first."""
    with tempfile.TemporaryDirectory(prefix="weft-import-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as copy:
            _copy(stream, copy, _FILE_LIMIT, name)
        with opened_files(path, name) as files:
            yield files


def _belonging(path: Path) -> list[Path]:
    """Files beside a file that a program writes with it."""
    if path.suffix.lower() != ".json":
        return []
    return [each for each in sorted(path.parent.glob(_RESPONSES)) if each.is_file() and each != path][
        :_SAMPLED
    ]


def _may_be_read(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in _READABLE


def _files_below(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files that may hold conversations, and the others."""
    readable: list[Path] = []
    others: list[Path] = []
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent) / name
            if stat.S_ISREG(path.lstat().st_mode):
                (readable if _may_be_read(name) else others).append(path)
        if len(readable) + len(others) > _MEMBERS:
            raise LimitExceededError(f"{folder} has more than {_MEMBERS:,} files")
    return readable, others


def _mapped(
    stack: contextlib.ExitStack, path: Path, name: str, media: MediaFiles = NO_MEDIA
) -> SourceFile | None:
    try:
        size = path.stat().st_size
        if size > _FILE_LIMIT:
            raise LimitExceededError(f"{name} has {size:,} bytes, the limit is {_FILE_LIMIT:,}")
        file = stack.enter_context(path.open("rb"))
    except OSError as error:
        raise StorageError(f"cannot read {name}: {error.strerror}") from error
    if not size:
        return SourceFile(name, b"", media)
    data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return SourceFile(name, data, media)


def _members(stack: contextlib.ExitStack, path: Path, shown: str) -> list[SourceFile | None]:
    """The readable files of a zip, unpacked to temporary files; names in it are never used as paths."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weft-import-")))
    files: list[SourceFile | None] = []
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
        members = [each for each in archive.infolist() if not each.is_dir()]
        if len(members) > _MEMBERS:
            raise LimitExceededError(f"{shown} has more than {_MEMBERS:,} files")
        left = max(_FREE_BYTES, path.stat().st_size * _RATIO_LIMIT)
        whole = [each for each in members if not stat.S_ISLNK(each.external_attr >> 16)]
        readable = [each for each in whole if _may_be_read(each.filename)]
        media = media_of_zip(archive, [each for each in whole if not _may_be_read(each.filename)])
        for index, member in enumerate(readable):
            copy = folder / str(index)
            with archive.open(member) as packed, copy.open("wb") as unpacked:
                left -= _copy(cast("BinaryIO", packed), unpacked, min(left, _FILE_LIMIT), shown)
            files.append(_mapped(stack, copy, member.filename, media))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise InvalidInputError(
            f"{shown} is not a readable zip: {error}", hint="nothing was imported"
        ) from None
    return files


def _copy(source: BinaryIO, target: BinaryIO, limit: int, name: str) -> int:
    total = 0
    while chunk := source.read(_COPIED):
        total += len(chunk)
        if total > limit:
            raise LimitExceededError(
                f"{name} unpacks to more than {limit:,} bytes", hint="nothing was imported"
            )
        target.write(chunk)
    return total
