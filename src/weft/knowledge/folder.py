"""A folder of notes: list it and read its files, never anything outside it."""

import contextlib
import errno
import hashlib
import os
import stat
import struct
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError

NOTE_LIMIT = 32 * 1024 * 1024
"""Bytes of one note."""
PICTURE_LIMIT = 20 * 1024 * 1024
"""Bytes of one embedded picture: the providers' maximum."""
FILE_LIMIT = 100_000
"""Notes in a folder."""
_DEPTH_LIMIT = 64
_ENTRY_LIMIT = 1_000_000
"""Entries that are examined, notes or not."""
_NOTES = (".md", ".markdown", ".txt")
_NAMED = frozenset({"file", "link", "other"})
_PROBLEMS = {
    "link": "it is a link: the note is indexed at its own path",
    "out": "it is a link to a file outside the folder, or cannot be read",
    "other": "it is not a file",
}
_HINT = "a vault gives access to its folder only"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers of a frame, which holds the size."""
_LONE = frozenset({0x01, *range(0xD0, 0xD8)})
"""JPEG markers without a length."""


class File(NamedTuple):
    """A file as it is now."""

    path: str
    """Within the folder, with slashes."""
    data: bytes
    digest: bytes
    """SHA-256 of the data."""
    created: float | None
    """None if the file system does not record it."""
    modified: float


class FolderListing(NamedTuple):
    """The notes of a folder, by path."""

    paths: tuple[str, ...]
    left_out: int
    """Links to files outside the folder, names that are not Unicode, and unreadable entries."""


class ScannedFile(NamedTuple):
    """A file that is a note by name, without its content."""

    path: str
    stamp: str
    """Another one, as soon as the file was written to or replaced."""
    size: int
    modified: float
    problem: str | None = None
    """Why it must not be read, if so."""


class Measured(NamedTuple):
    """The type and size of a picture."""

    mime_type: str
    width: int
    height: int


def is_note(path: str) -> bool:
    return path.lower().endswith(_NOTES)


def _is_unicode(name: str) -> bool:
    """True if a name can be stored and sent; Python gives other bytes of a file system as surrogates."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder by its real path: links in it are resolved when it is mounted."""

    root: Path

    @classmethod
    def at(cls, path: str | Path) -> "Folder":
        """The folder at a path, if it exists and can be read."""
        try:
            root = Path(path).expanduser().resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise NotFoundError(
                f"there is no folder {str(path)[:200]!r}", hint="name an existing folder"
            ) from None
        if not root.is_dir():
            raise InvalidInputError(f"{root} is not a folder", hint="a vault is a folder of notes")
        if root == Path(root.anchor):
            raise InvalidInputError(
                "the whole file system cannot be a vault", hint="name the folder of your notes"
            )
        if not os.access(root, os.R_OK | os.X_OK):
            raise StorageError(f"{root} cannot be read", hint="check its permissions")
        return cls(root)

    def notes(self, under: str = "") -> FolderListing:
        """Every note in the folder, or in a folder inside it, in the order of their paths.

        Hidden files and folders that are links are left out: what a link leads to is listed at its own
        path, if that is in the folder.
        """
        start = self._inside(under) if under.strip("/") else self.root
        if not start.is_dir() and start != self.root:
            raise InvalidInputError(f"{under[:200]!r} is not a folder", hint="name a folder of the vault")
        paths: list[str] = []
        left_out = 0
        for path, _, kind in self._listed(start):
            if kind == "out":
                left_out += 1
            elif kind != "other":
                paths.append(path)
        return FolderListing(tuple(sorted(paths)), left_out)

    def scan(self) -> list[ScannedFile]:
        """Every file that is a note by name, links included, with what tells whether it was changed."""
        files: list[ScannedFile] = []
        for path, entry, kind in self._listed(self.root):
            if kind == "out" and not (is_note(entry.name) and _is_unicode(path)):
                continue
            try:
                about = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            stamp = f"{about.st_size}:{about.st_mtime_ns}:{about.st_ctime_ns}:{about.st_ino}"
            problem = _PROBLEMS.get(kind)
            if problem is None and about.st_size > NOTE_LIMIT:
                problem = f"it has {about.st_size:,} bytes, the limit is {NOTE_LIMIT:,}"
            files.append(ScannedFile(path, stamp, about.st_size, about.st_mtime, problem))
        return files

    def read(self, path: str, *, limit: int = NOTE_LIMIT, scanned: bool = False) -> File:
        """A file as it is now. A path to a file outside the folder, links resolved, is refused.

        A `scanned` path is one that `scan` gave: no link is on it, and none is followed if there is one now.
        """
        parts = path.split("/") if scanned else self._inside(path).relative_to(self.root).parts
        if any(part.startswith(".") or not part for part in parts):
            raise InvalidInputError(f"{path[:200]!r} is hidden, and not part of the vault", hint=_HINT)
        with self._opened(parts, path) as (file, about):
            if about.st_size > limit:
                raise LimitExceededError(f"{path} has {about.st_size:,} bytes, the limit is {limit:,}")
            # One byte more than the limit shows whether the file has grown since.
            data = b""
            while len(data) <= limit and (piece := os.read(file, min(1 << 20, limit + 1 - len(data)))):
                data += piece
        if len(data) > limit:
            raise LimitExceededError(f"{path} has more than {limit:,} bytes")
        return File(
            path, data, hashlib.sha256(data).digest(), getattr(about, "st_birthtime", None), about.st_mtime
        )

    def named(self, name: str) -> tuple[str, ...]:
        """Paths of all files with this name, in any folder: embeds may name a file without its folder."""
        walked = islice(self._walk(self.root), _ENTRY_LIMIT)
        named = (path for path, entry, kind in walked if entry.name == name and kind in {"file", "link"})
        return tuple(sorted(named))

    def locate(self, path: str) -> None:
        """Refuse a path that is not a file in the folder."""
        if not self._inside(path).is_file():
            raise NotFoundError(f"{path[:200]!r} is not a file in {self.root}")

    def has(self, path: str) -> bool:
        """True if the folder has a file of that path."""
        try:
            return self._inside(path).is_file()
        except (InvalidInputError, NotFoundError):
            return False

    def has_folder(self, path: str) -> bool:
        """True if the folder has a folder of that path; a path outside it is refused."""
        try:
            return self._inside(path).is_dir()
        except NotFoundError:
            return False

    def _listed(self, start: Path) -> Iterator[tuple[str, os.DirEntry[str], str]]:
        """What `_walk` gives of notes by name, and all that must not be followed; up to the limits of a vault."""
        notes = 0
        for number, each in enumerate(self._walk(start)):
            if number == _ENTRY_LIMIT:
                raise LimitExceededError(f"{self.root} has more than {_ENTRY_LIMIT:,} files")
            kind = each[2]
            if kind in _NAMED and is_note(each[0]):
                notes += 1
                if notes > FILE_LIMIT:
                    raise LimitExceededError(
                        f"{self.root} has more than {FILE_LIMIT:,} notes", hint="mount a folder inside it"
                    )
                yield each
            elif kind == "out":
                yield each

    def _walk(self, start: Path) -> Iterator[tuple[str, os.DirEntry[str], str]]:
        """Everything below a folder by path, with its kind; hidden files and folders are of the kind `hidden`.

        A `link` leads to a file in the folder; `out` is all that must not be followed or cannot be read.
        """
        begin = "" if start == self.root else f"{start.relative_to(self.root).as_posix()}/"
        folders = [(begin, start, 0)]
        while folders:
            above, place, depth = folders.pop()
            for entry in self._entries(place):
                kind = "hidden" if entry.name.startswith(".") else self._kind(entry)
                path = above + entry.name
                if kind == "folder" and depth < _DEPTH_LIMIT:
                    folders.append((f"{path}/", Path(entry.path), depth + 1))
                yield path, entry, kind

    def _entries(self, place: Path) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(place) as entries:
                yield from sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if place == self.root:
                raise StorageError(
                    f"the folder {self.root} cannot be read: {error.strerror}",
                    hint="check that it still exists",
                ) from error

    def _kind(self, entry: os.DirEntry[str]) -> str:
        if not _is_unicode(entry.name):
            return "out"
        try:
            if entry.is_symlink():
                real = Path(entry.path).resolve(strict=True)
                inside = real.is_relative_to(self.root)
                return ("link" if real.is_file() else "other") if inside else "out"
            return "folder" if entry.is_dir() else "file" if entry.is_file() else "other"
        except (OSError, RuntimeError):
            return "out"

    def _inside(self, path: str) -> Path:
        """The real path of a file or folder in the folder."""
        if not path or "\x00" in path:
            raise InvalidInputError("the path is empty or has a NUL character")
        if not _is_unicode(path):
            raise InvalidInputError(f"{path[:200]!r} is not Unicode", hint="rename the file")
        if Path(path).is_absolute() or ".." in path.replace("\\", "/").split("/"):
            raise InvalidInputError(f"{path[:200]!r} leads out of its vault", hint=_HINT)
        try:
            real = (self.root / path).resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(f"there is no {path[:200]!r} in {self.root}") from None
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or "its links form a loop"
            raise NotFoundError(f"{path[:200]!r} cannot be read in {self.root}: {reason}") from None
        if real == self.root or not real.is_relative_to(self.root):
            raise InvalidInputError(f"{path[:200]!r} leads out of its vault", hint=_HINT)
        if any(part.startswith(".") for part in real.relative_to(self.root).parts):
            raise InvalidInputError(f"{path[:200]!r} is hidden, and not part of the vault", hint=_HINT)
        return real

    @contextlib.contextmanager
    def _opened(self, parts: Sequence[str], path: str) -> Generator[tuple[int, os.stat_result]]:
        """Open folder by folder from the root, following no link: one could have been put there since."""
        *folders, name = parts
        descriptors: list[int] = []
        try:
            try:
                descriptors.append(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY))
                for folder in folders:
                    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                    descriptors.append(os.open(folder, flags, dir_fd=descriptors[-1]))
                # A pipe in a vault must not block.
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                descriptors.append(os.open(name, flags, dir_fd=descriptors[-1]))
            except OSError as error:
                if error.errno == errno.ENOENT:
                    raise NotFoundError(f"there is no {path[:200]!r} in {self.root}") from None
                if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                    raise NotFoundError(f"{path[:200]!r} changed while it was opened") from None
                raise StorageError(f"{path[:200]!r} cannot be read: {error.strerror}") from error
            about = os.fstat(descriptors[-1])
            if not stat.S_ISREG(about.st_mode):
                raise InvalidInputError(f"{path[:200]!r} is not a file")
            yield descriptors[-1], about
        finally:
            for each in reversed(descriptors):
                os.close(each)


def measure_picture(data: bytes) -> Measured | None:
    """Type and size of a PNG, JPEG, GIF or WebP, from its first bytes; None for anything else."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return Measured("image/png", *struct.unpack(">II", data[16:24]))
        if data.startswith((b"GIF87a", b"GIF89a")):
            return Measured("image/gif", *struct.unpack("<HH", data[6:10]))
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
    except (struct.error, IndexError):
        pass
    return None


def _jpeg(data: bytes) -> Measured | None:
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _LONE:
            at += 2
        elif marker in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Measured("image/jpeg", width, height)
        else:
            at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def _webp(data: bytes) -> Measured | None:
    kind = data[12:16]
    if kind == b"VP8X":
        wide, high = data[24:27] + b"\0", data[27:30] + b"\0"
        return Measured("image/webp", struct.unpack("<I", wide)[0] + 1, struct.unpack("<I", high)[0] + 1)
    if kind == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        return Measured("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return Measured("image/webp", width & 0x3FFF, height & 0x3FFF)
    return None
