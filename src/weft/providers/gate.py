"""A gate that a test opens, so that a stream stands still exactly where the test wants it."""

import asyncio
import threading
from collections import deque

__all__ = ["Gate"]


class Gate:
    """Lets through as many pieces as it was told to. Any thread may open it."""

    def __init__(self, allowed: int = 0) -> None:
        self._allowed: int | None = allowed
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._changed = threading.Condition()
        self.passed = 0
        """How many pieces went through."""

    async def go_through(self) -> None:
        with self._changed:
            if self._allowed is None or self._allowed > 0:
                self._allowed = None if self._allowed is None else self._allowed - 1
                self.passed += 1
                return
            loop = asyncio.get_running_loop()
            ticket = loop.create_future()
            self._waiting.append((loop, ticket))
            self._changed.notify_all()
        try:
            await ticket
        except asyncio.CancelledError:
            with self._changed:
                self._waiting = deque(each for each in self._waiting if each[1] is not ticket)
            raise

    def let(self, count: int = 1) -> None:
        """Let so many more pieces through."""
        with self._changed:
            for _ in range(count):
                if self._waiting:
                    self._release()
                elif self._allowed is not None:
                    self._allowed += 1

    def open(self) -> None:
        """Let everything through from now on."""
        with self._changed:
            self._allowed = None
            while self._waiting:
                self._release()

    def _release(self) -> None:
        loop, ticket = self._waiting.popleft()
        self.passed += 1
        loop.call_soon_threadsafe(_settle, ticket)

    def wait(self, count: int = 1, *, timeout: float = 30) -> None:
        """Block this thread until so many streams stand before the gate."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._waiting) >= count, timeout):
                raise TimeoutError(f"{len(self._waiting)} of {count} came to the gate")

    async def reached(self, count: int = 1) -> None:
        """The same without blocking the event loop."""
        await asyncio.to_thread(self.wait, count)


def _settle(ticket: asyncio.Future[None]) -> None:
    if not ticket.done():
        ticket.set_result(None)
