"""SQLite: one file, one writer in a process, one lock between processes."""

import contextlib
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    RootTransaction,
    create_engine,
    event,
    select,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from weft.errors import StorageError, UnavailableError
from weft.store import schema
from weft.store.base import Store
from weft.store.blobs import BlobStore, blobs_beside
from weft.store.lock import GroveLock
from weft.store.migrate import migrate
from weft.store.planning import teach_planner
from weft.store.session import Session
from weft.store.sqlite_dialect import DIALECT, SqliteDialect
from weft.store.sqlite_errors import explain, explained
from weft.store.transaction import Cache, Transaction
from weft.store.writer import Group, GroupWriter

__all__ = ["SqliteStore", "explain", "find_damage", "peek"]

T = TypeVar("T")

APPLICATION_ID = 0x57454654
"""Marks a file as a grove ("WEFT")."""
_CHECKPOINT_BYTES = 64 * 1024 * 1024
_BUSY_MILLISECONDS = 5_000
_PATIENCE_MILLISECONDS = 500
_READERS = 32
_TEMPORARY = "MEMORY"
_COPY_PAGES = 1_000


class _ReplacedError(StorageError):
    """The file that was opened is not the one at its path any more; nothing was tried."""


class SqliteStore(Store):
    """A grove in one file."""

    def __init__(self, path: Path, *, timeout: float = 30.0, create: bool = True) -> None:
        self.path = path.expanduser().absolute()
        self.blobs = BlobStore(blobs_beside(self.path))
        self._dialect = DIALECT
        self._timeout = timeout
        self._guard = threading.Lock()
        self._process = os.getpid()
        self._closed = False
        self._file: _GroveFile | None = None
        self._readers: Engine | None = None
        self._identity: tuple[int, int] | None = None
        if not create:
            _require_grove(self.path)
        self._connect()

    @property
    def name(self) -> str:
        return str(self.path)

    def write(self, work: Callable[[Transaction], T]) -> T:
        # The writer looks whether the file is still the same one, once a group; asking here as well,
        # for every caller, would cost more than all the rest of waiting for one's turn.
        file = self._file
        if file is not None and not self._closed and self._process == os.getpid():
            try:
                return file.writer.submit(work)
            except (_ReplacedError, UnavailableError) as error:
                # Both mean that nothing was tried. Another caller may have opened the new file already.
                if isinstance(error, UnavailableError) and file is self._file:
                    raise
        return self._connect().submit(work)

    @contextlib.contextmanager
    def read(self) -> Generator[Session]:
        self._connect()
        readers = self._readers
        assert readers is not None  # noqa: S101 - made by _connect
        try:
            with readers.connect() as connection, connection.begin():
                yield Session(connection, self._dialect)
        except (DBAPIError, sqlite3.Error, TimeoutError) as error:
            raise explain(error, self.path) from error

    def copy_file(self, path: Path, progress: Callable[[int, int], None]) -> bool:
        """Page by page, while others write.

        A read transaction is held meanwhile: the copy is of one moment, and never
        begins anew because somebody wrote. It reads only, so no lock is needed.
        """
        with self.read() as session:
            session.execute(select(schema.grove.c.ulid))
            source = _driver(session.connection)
            target = sqlite3.connect(path, isolation_level=None)
            try:
                # A copy that is cut off is thrown away; when it is whole, the caller makes it safe.
                target.execute("PRAGMA synchronous = OFF")
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
        self._connect()
        file = self._file
        return file is None or file.purge()

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


@contextlib.contextmanager
def peek(path: Path) -> Generator[Session]:
    """Look into a grove file that nobody has open, without leaving anything beside it."""
    address = f"{path.absolute().as_uri()}?immutable=1"
    engine = create_engine(
        "sqlite+pysqlite://",
        creator=lambda: sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False),
        poolclass=StaticPool,
    )
    try:
        with engine.connect() as connection:
            yield Session(connection, DIALECT)
    except (DBAPIError, sqlite3.Error) as error:
        raise explain(error, path) from error
    finally:
        engine.dispose()


