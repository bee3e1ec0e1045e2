"""Threads that look after an open grove by themselves: woken by every commit here, and now and then."""

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

from weft.errors import WeftError
from weft.store.base import Store

__all__ = ["Attendant", "attend", "dismiss"]

A = TypeVar("A", bound="Attendant")

_PAUSE_SECONDS = 2.0
"""After something went wrong with the database."""


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
        self._woken = threading.Event()
        self.stopping = threading.Event()
        self._thread: threading.Thread | None = None
        store.watch(self.wake)

    @abstractmethod
    def attend(self, store: Store) -> None:
        """Do what there is to do, and look at `stopping` in between."""

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
        while True:
            self._woken.clear()
            if self.stopping.wait(self.gather):
                return
            store = self._store()
            if store is None:
                return
            try:
                self.attend(store)
            except WeftError:
                # A full disk or a lost server: the writers are told, and the next look tries again.
                self.stopping.wait(_PAUSE_SECONDS)
            del store
            self._woken.wait(self.every)


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
