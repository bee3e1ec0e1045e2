"""Threads that look after an open grove by themselves: woken by every commit here, and now and then."""

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

from weft.errors import WeftError
from weft.log import Log
from weft.store.base import Store
from weft.store.forking import at_work

__all__ = ["Attendant", "attend", "dismiss"]

A = TypeVar("A", bound="Attendant")

_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 120.0
"""Seconds after a failure; each pause is twice the one before."""
_log = Log("weft.background")


class Attendant(ABC):
    """One thing that is to be done again and again. A grove that nobody has any more is not kept by it."""

    name: ClassVar[str]
    """Of its thread."""
    every: ClassVar[float]
    """Seconds after which it looks without being woken: what other processes wrote wakes nobody here."""
    gather: ClassVar[float] = 0.0
    """What is written within this time is looked at together."""
    patience: ClassVar[float]
    """Seconds that work under way may keep a grove from closing."""

    def __init__(self, store: Store) -> None:
        self._store = weakref.ref(store)
        self.begin_anew()
        store.watch(self.wake)

    @abstractmethod
    def attend(self, store: Store) -> None:
        """Do what there is to do, and look at `stopping` in between."""

    def begin_anew(self) -> None:
        """At first, and in a forked child, where the thread is gone and locks may be held for ever."""
        self._woken = threading.Event()
        self.stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Something was committed."""
        self.start()
        if not self._woken.is_set():
            self._woken.set()

    @property
    def is_woken(self) -> bool:
        """Whether something was committed since it last began to gather."""
        return self._woken.is_set()

    def start(self) -> None:
        """Begin to look, unless it has begun."""
        if self._thread is not None:
            return
        with _guard:
            if self._thread is None and not self.stopping.is_set():
                self._thread = threading.Thread(target=self._loop, name=self.name, daemon=True)
                self._thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self._woken.set()
        store = self._store()
        if store is not None:
            store.unwatch(self.wake)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(self.patience)

    def _loop(self) -> None:
        failures = 0
        while True:
            self._woken.clear()
            if self.stopping.wait(self.gather):
                return
            store = self._store()
            if store is None:
                return
            failures = 0 if self._succeeds(store) else failures + 1
            del store
            if failures and self.stopping.wait(_pause_after(failures)):
                return
            self._woken.wait(self.every)

    def _succeeds(self, store: Store) -> bool:
        """Work once. A failure is logged and tried again later: without this thread nothing would be done."""
        try:
            with at_work():
                self.attend(store)
        except WeftError as error:
            # A full disk or a lost server: expected to pass, and reported to the writers as well.
            _log.warning("background work failed", worker=self.name, code=error.code, error=error.message)
        except BaseException as error:  # noqa: BLE001 - the top of the thread: there is no caller to raise it to
            _log.failure("background work failed", error, worker=self.name)
        else:
            return True
        return False


def _pause_after(failures: int) -> float:
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures - 1, 60))


_attending: "weakref.WeakKeyDictionary[Store, list[Attendant]]" = weakref.WeakKeyDictionary()
_guard = threading.RLock()


def attend(store: Store, kind: type[A], make: Callable[[], A]) -> A:
    """The store's attendant of a kind; made, if there is none yet."""
    with _guard:
        here = _attending.setdefault(store, [])
        for each in here:
            if isinstance(each, kind):
                return each
        made = make()
        here.append(made)
        return made


def dismiss(store: Store, kind: type[Attendant] = Attendant) -> None:
    """Stop those of a kind, or all, before a grove is closed."""
    with _guard:
        here = _attending.get(store, [])
        going = [each for each in here if isinstance(each, kind)]
        here[:] = [each for each in here if each not in going]
    for each in going:
        each.stop()


def _after_fork() -> None:
    """Threads stayed with the parent; a lock that was held there would never be released here."""
    global _guard  # noqa: PLW0603 - the one lock of the module
    _guard = threading.RLock()
    for here in list(_attending.values()):
        for each in here:
            each.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
