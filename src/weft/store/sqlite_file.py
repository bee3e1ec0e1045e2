"""The grove file as one process has it open: one writer, one pool of readers, shared by all its stores.

A file has at most one `GroveFile` in a process, and nothing here opens it but SQLite. Closing any
other descriptor of the file would drop the locks that SQLite holds on it; the next program that
closes the grove would then delete the log that this process goes on writing to. Because other code
in the process may do that all the same, the file and its log are compared with those that were
opened before each commit and each read.
"""

import contextlib
import os
import sqlite3
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from weft.errors import StorageError, UnavailableError
from weft.store.base import require_same_process
from weft.store.group_commit import GroupWriter, Take, WaitingWrite, commit_together
from weft.store.lock import GroveLock
from weft.store.migrate import migrate
from weft.store.session import Session
from weft.store.sqlite_dialect import (
    BUSY_MILLISECONDS,
    DIALECT,
    TEMPORARY,
    driver_of,
    explain,
    open_engine,
    peek,
    teach_planner,
)
from weft.store.transaction import Cache, Transaction

T = TypeVar("T")

APPLICATION_ID = 0x57454654
"""Marks a file as a grove ("WEFT")."""
CHECKPOINT_BYTES = 16 * 1024 * 1024
"""The size from which the log is folded back. SQLite then writes it again from its start, where the disk
has allocated it already: that syncs several times faster than a log that grows."""
_LARGE_LOG = 4 * CHECKPOINT_BYTES
"""The size from which it is also made small again."""
_GROWTH = CHECKPOINT_BYTES // 16
"""How much a log that was folded back may grow beyond its old end."""
_PATIENCE_MILLISECONDS = 500
_TURN_SECONDS = 0.01
"""How long one process goes on writing while others may be waiting."""
_COMES_BACK_SECONDS = 0.001
"""Within this time a caller that writes one thing after another brings the next."""
_READERS_END_SECONDS = 5.0
"""How long a file that was replaced waits for its readers before it is opened again."""


class _Identity(NamedTuple):
    """Device and inode of the file and of its log, None where there is none."""

    file: tuple[int, int] | None
    log: tuple[int, int] | None


class _ReplacedError(StorageError):
    """The files that were opened are not those at the path any more; nothing was written."""


