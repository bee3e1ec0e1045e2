"""Background threads of an open grove, and the generations it has to stop before it is closed."""

import asyncio
import contextlib
import functools
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, ClassVar, Protocol, TypeVar

from weft.errors import WeftError
from weft.log import Log
from weft.store.base import Store

W = TypeVar("W", bound="BackgroundWorker")

_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 120.0
"""Seconds after a failure; each pause is twice the one before."""
_RUN_PATIENCE = 30.0
"""Seconds to wait for a run that was asked to stop."""
_log = Log("weft.background")


class BackgroundWorker(ABC):
    """A daemon thread that works after commits and at intervals.

    It keeps no reference to the store: a grove that was dropped without `close` ends its workers.
    """

    name: ClassVar[str]
    """Of its thread."""
    every: ClassVar[float]
    """Seconds between two rounds without a commit here: commits of other processes do not wake it."""
    gather: ClassVar[float] = 0.0
    """Seconds to wait after a commit, so that commits close together are handled in one round."""
    patience: ClassVar[float]
    """Seconds that closing a grove waits for a round under way."""

    def __init__(self, store: Store) -> None:
        self._store = weakref.ref(store)
        self._woken = threading.Event()
        self.stopping = threading.Event()
        self._thread: threading.Thread | None = None
        store.watch(self.wake)

    @abstractmethod
    def work(self, store: Store) -> None:
        """Do what there is to do; check `stopping` in between."""

    def wake(self) -> None:
        """Something was committed."""
        self.start()
        if not self._woken.is_set():
            self._woken.set()

    @property
    def is_woken(self) -> bool:
        """True if something was committed since it last began to gather."""
        return self._woken.is_set()

    def start(self) -> None:
        """Start the thread, unless it runs."""
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
            self.work(store)
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


class ActiveRun(Protocol):
    """A generation or collaboration under way in this process."""

    def stop(self) -> None: ...
    def wait(self, timeout: float | None = None) -> None: ...
    @property
    def is_over(self) -> bool: ...


_workers: "weakref.WeakKeyDictionary[Store, list[BackgroundWorker]]" = weakref.WeakKeyDictionary()
_runs: "weakref.WeakKeyDictionary[Store, weakref.WeakSet[ActiveRun]]" = weakref.WeakKeyDictionary()
"""Weak: the loop that a run is in keeps it alive, and a run refers to its store."""
_guard = threading.RLock()


def worker_of(store: Store, kind: type[W], make: Callable[[], W]) -> W:
    """Return the store's worker of a kind; made, if there is none yet."""
    with _guard:
        workers = _workers.setdefault(store, [])
        for worker in workers:
            if isinstance(worker, kind):
                return worker
        made = make()
        workers.append(made)
        return made


def stop_workers(store: Store, kind: type[BackgroundWorker] = BackgroundWorker) -> None:
    """Stop the workers of a kind, or all, before a grove is closed."""
    with _guard:
        workers = _workers.get(store, [])
        stopped = [worker for worker in workers if isinstance(worker, kind)]
        workers[:] = [worker for worker in workers if worker not in stopped]
    for worker in stopped:
        worker.stop()


def register_run(store: Store, run: ActiveRun) -> None:
    with _guard:
        _runs.setdefault(store, weakref.WeakSet()).add(run)


def stop_runs(store: Store) -> None:
    """Stop all of a grove's runs, and wait until what they received is saved."""
    with _guard:
        runs = [run for run in _runs.get(store, ()) if not run.is_over]
    for run in runs:
        run.stop()
    for run in runs:
        with contextlib.suppress(WeftError, TimeoutError, CancelledError):
            run.wait(_RUN_PATIENCE)


T = TypeVar("T")
_WRITERS = 16
"""Threads that write answers: enough of them to commit in groups."""
_WAITERS = 64
"""Threads in which calls with an idempotency key wait for one another."""


class ModelLoop:
    """The event loop in which this process calls models, and threads for the store's work."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="weft-writer")
        self._waiters = ThreadPoolExecutor(_WAITERS, thread_name_prefix="weft-once")
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._thread = threading.Thread(target=self._run, name="weft-models", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run short blocking work."""
        return await self.loop.run_in_executor(self._writers, work)

    async def in_waiting_thread(self, work: Callable[[], T]) -> T:
        """Run blocking work that may wait for another call."""
        return await self.loop.run_in_executor(self._waiters, work)

    def slots(self, provider: str, limit: int) -> asyncio.Semaphore:
        """Limits how many calls of one provider run at once in this process."""
        return self._slots.setdefault(provider, asyncio.Semaphore(limit))


@functools.cache
def _loop_of(process: int) -> ModelLoop:
    del process
    return ModelLoop()


def model_loop() -> ModelLoop:
    """The loop of this process, made on first use."""
    with _guard:
        return _loop_of(os.getpid())
