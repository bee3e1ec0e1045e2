"""SQLite: one file, one writer in a process, one lock between processes."""

import contextlib
import os
import sqlite3
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from weft.error_hints import Hint, HintKind
from weft.errors import StorageError, UnavailableError
from weft.store import schema
from weft.store.base import HealthCheck, Store, good, note, wrong
from weft.store.blobs import BlobStore, blobs_beside
from weft.store.lock import GroveLock
from weft.store.session import Session
from weft.store.sqlite_dialect import DIALECT, driver_of, explain, knows_planner, open_engine
from weft.store.sqlite_file import GroveFile, file_identity
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

    def write(self, work: Callable[[Transaction], T], *, tree: str | None = None) -> T:
        del tree
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


def find_damage(session: Session) -> list[str]:
    """What SQLite itself finds wrong with a file; nothing, if it is sound."""
    driver = driver_of(session.connection)
    lines = [str(row[0]) for row in driver.execute("PRAGMA integrity_check(20)")]
    broken = driver.execute("PRAGMA foreign_key_check").fetchmany(20)
    return [
        *(line for line in lines if line != "ok"),
        *(f"row {row[1]} of {row[0]} points to a {row[2]} that is not there" for row in broken),
        *_other_columns(session),
    ]


def _other_columns(session: Session) -> Iterator[str]:
    """Tables whose columns are not as they were created: a byte of the schema's text was changed."""
    driver, dialect = driver_of(session.connection), session.connection.dialect
    for table in schema.metadata.sorted_tables:
        info = driver.execute(f'PRAGMA table_info("{table.name}")')
        there = {name: (kind.upper(), bool(required)) for _, name, kind, required, *_ in info}
        wanted = {
            column.name: (column.type.compile(dialect).upper(), not column.nullable)
            for column in table.columns
        }
        differing = sorted(name for name in {*there, *wanted} if there.get(name) != wanted.get(name))
        if differing:
            yield f"the columns of {table.name} are not those of the schema: {', '.join(differing)}"


def _real_path(path: Path) -> Path:
    """The path without links: lock and log lie beside the file itself."""
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


_LARGE_LOG = 256 * 1024 * 1024
_FIXED = ((3, 51, 3), (3, 50, 7), (3, 44, 6))


def has_reset_bug(version: tuple[int, int, int]) -> bool:
    """Whether this SQLite may damage a file when two connections write or checkpoint at once."""
    return version >= (3, 7, 0) and not any(
        version >= fixed if fixed == _FIXED[0] else fixed <= version < (fixed[0], fixed[1] + 1, 0)
        for fixed in _FIXED
    )


def look_at_files(path: Path) -> Iterator[HealthCheck]:
    """The library and the files, without opening the database."""
    yield _library()
    mode = path.stat().st_mode
    if mode & 0o077:
        yield note("rights", f"others on this machine may read {path.name}", f"chmod 600 {path}")
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        yield wrong(
            "rights",
            f"{path.name} or its folder is not yours to write: the grove can be read, not changed",
            "change the rights of the file and of its folder",
        )
    size = path.stat().st_size
    log = path.with_name(path.name + "-wal")
    pending = log.stat().st_size if log.exists() else 0
    yield good("files", f"{path.name} has {size:,} bytes, its write-ahead log {pending:,}")
    if pending > _LARGE_LOG:
        yield note(
            "files",
            f"the write-ahead log has grown to {pending:,} bytes: something has been reading for long",
            "close what has the grove open; the log is folded back by itself",
        )
    journal = path.with_name(path.name + "-journal")
    if journal.exists():
        yield wrong(
            "files",
            f"{journal.name} lies beside the grove: a program other than Weft wrote to it and was stopped",
            "make a copy of all the files first, then open the grove; SQLite undoes what was not finished",
        )


def _library() -> HealthCheck:
    version = sqlite3.sqlite_version
    if not has_reset_bug(sqlite3.sqlite_version_info[:3]):
        return good("SQLite", f"SQLite {version} does not have the WAL-reset bug")
    return good(
        "SQLite",
        f"SQLite {version} has the WAL-reset bug; Weft is safe from it, because every process that writes, "
        "checkpoints or closes holds one lock. Let no other program write to the file",
    )


@contextlib.contextmanager
def look_inside(path: Path) -> Generator[Session]:
    """A session that does not write. Closing it is done under the lock, like any close.

    Where a log lies beside the file it is opened read-only, so that the log stays as it is;
    where none does, so that closing takes away again what looking has put there.
    """
    log = path.with_name(path.name + "-wal")
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    address = f"{path.absolute().as_uri()}?mode={'rw' if writable and not log.exists() else 'ro'}"
    engine = open_engine(address)
    try:
        connection = engine.connect()
        try:
            connection.exec_driver_sql("PRAGMA query_only = ON")
            yield Session(connection, DIALECT)
        finally:
            with GroveLock(path).hold_and_close():
                connection.close()
                engine.dispose()
    except (DBAPIError, sqlite3.Error) as error:
        raise explain(error, path) from error


def look_at_file(session: Session) -> Iterator[HealthCheck]:
    """What SQLite says about the pages, and whether the planner knows what it should."""
    damage = find_damage(session)
    for line in damage:
        yield wrong("integrity", line, "restore a backup; keep the damaged file")
    if not damage:
        yield good("integrity", "every page, index and reference is sound")
    if knows_planner(driver_of(session.connection)):
        yield good("planner", "the planner's statistics are in place")
    else:
        yield note("planner", "the planner's statistics are missing or old; opening the grove writes them")
