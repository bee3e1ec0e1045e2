"""What every store offers: consistent reading, and writing as whole transactions."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from weft.errors import InvalidInputError, StorageError, UnavailableError
from weft.store.blobs import BlobStore
from weft.store.session import Session
from weft.store.transaction import Transaction

T = TypeVar("T")
_watching = threading.Lock()


def require_same_process(process: int, name: str) -> None:
    """Connections and locks belong to the process that opened the grove; a forked child has neither."""
    if process != os.getpid():
        raise UnavailableError(
            f"{name} was opened before this process was forked",
            hint="close it before forking, or start processes by spawn",
        )


class Store(ABC):
    """A grove's database and its blobs."""

    blobs: BlobStore
    read_only: bool = False
    """True if nothing can be written: the file or its folder belongs to others, or to read-only media."""
    background: bool = True
    """Whether this process may work on it of its own accord, as indexing does."""
    watchers: tuple[Callable[[], None], ...] = ()
    """Called after what this process committed through the executor; they only take note."""

    def watch(self, watcher: Callable[[], None]) -> None:
        with _watching:
            self.watchers = (*self.watchers, watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        with _watching:
            self.watchers = tuple(other for other in self.watchers if other != watcher)

    @property
    @abstractmethod
    def name(self) -> str:
        """The path or address, without secrets."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Session]:
        """A consistent view for reading."""

    @abstractmethod
    def write(self, work: Callable[[Transaction], T], *, tree: str | None = None) -> T:
        """Run `work` in one transaction; return when it is durable.

        `work` may be run again after a conflict, so it must not change anything
        but through the transaction. Short work on one tree says which, by its ULID:
        then it may share its commit with others.
        """

    def purge(self) -> bool:
        """Leave no trace of deleted rows in the store's files; whether none is left.

        What cannot be done now, because the old state is still being read, is done later.
        """
        return True

    @abstractmethod
    def copy_file(self, path: Path, progress: Callable[[int, int], None]) -> bool:
        """Copy the database, as it is at this moment, to a SQLite file; False where it is not a file itself."""

    def refuse_own_file(self, path: Path) -> None:
        """Only the store itself may open its file, or replace it."""
        if self.is_own_file(path):
            raise InvalidInputError(f"{path} is the grove itself", hint="name another file")

    def is_own_file(self, path: Path) -> bool:
        """True if a path names, by any link, the file that the grove is in."""
        del path
        return False

    @abstractmethod
    def find_damage(self, session: Session) -> list[str]:
        """What the database itself finds wrong: pages, and indexes that disagree with their tables.

        Raises `UnavailableError` where this database cannot check that.
        """

    @abstractmethod
    def close(self) -> None: ...


class Snapshot(Store):
    """A store as one session sees it: all reads share its connection, so none waits for another one."""

    read_only = True

    def __init__(self, store: Store, session: Session) -> None:
        self._store = store
        self._session = session
        self.blobs = store.blobs

    @property
    def name(self) -> str:
        return self._store.name

    def read(self) -> AbstractContextManager[Session]:
        return nullcontext(self._session)

    def write(self, work: Callable[[Transaction], T], *, tree: str | None = None) -> T:
        del work, tree
        raise StorageError(f"a snapshot of {self.name} cannot be written")

    def copy_file(self, path: Path, progress: Callable[[int, int], None]) -> bool:
        return self._store.copy_file(path, progress)

    def find_damage(self, session: Session) -> list[str]:
        return self._store.find_damage(session)

    def close(self) -> None:
        """The session is closed where it was opened."""


class HealthLevel(StrEnum):
    GOOD = "good"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One thing that was looked at."""

    level: HealthLevel
    about: str
    words: str
    hint: str | None = None


def good(about: str, words: str) -> HealthCheck:
    return HealthCheck(HealthLevel.GOOD, about, words)


def note(about: str, words: str, hint: str | None = None) -> HealthCheck:
    return HealthCheck(HealthLevel.NOTE, about, words, hint)


def wrong(about: str, words: str, hint: str | None = None) -> HealthCheck:
    return HealthCheck(HealthLevel.WRONG, about, words, hint)
