"""Stopping runs from anywhere: a wish is left in the database, and the process that runs them looks for it."""

import contextlib
import threading
import weakref
from typing import Protocol

from weft.errors import WeftError
from weft.runtime.coordination.background import ActiveRun
from weft.store.base import Store
from weft.store.run_records import stops_asked

_LOOK_EVERY = 0.25
"""Seconds between two looks, while there are runs in this process."""


class StoppableRun(ActiveRun, Protocol):
    """A run whose calls can be stopped one by one."""

    def stop_attempt(self, attempt: str) -> None: ...


class _StopWatcher:
    """One thread for an open grove, for as long as something runs in it."""

    def __init__(self, store: Store) -> None:
        self._store = weakref.ref(store)
        self._runs: weakref.WeakValueDictionary[str, StoppableRun] = weakref.WeakValueDictionary()
        self._told: set[str] = set()
        self._woken = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, run: str, running: StoppableRun) -> None:
        with self._guard:
            self._runs[run] = running
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="weft-stops", daemon=True)
                self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def _loop(self) -> None:
        while True:
            self._woken.wait(_LOOK_EVERY)
            self._woken.clear()
            with self._guard:
                running = {run: each for run, each in self._runs.items() if not each.is_over}
                store = self._store()
                if not running or store is None:
                    # The next run starts another thread.
                    self._thread = None
                    self._told.clear()
                    return
            with contextlib.suppress(WeftError):
                # A database that is away is asked again.
                self._look(store, running)
            del store

    def _look(self, store: Store, running: dict[str, StoppableRun]) -> None:
        with store.read() as session:
            whole, single = stops_asked(session, list(running))
        for run in whole - self._told:
            running[run].stop()
        for attempt in single - self._told:
            for each in running.values():
                each.stop_attempt(attempt)
        self._told |= whole | single


_watchers: "weakref.WeakKeyDictionary[Store, _StopWatcher]" = weakref.WeakKeyDictionary()
_making = threading.Lock()


def watch_stops(store: Store, run: str, running: StoppableRun) -> None:
    """Stop this run, or one of its calls, when somebody wishes it."""
    with _making:
        watcher = _watchers.get(store)
        if watcher is None:
            watcher = _watchers[store] = _StopWatcher(store)
    watcher.add(run, running)


def look_for_stops(store: Store) -> None:
    """Somebody in this process has just left such a wish."""
    watcher = _watchers.get(store)
    if watcher is not None:
        watcher.wake()
