"""What every store offers: consistent reading, and writing as whole transactions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from weft.store.blobs import BlobStore
from weft.store.session import Session
from weft.store.transaction import Transaction

__all__ = ["Store"]

T = TypeVar("T")


class Store(ABC):
    """A grove's database and its blobs."""

    blobs: BlobStore
    background: bool = True
    """Whether this process may work on it of its own accord, as indexing does."""
    watchers: tuple[Callable[[], None], ...] = ()
    """Called after what this process committed through the gate; they only take note."""

    def watch(self, watcher: Callable[[], None]) -> None:
        self.watchers = (*self.watchers, watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        self.watchers = tuple(other for other in self.watchers if other != watcher)

    @property
    @abstractmethod
    def name(self) -> str:
        """The path or address, without secrets."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Session]:
        """A consistent view for reading."""

    @abstractmethod
    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one transaction; return when it is durable.

        `work` may be run again after a conflict, so it must not change anything
        but through the transaction.
        """

    def purge(self) -> bool:
        """Leave no trace of deleted rows in the store's files; whether none is left.

        What cannot be done now, because somebody still reads the old state, is done later.
        """
        return True

    @abstractmethod
    def copy_file(self, path: Path, progress: Callable[[int, int], None]) -> bool:
        """Copy the database, as it is at this moment, to a SQLite file; False where it is not a file itself."""

    @abstractmethod
    def find_damage(self, session: Session) -> list[str]:
        """What the database itself finds wrong: pages, and indexes that disagree with their tables.

        Raises `UnavailableError` where this database cannot check that.
        """

    @abstractmethod
    def close(self) -> None: ...