class GroveFile:
    """The connections of this process to one grove file, counted by those who use them."""

    _open: ClassVar[tuple["GroveFile", ...]] = ()
    _registry: ClassVar = threading.RLock()
    """Never held while waiting for a thread: a store that is collected as garbage takes it, in any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process = os.getpid()
        self.users: set[object] = set()
        self.read_only = not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
        self._log = path.with_name(path.name + "-wal")
        self._lock = GroveLock(path)
        self._cache = Cache()
        self._version: int | None = None
        self._written_at = 0.0
        """When the writer last finished a group."""
        self._log_size = 0
        """When it was last looked at."""
        self._checkpoint_at = CHECKPOINT_BYTES
        self._purges: deque[_Purge] = deque()
        self._traces_left = False
        """In the log only, because of a reader who was in the way."""
        self._connection: Connection | None = None
        self._identity: _Identity | None = None
        """Of the files that the connections have open; None while there are none."""
        self._is_replaced = False
        """Found so at a commit, which was refused."""
        self._readers: Engine | None = None
        self._reading = 0
        self._idle = threading.Condition()
        """Guards the readers; notified when one of them ends."""
        self.writer = GroupWriter(self._run_group, self._run_now, self._shut_down)

    @classmethod
    def use(cls, path: Path, user: object, timeout: float) -> "GroveFile":
        """The process's file at a path, under any name; `leave` gives it back."""
        with cls._registry:
            there = file_identity(path)
            for file in cls._open:
                if file.users and (file.path == path or file.is_at(there)):
                    require_same_process(file.process, str(path))
                    file.require_same_name(path)
                    break
            else:
                if there is None:
                    _create(path)
                else:
                    _refuse_strangers(path)
                file = cls(path)
                cls._open = (*(other for other in cls._open if other.users), file)
            file.users.add(user)
        try:
            file.connect(timeout)
        except BaseException:
            file.leave(user)
            raise
        return file

    def leave(self, user: object, timeout: float | None = None) -> None:
        """The last user closes the file, and may wait for it."""
        if self.process != os.getpid():
            return
        with self._registry:
            self.users.discard(user)
            if self.users:
                return
            GroveFile._open = tuple(file for file in self._open if file.users)
        if self.read_only:
            self._close_readers()
        self.writer.stop()
        if timeout is not None:
            self.writer.join(timeout)

    def is_at(self, there: tuple[int, int] | None) -> bool:
        return there is not None and self._identity is not None and self._identity.file == there

    def require_same_name(self, path: Path) -> None:
        """A file that was moved while it is open has left its log behind."""
        if path != self.path and not self.is_at(file_identity(self.path)):
            raise StorageError(
                f"{path} is open in this process as {self.path}, and was moved",
                hint="close it first, or move it back",
            )

    def write(self, work: Callable[[Transaction], T], timeout: float) -> T:
        require_same_process(self.process, str(self.path))
        if self.read_only:
            raise StorageError(
                f"{self.path} is read-only", hint="make the file and its folder writable, then open it again"
            )
        return self.writer.submit(work, timeout)

    @contextlib.contextmanager
    def read(self, timeout: float) -> Generator[Session]:
        try:
            with (
                self._reader(timeout) as readers,
                readers.connect() as connection,
                connection.begin(),
            ):
                yield Session(connection, DIALECT)
        except PoolTimeoutError as error:
            raise UnavailableError(
                f"too many reads of {self.path} at once", hint="try again in a moment"
            ) from error
        except (DBAPIError, sqlite3.Error) as error:
            raise explain(error, self.path) from error

    @contextlib.contextmanager
    def _reader(self, timeout: float) -> Generator[Engine]:
        require_same_process(self.process, str(self.path))
        reader = object()
        with self._registry:
            if not self.users:
                raise UnavailableError("the grove is closed", hint="open it again")
            # A reader is a user: what it reads is closed when it has ended.
            self.users.add(reader)
        try:
            if self._identity is None or self._identity != self._present_identity():
                self.connect(timeout)
            with self._idle:
                readers = self._readers
                if readers is None:
                    raise _replaced(self.path)
                self._reading += 1
            try:
                yield readers
            finally:
                with self._idle:
                    self._reading -= 1
                    self._idle.notify_all()
        finally:
            self.leave(reader)

    def connect(self, timeout: float) -> None:
        """Open the file, or those files that are there now."""
        if self.read_only:
            self._connect_to_read()
            return
        try:
            self.writer.submit(_do_nothing, timeout)
        except _ReplacedError:
            # Its connections are closed now: the second attempt opens what is there.
            self.writer.submit(_do_nothing, timeout)

    def _connect_to_read(self) -> None:
        """Without the lock: where nothing can be written, nothing can be locked either."""
        self._require_file()
        self._close_readers()
        identity = self._present_identity()
        # An immutable file is read without its log, and nothing is put beside it.
        mode = "immutable=1" if identity.log is None else "mode=ro"
        engine = open_engine(f"{self.path.as_uri()}?{mode}", QueuePool)
        with self._idle:
            self._readers = engine
            self._identity = identity
        try:
            with engine.connect() as connection:
                _check_is_grove(connection, self.path, mark=False)
                migrate(connection, read_only=True)
        except (DBAPIError, sqlite3.Error) as error:
            raise explain(error, self.path) from error

    def _present_identity(self) -> _Identity:
        log = _status(self._log)
        self._log_size = 0 if log is None else log.st_size
        return _Identity(file_identity(self.path), None if log is None else (log.st_dev, log.st_ino))

    def _require_file(self) -> None:
        if file_identity(self.path) is None:
            raise StorageError(
                f"the grove file {self.path} is gone",
                hint="put it back; Weft goes on by itself once it is there",
            )

    def _run_group(self, take: Take, hold: Callable[[], None]) -> bool:
        """Write a group; if a single caller writes one thing after another, some more under the same lock.

        Handing the lock to another process takes longer than a commit on a busy machine, so the turns
        that processes take are not shorter than that.
        """
        comes_back = time.monotonic() - self._written_at < _COMES_BACK_SECONDS
        with self._lock.hold():
            until = time.monotonic() + _TURN_SECONDS
            jobs = take(0)
            while self._run_locked(jobs, hold) and comes_back and len(jobs) == 1:
                jobs = take(_COMES_BACK_SECONDS) if time.monotonic() < until else ()
        self._written_at = time.monotonic()
        return True

    def _run_now(self, take: Take, hold: Callable[[], None]) -> bool:
        with self._lock.hold_if_free() as is_held:
            return is_held and self._run_locked(take(0), hold)

    def _run_locked(self, jobs: Sequence[WaitingWrite], hold: Callable[[], None]) -> bool:
        hold()
        try:
            connection = self._connection
            if connection is None:
                connection = self._connection = self._open_connection()
            commit_together(_SqliteGroup(self, connection), jobs)
            if self._is_replaced:
                self._disconnect()
                return True
            if self._purges or self._traces_left:
                self._purge(connection)
            self._checkpoint(connection)
        except (DBAPIError, sqlite3.Error) as error:
            raise explain(error, self.path) from error
        return True

    def require_current(self) -> None:
        """Before a commit: it must go into the log that others see."""
        if self._identity != self._present_identity():
            self._is_replaced = True
            raise _replaced(self.path)

    def _open_connection(self) -> Connection:
        self._require_file()
        connection = open_engine(str(self.path), begin="BEGIN IMMEDIATE", configure=True).connect()
        try:
            _check_is_grove(connection, self.path, mark=True)
            migrate(connection)
            teach_planner(driver_of(connection))
            if _has_traces(driver_of(connection)):
                self._purges.append(_Purge())
            # SQLite has opened the log by now, and keeps it until the last connection is closed.
            with self._idle:
                self._readers = open_engine(str(self.path), QueuePool, configure=True)
                self._identity = self._present_identity()
        except BaseException:
            connection.close()
            connection.engine.dispose()
            raise
        return connection

    def _shut_down(self) -> None:
        """In the writer's thread, when the last user is gone. Closing also checkpoints: it needs the lock."""
        # Where the lock's folder is gone there is nothing left to checkpoint.
        with self._lock.hold_and_close():
            self._disconnect()

    def _disconnect(self) -> None:
        """Close all connections; the writer's last, because the last one checkpoints."""
        is_current = self._identity == self._present_identity()
        self._close_readers()
        connection, self._connection = self._connection, None
        self._is_replaced = False
        self._cache.clear()
        if connection is None:
            return
        if is_current:
            with contextlib.suppress(DBAPIError, sqlite3.Error):
                driver_of(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with contextlib.nullcontext() if is_current else _log_kept(self._log):
            connection.close()
            connection.engine.dispose()

    def _close_readers(self) -> None:
        """Connections of one process share what they know of the log, so none of the old may be left."""
        with self._idle:
            readers, self._readers, self._identity = self._readers, None, None
            if readers is None:
                return
            event.listen(readers, "checkin", _close_returned)
            readers.dispose()
            if not self._idle.wait_for(lambda: not self._reading, _READERS_END_SECONDS):
                self._readers = readers
                raise StorageError(
                    f"{self.path} was replaced while it is being read", hint="finish reading, and try again"
                )

    def _checkpoint(self, connection: Connection) -> None:
        """Fold the write-ahead log back by size; automatic checkpoints are off.

        A reader in the way is not waited for, and not tried again with every write, but before long:
        the search index reads often and briefly.
        """
        size = self._log_size
        if size < self._checkpoint_at:
            return
        driver = driver_of(connection)
        is_large = size >= _LARGE_LOG
        is_folded = False
        # What was committed is safe in the log; a checkpoint that fails is tried again later.
        with contextlib.suppress(sqlite3.Error):
            driver.execute("PRAGMA busy_timeout = 0")
            mode = "TRUNCATE" if is_large else "PASSIVE"
            busy, frames, folded = driver.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            is_folded = not busy and frames == folded
        driver.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        if is_folded:
            self._checkpoint_at = CHECKPOINT_BYTES if is_large else size + _GROWTH
        else:
            self._checkpoint_at = size + CHECKPOINT_BYTES // 8

    def purge(self, timeout: float) -> bool:
        """Ask the writer, which alone may use its connection, and wait for it."""
        asked = _Purge()
        self._purges.append(asked)
        self.write(_do_nothing, timeout)
        asked.done.wait()
        return asked.is_clean

    def _purge(self, connection: Connection) -> None:
        """Rewrite the file without what was deleted, and empty the log.

        Never fails: what a reader in the way leaves in the log is tried for with every write that
        follows, and a file that could not be rewritten is rewritten when it is opened next.
        """
        asked = [self._purges.popleft() for _ in range(len(self._purges))]
        driver = driver_of(connection)
        self._traces_left = False
        is_clean = False
        try:
            if asked and _has_traces(driver):
                _rewrite(driver)
            driver.execute(f"PRAGMA busy_timeout = {_PATIENCE_MILLISECONDS if asked else 0}")
            self._traces_left = bool(driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
            driver.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
            is_clean = not self._traces_left
        except sqlite3.Error:
            is_clean = False
        finally:
            for each in asked:
                each.is_clean = is_clean
                each.done.set()

    def transaction(self, connection: Connection) -> Transaction:
        driver = driver_of(connection)
        (version,) = driver.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            row = driver.execute("SELECT events FROM grove").fetchone()
            self._cache.doubt(None if row is None else row[0])
            self._version = version
        return Transaction(connection, DIALECT, self._cache)

    def forget(self) -> None:
        """After a rollback: what was written is not there."""
        self._cache.clear()


class _Purge:
    """A caller waits until the file is clean."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.is_clean = False


def _do_nothing(_: Transaction) -> None:
    """Opens the file, as any transaction does."""


def _replaced(path: Path) -> _ReplacedError:
    return _ReplacedError(
        f"the grove file {path} or its log was moved or replaced; nothing was written",
        hint="try again: the grove was opened again. If you moved it, put it back",
    )


def _rewrite(driver: sqlite3.Connection) -> None:
    """Zeroing what a delete frees would not do: pages keep old copies of rows that were moved on them."""
    # All else that is temporary goes into memory, where a whole grove may not fit.
    driver.execute("PRAGMA temp_store = FILE")
    try:
        driver.execute("VACUUM")
        driver.execute("PRAGMA user_version = 0")
    finally:
        driver.execute(f"PRAGMA temp_store = {TEMPORARY}")


def _has_traces(driver: sqlite3.Connection) -> bool:
    return bool(driver.execute("PRAGMA user_version").fetchone()[0])


class _SqliteGroup:
    """Transactions of the writer's connection, begun and ended by the driver: there is one for every group."""

    def __init__(self, file: GroveFile, connection: Connection) -> None:
        self._file = file
        self._connection = connection
        self._driver = driver_of(connection)
        self._transaction: Transaction | None = None

    def begin(self) -> Transaction:
        try:
            self._driver.execute("BEGIN IMMEDIATE")
            self._transaction = self._file.transaction(self._connection)
        except (DBAPIError, sqlite3.Error) as error:
            self.rollback()
            raise self.explain(error) from error
        return self._transaction

    def commit(self) -> None:
        if not self._driver.in_transaction:
            # SQLite rolls back by itself when the disk is full; a commit would then say nothing.
            raise StorageError(f"{self._file.path} rolled the transaction back", hint="try again")
        self._file.require_current()
        self._driver.execute("COMMIT")
        if self._transaction is not None:
            self._transaction.keep_known()

    def rollback(self) -> None:
        self._file.forget()
        if self._driver.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._driver.execute("ROLLBACK")

    def explain(self, error: BaseException) -> BaseException:
        if not isinstance(error, DBAPIError | sqlite3.Error):
            return error
        try:
            self._file.require_current()
            explanation = explain(error, self._file.path)
        except StorageError as replaced:
            explanation = replaced
        explanation.__cause__ = error
        return explanation


def file_identity(path: Path) -> tuple[int, int] | None:
    status = _status(path)
    return None if status is None else (status.st_dev, status.st_ino)


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - asked before every commit, and several times faster
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot reach {path}: {error.strerror}") from error


def _create(path: Path) -> None:
    """An empty file that only its owner can read: SQLite gives its log the same rights.

    No connection of this process can have it open when it is closed here: it did not exist.
    """
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StorageError(f"cannot create {path}: {error.strerror}") from error


@contextlib.contextmanager
def _log_kept(log: Path) -> Generator[None]:
    """SQLite deletes a log by its name, and that may be another process's by now: it stays under its name."""
    spare = log.with_name(f"{log.name}-{os.getpid()}-{time.monotonic_ns()}")
    try:
        os.link(log, spare)
    except OSError:
        # There is no log, or no such links; then it is only at risk if two programs lost their locks.
        yield
        return
    try:
        yield
    finally:
        if log.exists():
            spare.unlink()
        else:
            spare.rename(log)


def _close_returned(_driver: object, record: ConnectionPoolEntry) -> None:
    """It was in use when the others were closed."""
    record.close()


def _refuse_strangers(path: Path) -> None:
    """Refuse what is not a grove before anything is created beside it."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise StorageError(f"{path} is a folder", hint="name a file in it, for example grove.db")
    if not stat.S_ISREG(mode):
        raise StorageError(f"{path} is not a file", hint="name another file for the grove")
    try:
        with peek(path) as session:
            _check_is_grove(session.connection, path, mark=False)
    except StorageError:
        # A process that is folding its log back, or was killed at it, has written some pages and not others:
        # only together with the log is the file whole. Opening it, which reads both, decides.
        if not all(path.with_name(path.name + side).exists() for side in ("-wal", "-lock")):
            raise


def _check_is_grove(connection: Connection, path: Path, *, mark: bool) -> None:
    """Refuse another program's database; an empty one may become a grove, and is marked as one."""
    driver = driver_of(connection)
    application = driver.execute("PRAGMA application_id").fetchone()[0]
    if application == APPLICATION_ID:
        return
    tables = driver.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application or tables:
        raise StorageError(
            f"{path} is a SQLite database, but not a grove", hint="name another file for the grove"
        )
    if mark:
        driver.execute(f"PRAGMA application_id = {APPLICATION_ID}")
