"""The health of a grove file: the library, the files, what SQLite itself says. Only looks."""

import contextlib
import os
import sqlite3
from collections.abc import Generator, Iterator
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from weft.errors import StorageError
from weft.store.health import HealthCheck, good, note, wrong
from weft.store.lock import GroveLock
from weft.store.session import Session
from weft.store.sqlite import find_damage
from weft.store.sqlite_dialect import DIALECT
from weft.store.sqlite_errors import explain
from weft.store.sqlite_statistics import knows_planner

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
    engine = create_engine(
        "sqlite+pysqlite://",
        creator=lambda: sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False),
        poolclass=StaticPool,
    )
    try:
        connection = engine.connect()
        try:
            connection.exec_driver_sql("PRAGMA query_only = ON")
            connection.exec_driver_sql("BEGIN")
            yield Session(connection, DIALECT)
        finally:
            with _locked(path):
                connection.close()
                engine.dispose()
    except (DBAPIError, sqlite3.Error) as error:
        raise explain(error, path) from error


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    try:
        lock = GroveLock(path)
        with contextlib.ExitStack() as stack:
            stack.callback(lock.close)
            # Where no lock can be had the folder is read-only, and nothing is written.
            with contextlib.suppress(StorageError):
                stack.enter_context(lock.hold())
            yield
    except StorageError:
        yield


def look_at_file(session: Session) -> Iterator[HealthCheck]:
    """What SQLite says about the pages, and whether the planner knows what it should."""
    damage = find_damage(session)
    for line in damage:
        yield wrong("integrity", line, "restore a backup; keep the damaged file")
    if not damage:
        yield good("integrity", "every page, index and reference is sound")
    driver = session.connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        if knows_planner(driver):
            yield good("planner", "the planner's statistics are in place")
        else:
            yield note(
                "planner", "the planner's statistics are missing or old; opening the grove writes them"
            )
