"""SQLite: one file, one writer in a process, one lock between processes."""

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Insert,
    RootTransaction,
    Table,
    create_engine,
    event,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from weft.errors import StorageError, UnavailableError, WeftError
from weft.store import schema
from weft.store.base import Store
from weft.store.blobs import BlobStore
from weft.store.lock import GroveLock
from weft.store.migrate import migrate
from weft.store.planning import teach_planner
from weft.store.search_sqlite import SqliteTerms
from weft.store.session import Session
from weft.store.transaction import Cache, Transaction
from weft.store.writer import Group, GroupWriter

__all__ = ["SqliteDialect", "SqliteStore"]

T = TypeVar("T")

APPLICATION_ID = 0x57454654
"""Marks a file as a grove ("WEFT")."""
_CHECKPOINT_BYTES = 32 * 1024 * 1024
_BUSY_MILLISECONDS = 5_000
_READERS = 32


class SqliteDialect:
    """What SQLite says in its own way."""

    counts_events = True
    terms = SqliteTerms()

    def among(self, column: ColumnElement[int], keys: Sequence[int]) -> ColumnElement[bool]:
        # Not a join: the planner would be free to scan the keys once for every row of the table.
        wanted = func.json_each(literal(json.dumps(list(keys)))).table_valued("value")
        return column.in_(select(wanted.c.value))

    def upsert(self, table: Table, key: Sequence[str], update: Sequence[str]) -> Insert:
        return _upsert(table, tuple(key), tuple(update))

    def insert_events(self) -> Insert:
        return _INSERT_EVENTS


_INSERT_EVENTS = insert(schema.events)


@cache
def _upsert(table: Table, key: tuple[str, ...], update: tuple[str, ...]) -> Insert:
    statement = sqlite_insert(table)
    if not update:
        return statement.on_conflict_do_nothing(index_elements=key)
    return statement.on_conflict_do_update(
        index_elements=key, set_={name: statement.excluded[name] for name in update}
    )


class SqliteStore(Store):
    """A grove in one file."""

    def __init__(self, path: Path, *, timeout: float = 30.0, create: bool = True) -> None:
        self.path = path.expanduser().absolute()
        self.blobs = BlobStore(self.path.with_name(self.path.name + "-blobs"))
        self._dialect = SqliteDialect()
        self._timeout = timeout
        self._guard = threading.Lock()
        self._process = os.getpid()
        self._closed = False
        self._file: _GroveFile | None = None
        self._readers: Engine | None = None
        self._identity: tuple[int, int] | None = None
        if not create and not self.path.exists():
            raise StorageError(f"there is no grove at {self.path}", hint="create it with weft new")
        self._connect()

    @property
    def name(self) -> str:
        return str(self.path)

    def write(self, work: Callable[[Transaction], T]) -> T:
        return self._connect().submit(work)

    @contextlib.contextmanager
    def read(self) -> Generator[Session]:
        self._connect()
        readers = self._readers
        assert readers is not None  # noqa: S101 - made by _connect
        try:
            with readers.connect() as connection:
                yield Session(connection, self._dialect)
        except (DBAPIError, sqlite3.Error, TimeoutError) as error:
            raise explain(error, self.path) from error

    def close(self) -> None:
        with self._guard:
            self._closed = True
            self._release()

    def _connect(self) -> GroupWriter:
        """The writer, opened again where the file was replaced or the process forked."""
        with self._guard:
            if self._closed:
                raise UnavailableError("the grove is closed", hint="open it again")
            if self._file is not None and self._process != os.getpid():
                self._abandon()
            identity = _identity_of(self.path)
            if self._file is not None and identity != self._identity:
                self._release()
                if identity is None:
                    raise StorageError(
                        f"the grove file {self.path} is gone",
                        hint="put it back; Weft goes on by itself once it is there",
                    )
            if self._file is None:
                _refuse_strangers(self.path)
                if self._identity is not None and identity is None:
                    raise StorageError(
                        f"the grove file {self.path} is gone",
                        hint="put it back; Weft goes on by itself once it is there",
                    )
                self._file = _GroveFile.shared(self.path, self._dialect, self._timeout)
                self._readers = _engine(self.path, pool=QueuePool, begin="BEGIN")
                self._identity = _identity_of(self.path)
                self._process = os.getpid()
            return self._file.writer

    def _release(self) -> None:
        if self._readers is not None:
            self._readers.dispose()
            self._readers = None
        if self._file is not None:
            self._file.release()
            self._file = None

    def _abandon(self) -> None:
        """After a fork the connections are the parent's: drop them without touching the file."""
        if self._readers is not None:
            self._readers.dispose(close=False)
        self._readers = None
        self._file = None


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - asked before every write, and several times faster
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot reach {path}: {error.strerror}") from error
    return found.st_dev, found.st_ino


