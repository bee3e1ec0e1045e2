"""The thread that hears models: one event loop for each process, begun when it is first needed."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
_WRITERS = 16
"""Threads that write what was heard: enough of them to commit in groups."""
_WAITERS = 64
"""Threads in which calls with an idempotency key wait for one another."""


class ModelLoop:
    """A loop in a thread of its own, and threads in which it has the store's work done."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="weft-heard")
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
        """Blocking work that is soon done."""
        return await self.loop.run_in_executor(self._writers, work)

    async def in_waiting_thread(self, work: Callable[[], T]) -> T:
        """Blocking work that may wait for others."""
        return await self.loop.run_in_executor(self._waiters, work)

    def slots(self, provider: str, limit: int) -> asyncio.Semaphore:
        """How many calls of one provider run at once, in this process."""
        return self._slots.setdefault(provider, asyncio.Semaphore(limit))


_guard = threading.Lock()
_hearing: ModelLoop | None = None


def model_loop() -> ModelLoop:
    """The one of this process, made on first use."""
    global _hearing  # noqa: PLW0603 - one for each process
    with _guard:
        if _hearing is None or _hearing.process != os.getpid():
            _hearing = ModelLoop()
        return _hearing
