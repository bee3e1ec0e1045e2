"""SQLite: one file, one writer in a process, one lock between processes."""

import contextlib
import sqlite3
import weakref
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from weft.error_hints import Hint, HintKind
from weft.errors import StorageError, UnavailableError
from weft.store import schema
from weft.store.base import Store
from weft.store.blobs import BlobStore, blobs_beside
from weft.store.session import Session
from weft.store.sqlite_dialect import DIALECT
from weft.store.sqlite_errors import explain
from weft.store.sqlite_file import GroveFile, driver_of, file_identity, read_only_engine
from weft.store.transaction import Transaction

T = TypeVar("T")

_COPY_PAGES = 1_000


class SqliteStore(Store):
    """A grove in one file. Stores of the same file share its connections, which the last of them closes."""

    def __init__(self, path: Path, *, timeout: float = 30.0, create: bool = True) -> None:
        path = _real_path(path)
        if not create:
            _require_grove(path)
        self._timeout = timeout
        user = object()
        self._file = GroveFile.use(path, user, timeout)
        self._leave = weakref.finalize(self, self._file.leave, user)
        self._leave.atexit = False
        self._user = user
        self.path = self._file.path
        self.read_only = self._file.read_only
        self.blobs = BlobStore(blobs_beside(self.path))

    @property
    def name(self) -> str:
        return str(self.path)

    def write(self, work: Callable[[Transaction], T]) -> T:
        self._require_open()
        return self._file.write(work, self._timeout)

    def read(self) -> AbstractContextManager[Session]:
        self._require_open()
        return self._file.read(self._timeout)

    def copy_file(self, path: Path, progress: Callable[[int, int], None]) -> bool:
        """Page by page, while others write.

        A read transaction is held meanwhile: the copy is of one moment, and does not begin
        again when others write. It reads only, so no lock is needed.
        """
        with self.read() as session:
            session.execute(select(schema.grove.c.ulid))
            source = driver_of(session.connection)
            target = sqlite3.connect(path, isolation_level=None)
            try:
                # A copy that is cut off is thrown away; one that is whole is synced when it is committed.
                target.execute("PRAGMA synchronous = FULL")
                target.execute("PRAGMA journal_mode = OFF").close()
                source.backup(
                    target, pages=_COPY_PAGES, progress=lambda _, left, total: progress(total - left, total)
                )
            finally:
                target.close()
        return True

    def find_damage(self, session: Session) -> list[str]:
        return find_damage(session)

    def purge(self) -> bool:
        self._require_open()
        return self._file.purge(self._timeout)

    def is_own_file(self, path: Path) -> bool:
        return _real_path(path) == self.path or self._file.is_at(file_identity(path))

    def close(self) -> None:
        if self._leave.detach() is not None:
            self._file.leave(self._user, self._timeout)

    def _require_open(self) -> None:
        if not self._leave.alive:
            raise UnavailableError("the grove is closed", hint="open it again")


@contextlib.contextmanager
def peek(path: Path) -> Generator[Session]:
    """Read a grove file that is not open anywhere, without leaving anything beside it."""
    engine = read_only_engine(path.absolute(), immutable=True, pool=StaticPool)
    try:
        with engine.connect() as connection:
            yield Session(connection, DIALECT)
    except (DBAPIError, sqlite3.Error) as error:
        raise explain(error, path) from error
    finally:
        engine.dispose()


def find_damage(session: Session) -> list[str]:
    """What SQLite itself finds wrong with a file; nothing, if it is sound."""
    driver = driver_of(session.connection)
    lines = [str(row[0]) for row in driver.execute("PRAGMA integrity_check(20)")]
    broken = driver.execute("PRAGMA foreign_key_check").fetchmany(20)
    return [line for line in lines if line != "ok"] + [
        f"row {row[1]} of {row[0]} points to a {row[2]} that is not there" for row in broken
    ]


def _real_path(path: Path) -> Path:
    """Lock and log lie beside the file itself, by whatever links it is reached."""
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise StorageError(f"cannot reach {path}: {error}") from error


def _require_grove(path: Path) -> None:
    """Create nothing where a grove is expected, least of all where one was."""
    if not path.exists():
        raise StorageError(f"there is no grove at {path}", hint=Hint(HintKind.CREATE_GROVE))
    if path.is_file() and not path.stat().st_size:
        raise StorageError(
            f"{path} is empty: there is no grove in it", hint="restore a backup, or name another file"
        )
