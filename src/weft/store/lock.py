"""The one lock between processes that write a grove file.

Many SQLite builds have a bug that can corrupt a database when two connections write
or checkpoint at the same moment, so all of that happens under this lock. A second
lock is the turnstile: who waits for the first holds the second, so that a busy
process cannot take the lock again before the others had their turn.
"""

import contextlib
import os
import weakref
from collections.abc import Generator
from pathlib import Path

from weft.errors import StorageError

try:
    import fcntl
except ImportError:  # pragma: no cover - a platform without flock
    fcntl = None


class GroveLock:
    """An exclusive `flock` on a side file whose descriptor stays open."""

    def __init__(self, database: Path) -> None:
        if fcntl is None:
            raise StorageError(
                "SQLite groves need file locks of the POSIX kind, which this system lacks",
                hint="use a postgresql:// grove here",
            )
        self._lock = _LockFile(database.with_name(database.name + "-lock"))
        self._turn = _LockFile(database.with_name(database.name + "-turn"))

    @contextlib.contextmanager
    def hold(self) -> Generator[None]:
        self._turn.acquire()
        try:
            self._lock.acquire()
        finally:
            self._turn.release()
        try:
            yield
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def hold_if_free(self) -> Generator[bool]:
        """The same without waiting: whether it is held."""
        is_free = self._turn.acquire(wait=False)
        if is_free:
            try:
                is_free = self._lock.acquire(wait=False)
            finally:
                self._turn.release()
        try:
            yield is_free
        finally:
            if is_free:
                self._lock.release()

    @contextlib.contextmanager
    def hold_and_close(self) -> Generator[None]:
        """The last time: hold it where its folder allows a lock, and close it."""
        with contextlib.ExitStack() as stack:
            stack.callback(self.close)
            with contextlib.suppress(StorageError):
                stack.enter_context(self.hold())
            yield

    def close(self) -> None:
        self._lock.close()
        self._turn.close()


class _LockFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._identity: tuple[int, int] | None = None
        """Device and inode of the file that is open."""
        _opened.add(self)

    def acquire(self, *, wait: bool = True) -> bool:
        """Wait for the lock; if the file was replaced meanwhile, lock the one that is there."""
        assert fcntl is not None  # noqa: S101 - GroveLock refused to be made without it
        while True:
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            except OSError as error:
                raise StorageError(f"cannot lock {self._path}: {error.strerror}") from error
            if self._is_current():
                return True
            self.close()

    def release(self) -> None:
        assert fcntl is not None  # noqa: S101 - see acquire
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            try:
                self._descriptor = os.open(self._path, flags, 0o600)
            except OSError as error:
                raise StorageError(
                    f"cannot open the lock file {self._path}: {error.strerror}",
                    hint="the folder of a grove must be writable, also for its side files",
                ) from error
            ours = os.fstat(self._descriptor)
            self._identity = ours.st_dev, ours.st_ino
        return self._descriptor

    def _is_current(self) -> bool:
        try:
            there = os.stat(self._path)  # noqa: PTH116 - for every commit, and several times faster
        except FileNotFoundError:
            return False
        return (there.st_dev, there.st_ino) == self._identity


_opened: "weakref.WeakSet[_LockFile]" = weakref.WeakSet()


def _let_go_in_child() -> None:
    """A forked child must not keep its parent's lock alive after the parent died."""
    for lock in list(_opened):
        lock.close()


os.register_at_fork(after_in_child=_let_go_in_child)
