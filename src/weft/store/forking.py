"""Forking while our own threads work.

SQLite (and malloc) guard what they share with locks. A child that is forked while one of
our threads holds such a lock has it locked for ever, with nobody to let go. So a fork waits
until the threads that Weft runs by itself are between two pieces of work.
"""

import contextlib
import os
import threading
from collections.abc import Generator

__all__ = ["at_work"]

_PATIENCE_SECONDS = 5.0
"""Whoever forks inside a piece of work must not wait for itself."""


class _Threads:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working = 0
        self._forking = 0

    def begin(self) -> None:
        with self._changed:
            # While another is at work it may need this one to get done: the indexer needs the writer.
            while self._forking and not self._working:
                self._changed.wait(_PATIENCE_SECONDS)
            self._working += 1

    def end(self) -> None:
        with self._changed:
            self._working -= 1
            if not self._working:
                self._changed.notify_all()

    def hold(self) -> None:
        """Let nobody begin, and wait for those who have."""
        with self._changed:
            self._forking += 1
            self._changed.wait_for(lambda: not self._working, _PATIENCE_SECONDS)

    def release(self) -> None:
        with self._changed:
            self._forking -= 1
            self._changed.notify_all()


_threads = _Threads()


@contextlib.contextmanager
def at_work() -> Generator[None]:
    """Around each piece of work of a thread that Weft runs by itself."""
    threads = _threads
    threads.begin()
    try:
        yield
    finally:
        threads.end()


def _in_child() -> None:
    global _threads  # noqa: PLW0603 - the parent's threads are not here
    _threads = _Threads()


def _before() -> None:
    _threads.hold()


def _in_parent() -> None:
    _threads.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
