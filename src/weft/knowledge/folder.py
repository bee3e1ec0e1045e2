"""A folder of notes: listed, and read fresh; nothing outside of it, whatever links say."""

import contextlib
import errno
import os
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError

NOTE_LIMIT = 32 * 1024 * 1024
"""Bytes of one note."""
PICTURE_LIMIT = 20 * 1024 * 1024
"""Bytes of one embedded picture: what providers take at most."""
FILE_LIMIT = 100_000
"""Notes that a folder may have."""
_DEPTH_LIMIT = 64
_ENTRY_LIMIT = 1_000_000
"""Entries that are looked at, notes or not."""
_NOTES = (".md", ".markdown", ".txt")
_HINT = "a vault gives what lies in its folder, and nothing else"


class File(NamedTuple):
    """A file as it is at this moment."""

    path: str
    """Within the folder, with slashes."""
    data: bytes
    created: float | None
    """Where the file system knows it."""
    modified: float


class FolderListing(NamedTuple):
    """The notes of a folder, by path."""

    paths: tuple[str, ...]
    left_out: int
    """Links that lead out of the folder, names that are not Unicode, and what could not be looked at."""


def is_note(path: str) -> bool:
    return path.lower().endswith(_NOTES)


def _is_unicode(name: str) -> bool:
    """Whether a name can be sent and kept: a file system may have others, which Python gives as surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder by its real path: links on the way to it are resolved when it is mounted."""

    root: Path

    @classmethod
    def at(cls, path: str | Path) -> "Folder":
        """The folder at a path, if there is one that can be looked into."""
        try:
            root = Path(path).expanduser().resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise NotFoundError(
                f"there is no folder {str(path)[:200]!r}", hint="name a folder that is there"
            ) from None
        if not root.is_dir():
            raise InvalidInputError(f"{root} is not a folder", hint="a vault is a folder of notes")
        if root == Path(root.anchor):
            raise InvalidInputError("the whole file system is no vault", hint="name the folder of your notes")
        if not os.access(root, os.R_OK | os.X_OK):
            raise StorageError(f"{root} cannot be looked into", hint="check its permissions")
        return cls(root)

    def notes(self, under: str = "") -> FolderListing:
        """Every note in the folder, or in one inside it, in the order of their paths.

        What begins with a dot is left out, as are folders that are links: what they lead to is
        listed where it is, if that is in here.
        """
        start = self._inside(under) if under.strip("/") else self.root
        if not start.is_dir() and start != self.root:
            raise InvalidInputError(f"{under[:200]!r} is not a folder", hint="name a folder of the vault")
        found: list[str] = []
        left_out = looked = 0
        waiting = [(start, 0)]
        while waiting:
            place, depth = waiting.pop()
            for entry in self._entries(place):
                looked += 1
                if looked > _ENTRY_LIMIT:
                    raise LimitExceededError(f"{self.root} has more than {_ENTRY_LIMIT:,} files")
                if entry.name.startswith("."):
                    continue
                kind = self._kind(entry)
                if kind == "folder" and depth < _DEPTH_LIMIT:
                    waiting.append((Path(entry.path), depth + 1))
                elif kind == "file" and is_note(entry.name):
                    found.append(Path(entry.path).relative_to(self.root).as_posix())
                elif kind == "out":
                    left_out += 1
            if len(found) > FILE_LIMIT:
                raise LimitExceededError(
                    f"{self.root} has more than {FILE_LIMIT:,} notes", hint="mount a folder inside it"
                )
        return FolderListing(tuple(sorted(found)), left_out)

    def read(self, path: str, *, limit: int = NOTE_LIMIT) -> File:
        """A file as it is now. A path that leads out, links resolved, is refused."""
        real = self._inside(path)
        with self._opened(real, path) as (file, about):
            if about.st_size > limit:
                raise LimitExceededError(f"{path} has {about.st_size:,} bytes, the limit is {limit:,}")
            # One byte more than allowed tells whether it has grown since.
            data = b""
            while len(data) <= limit and (piece := os.read(file, min(1 << 20, limit + 1 - len(data)))):
                data += piece
        if len(data) > limit:
            raise LimitExceededError(f"{path} has more than {limit:,} bytes")
        return File(path, data, getattr(about, "st_birthtime", None), about.st_mtime)

    def named(self, name: str) -> tuple[str, ...]:
        """Paths of all files with this name, wherever they lie: how embeds without a folder are meant."""
        found: list[str] = []
        waiting = [(self.root, 0)]
        looked = 0
        while waiting and looked < _ENTRY_LIMIT:
            place, depth = waiting.pop()
            for entry in self._entries(place):
                looked += 1
                kind = "hidden" if entry.name.startswith(".") else self._kind(entry)
                if kind == "folder" and depth < _DEPTH_LIMIT:
                    waiting.append((Path(entry.path), depth + 1))
                elif kind == "file" and entry.name == name:
                    found.append(Path(entry.path).relative_to(self.root).as_posix())
        return tuple(sorted(found))

    def locate(self, path: str) -> None:
        """Refuse a path that leads out, or to no file."""
        if not self._inside(path).is_file():
            raise NotFoundError(f"{path[:200]!r} is not a file in {self.root}")

    def has(self, path: str) -> bool:
        """Whether there is a file of that path that may be read."""
        try:
            return self._inside(path).is_file()
        except (InvalidInputError, NotFoundError):
            return False

    def has_folder(self, path: str) -> bool:
        """Whether there is a folder of that path in here; one that leads out is refused."""
        try:
            return self._inside(path).is_dir()
        except NotFoundError:
            return False

    def _entries(self, place: Path) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(place) as entries:
                yield from sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if place == self.root:
                raise StorageError(
                    f"the folder {self.root} cannot be read: {error.strerror}", hint="is it still there?"
                ) from error

    def _kind(self, entry: os.DirEntry[str]) -> str:
        if not _is_unicode(entry.name):
            return "out"
        try:
            if entry.is_symlink():
                real = Path(entry.path).resolve(strict=True)
                inside = real.is_relative_to(self.root)
                return "file" if inside and real.is_file() else "link" if inside else "out"
            return "folder" if entry.is_dir() else "file" if entry.is_file() else "other"
        except (OSError, RuntimeError):
            return "out"

    def _inside(self, path: str) -> Path:
        """The real path of something in the folder."""
        if not path or "\x00" in path:
            raise InvalidInputError("a path is needed, without NUL characters")
        if not _is_unicode(path):
            raise InvalidInputError(f"{path[:200]!r} is not Unicode", hint="rename the file")
        if Path(path).is_absolute() or ".." in path.replace("\\", "/").split("/"):
            raise InvalidInputError(f"{path[:200]!r} leads out of its vault", hint=_HINT)
        try:
            real = (self.root / path).resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(f"there is no {path[:200]!r} in {self.root}") from None
        except (OSError, RuntimeError) as error:
            told = getattr(error, "strerror", None) or "its links go in a circle"
            raise NotFoundError(f"{path[:200]!r} cannot be found in {self.root}: {told}") from None
        if real == self.root or not real.is_relative_to(self.root):
            raise InvalidInputError(f"{path[:200]!r} leads out of its vault", hint=_HINT)
        if any(part.startswith(".") for part in real.relative_to(self.root).parts):
            raise InvalidInputError(f"{path[:200]!r} is hidden, and not part of the vault", hint=_HINT)
        return real

    @contextlib.contextmanager
    def _opened(self, real: Path, path: str) -> Generator[tuple[int, os.stat_result]]:
        """Step by step from the root, following no link: one that was put there meanwhile leads nowhere."""
        steps = real.relative_to(self.root).parts
        held: list[int] = []
        try:
            try:
                held.append(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY))
                for step in steps[:-1]:
                    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                    held.append(os.open(step, flags, dir_fd=held[-1]))
                # Without waiting: a pipe in a vault must not stop anybody.
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                held.append(os.open(steps[-1], flags, dir_fd=held[-1]))
            except OSError as error:
                if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.ENOENT}:
                    raise NotFoundError(f"{path[:200]!r} changed while it was looked for") from None
                raise StorageError(f"{path[:200]!r} cannot be read: {error.strerror}") from error
            about = os.fstat(held[-1])
            if not stat.S_ISREG(about.st_mode):
                raise InvalidInputError(f"{path[:200]!r} is not a file")
            yield held[-1], about
        finally:
            for each in reversed(held):
                os.close(each)