def find_damage(session: Session) -> list[str]:
    """What SQLite itself finds wrong with a file; nothing, if it is sound."""
    driver = _driver(session.connection)
    found = [str(row[0]) for row in driver.execute("PRAGMA integrity_check(20)")]
    broken = driver.execute("PRAGMA foreign_key_check").fetchmany(20)
    return [line for line in found if line != "ok"] + [
        f"row {row[1]} of {row[0]} points to a {row[2]} that is not there" for row in broken
    ]


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - asked before every write, and several times faster
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot reach {path}: {error.strerror}") from error
    return found.st_dev, found.st_ino


def _require_grove(path: Path) -> None:
    """Nothing is begun where somebody expects to find a grove, least of all where one was."""
    if not path.exists():
        raise StorageError(f"there is no grove at {path}", hint="create it with weft new")
    if path.is_file() and not path.stat().st_size:
        raise StorageError(
            f"{path} is empty: there is no grove in it", hint="restore a backup, or create one with weft new"
        )


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
        self._purges: deque[_Purge] = deque()
        self._traces_left = False
        """In the log only, because of a reader who was in the way."""
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
        if not self.writer.close():
            # Something is still being written: neither its connection nor its lock may be pulled away.
            return
        if self._connection is not None:
            # The last connection to close also checkpoints: under the lock like any other.
            with self._lock.hold():
                self._disconnect()
        self._lock.close()

    def _run_group(self, work: Callable[[Group], None], hold: Callable[[], None]) -> None:
        try:
            with self._lock.hold():
                hold()
                connection = self._connection
                if connection is None:
                    connection = self._connection = self._open_connection()
                elif _identity_of(self.path) != self._identity and self._identity is not None:
                    raise _ReplacedError(
                        f"the grove file {self.path} was moved or replaced",
                        hint="put it back; nothing was written elsewhere",
                    )
                work(_SqliteGroup(self, connection))
                if self._purges or self._traces_left:
                    self._purge(connection)
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
            if _has_traces(_driver(connection)):
                self._purges.append(_Purge())
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

    def purge(self) -> bool:
        """Ask the writer, who alone may touch its connection, and wait for it."""
        asked = _Purge()
        self._purges.append(asked)
        self.writer.submit(lambda _: None)
        asked.done.wait()
        return asked.is_clean

    def _purge(self, connection: Connection) -> None:
        """Write the file anew without what was deleted, and empty the log.

        Never fails: what a reader in the way leaves in the log is tried for with every write that
        follows, and a file that could not be written anew is again when it is opened next.
        """
        asked = [self._purges.popleft() for _ in range(len(self._purges))]
        driver = _driver(connection)
        self._traces_left = False
        is_clean = False
        try:
            if asked and _has_traces(driver):
                _write_anew(driver)
            driver.execute(f"PRAGMA busy_timeout = {_PATIENCE_MILLISECONDS if asked else 0}")
            self._traces_left = bool(driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
            driver.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
            is_clean = not self._traces_left
        except sqlite3.Error:
            is_clean = False
        finally:
            for each in asked:
                each.is_clean = is_clean
                each.done.set()

    def transaction(self, connection: Connection) -> Transaction:
        version = _driver(connection).execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._cache.clear()
            self._version = version
        return Transaction(connection, self._dialect, self._cache)

    def forget(self) -> None:
        self._cache.clear()


class _Purge:
    """Somebody waits until the file is clean."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.is_clean = False


def _write_anew(driver: sqlite3.Connection) -> None:
    """Zeroing what a delete frees would not do: pages keep old copies of rows that were moved on them."""
    # All else that is temporary goes into memory, where a whole grove may not fit.
    driver.execute("PRAGMA temp_store = FILE")
    try:
        driver.execute("VACUUM")
        driver.execute("PRAGMA user_version = 0")
    finally:
        driver.execute(f"PRAGMA temp_store = {_TEMPORARY}")


def _has_traces(driver: sqlite3.Connection) -> bool:
    return bool(driver.execute("PRAGMA user_version").fetchone()[0])


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
            return explained(error, self._file.path)
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
        f"temp_store = {_TEMPORARY}",
    ):
        try:
            connection.execute(f"PRAGMA {pragma}").close()
        except UnicodeDecodeError as error:
            # SQLite quotes a damaged table definition, and the driver cannot decode the quotation.
            damage = sqlite3.DatabaseError("malformed database schema")
            damage.sqlite_errorname = "SQLITE_CORRUPT"
            raise damage from error


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