def _refuse_strangers(path: Path) -> None:
    """Look before anything is created beside a file that is not a grove."""
    if path.is_dir():
        raise StorageError(f"{path} is a folder", hint="name a file in it, for example grove.db")
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    if head and not head.startswith(b"SQLite format 3\x00"):
        raise StorageError(f"{path} is not a database", hint="name another file for the grove")
    if int.from_bytes(head[68:72], "big") not in {0, APPLICATION_ID}:
        raise StorageError(
            f"{path} is a SQLite database, but not a grove", hint="name another file for the grove"
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StorageError(f"cannot create {folder}: {error.strerror}") from error


class _GroveFile:
    """The one writer of a process to one file, shared by all who opened it."""

    _open: ClassVar[dict[tuple[int, int, int], "_GroveFile"]] = {}
    _opening: ClassVar = threading.Lock()

    def __init__(self, path: Path, dialect: SqliteDialect, timeout: float) -> None:
        self.path = path
        self._dialect = dialect
        self._users = 0
        self._cache = Cache()
        self._version: int | None = None
        self._checkpoint_at = _CHECKPOINT_BYTES
        self._connection: Connection | None = None
        _make_folder(path.parent)
        self._lock = GroveLock(path)
        self._wal = path.with_name(path.name + "-wal")
        self.writer = GroupWriter(self._run_group, timeout=timeout)
        self._identity: tuple[int, int] | None = None

    @classmethod
    def shared(cls, path: Path, dialect: SqliteDialect, timeout: float) -> "_GroveFile":
        with cls._opening:
            identity = _identity_of(path)
            key = None if identity is None else (os.getpid(), *identity)
            found = None if key is None else cls._open.get(key)
            if found is None:
                found = cls(path, dialect, timeout)
                try:
                    found.writer.submit(lambda _: None)
                except BaseException:
                    found.writer.close()
                    found._lock.close()
                    raise
                identity = _identity_of(path)
                if identity is not None:
                    cls._open[os.getpid(), *identity] = found
                    found._identity = identity
            found._users += 1
            return found

    def release(self) -> None:
        with self._opening:
            self._users -= 1
            if self._users:
                return
            if self._identity is not None:
                self._open.pop((os.getpid(), *self._identity), None)
        self.writer.close()
        if self._connection is not None:
            # The last connection to close also checkpoints: under the lock like any other.
            with self._lock.hold():
                self._disconnect()
        self._lock.close()

    def _run_group(self, work: Callable[[Group], None]) -> None:
        try:
            with self._lock.hold():
                connection = self._connection
                if connection is None:
                    connection = self._connection = self._open_connection()
                elif _identity_of(self.path) != self._identity and self._identity is not None:
                    raise StorageError(
                        f"the grove file {self.path} was moved or replaced",
                        hint="put it back; nothing was written elsewhere",
                    )
                work(_SqliteGroup(self, connection))
                self._checkpoint(connection)
        except (DBAPIError, sqlite3.Error) as error:
            raise explain(error, self.path) from error

    def _open_connection(self) -> Connection:
        is_new = not self.path.exists()
        connection = _engine(self.path, pool=StaticPool, begin="BEGIN IMMEDIATE").connect()
        try:
            _check_is_grove(connection, self.path)
            if is_new:
                self.path.chmod(0o600)
            migrate(connection)
            teach_planner(_driver(connection))
        except BaseException:
            connection.close()
            connection.engine.dispose()
            raise
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(DBAPIError, sqlite3.Error):
                _driver(self._connection).execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.close()
            self._connection.engine.dispose()
            self._connection = None

    def _checkpoint(self, connection: Connection) -> None:
        """Fold the write-ahead log back by size; automatic checkpoints are off."""
        try:
            size = self._wal.stat().st_size
        except FileNotFoundError:
            return
        if size < self._checkpoint_at:
            return
        driver = _driver(connection)
        busy = 1
        # What was committed is safe in the log; a checkpoint that fails is tried again later.
        with contextlib.suppress(sqlite3.Error):
            driver.execute("PRAGMA busy_timeout = 0")
            busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        driver.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
        # A reader in the way is not waited for, and not tried again with every write, but before long:
        # the search index reads often and briefly.
        self._checkpoint_at = size + _CHECKPOINT_BYTES // 8 if busy else _CHECKPOINT_BYTES

    def transaction(self, connection: Connection) -> Transaction:
        version = _driver(connection).execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._cache.clear()
            self._version = version
        return Transaction(connection, self._dialect, self._cache)

    def forget(self) -> None:
        self._cache.clear()


class _SqliteGroup:
    """Transactions of the writer's connection."""

    def __init__(self, file: _GroveFile, connection: Connection) -> None:
        self._file = file
        self._connection = connection
        self._transaction: RootTransaction | None = None

    def begin(self) -> Transaction:
        try:
            self._transaction = self._connection.begin()
            return self._file.transaction(self._connection)
        except (DBAPIError, sqlite3.Error) as error:
            self.rollback()
            raise explain(error, self._file.path) from error

    def commit(self) -> None:
        if not _driver(self._connection).in_transaction:
            # SQLite rolls back by itself when the disk is full; a commit would then say nothing.
            raise StorageError(f"{self._file.path} gave up the transaction", hint="try again")
        if self._transaction is not None:
            self._transaction.commit()

    def rollback(self) -> None:
        self._file.forget()
        if self._transaction is not None:
            with contextlib.suppress(DBAPIError, sqlite3.Error):
                self._transaction.rollback()
            self._transaction = None

    def explain(self, error: BaseException) -> BaseException:
        if isinstance(error, DBAPIError | sqlite3.Error):
            return _explained(error, self._file.path)
        return error


def _engine(path: Path, *, pool: type[QueuePool] | type[StaticPool], begin: str) -> Engine:
    options: dict[str, Any] = (
        {"pool_size": _READERS, "max_overflow": 0, "pool_timeout": 30} if pool is QueuePool else {}
    )
    engine = create_engine(
        "sqlite+pysqlite://",
        creator=lambda: sqlite3.connect(
            path,
            timeout=_BUSY_MILLISECONDS / 1000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        ),
        poolclass=pool,
        **options,
    )
    event.listen(engine, "connect", _configure)

    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "begin", begin_transaction)
    return engine


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "wal_autocheckpoint = 0",
        "secure_delete = ON",
        "cache_size = -65536",
        "temp_store = MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _driver(connection: Connection) -> sqlite3.Connection:
    found = connection.connection.driver_connection
    assert isinstance(found, sqlite3.Connection)  # noqa: S101 - this engine makes no other
    return found


def _check_is_grove(connection: Connection, path: Path) -> None:
    """Refuse to write into somebody else's database."""
    driver = _driver(connection)
    application = driver.execute("PRAGMA application_id").fetchone()[0]
    if application == APPLICATION_ID:
        return
    tables = driver.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application or tables:
        raise StorageError(
            f"{path} is a SQLite database, but not a grove", hint="name another file for the grove"
        )
    driver.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _explained(error: BaseException, path: Path) -> WeftError:
    """The explanation, with the database's own error as its cause."""
    found = explain(error, path)
    found.__cause__ = error
    return found


def explain(error: BaseException, path: Path) -> WeftError:
    """A database error in a person's words."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    name = getattr(origin, "sqlite_errorname", "") or ""
    for prefix, (message, hint) in _EXPLANATIONS.items():
        if name.startswith(prefix):
            return StorageError(message.format(path=path), hint=hint)
    return StorageError(
        f"{path}: {origin}", hint="check the disk and the file's rights; nothing was half-written"
    )


_EXPLANATIONS: dict[str, tuple[str, str]] = {
    "SQLITE_FULL": ("the disk with {path} is full", "free some space; nothing was half-written"),
    "SQLITE_READONLY": ("{path} is read-only", "change its permissions, or copy it to where you may write"),
    "SQLITE_BUSY": (
        "{path} is locked by another program",
        "close what has it open for writing, and try again",
    ),
    "SQLITE_LOCKED": ("{path} is locked by another program", "try again"),
    "SQLITE_CANTOPEN": ("cannot open {path}", "check that its folder exists and is yours to write"),
    "SQLITE_NOTADB": ("{path} is not a database", "name another file for the grove"),
    "SQLITE_CORRUPT": ("{path} is damaged", "restore a backup; the file was left as it is"),
    "SQLITE_IOERR": ("{path} cannot be read or written", "check the disk; nothing was half-written"),
}
