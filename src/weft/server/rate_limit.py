"""Rate limits: how many requests a client may make in a time, and how many at once."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from weft.errors import RateLimitedError, UnavailableError

_MOST_CLIENTS = 10_000
"""Clients that are remembered; the one that called longest ago is forgotten first."""


@dataclass(slots=True)
class RateLimiter:
    """A bucket for each client: it holds `burst` requests and is refilled with `rate` a second."""

    rate: float
    burst: float
    clock: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, tuple[float, float]] = field(
        default_factory=OrderedDict[str, tuple[float, float]]
    )
    """Client → what its bucket held, and when."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, client: str, message: str = "too many requests") -> None:
        """Count one request; raises `RateLimitedError` if the bucket is empty."""
        with self._lock:
            left, now = self._left(client)
            if left < 1:
                raise RateLimitedError(message, retry_after=(1 - left) / self.rate)
            self._buckets[client] = left - 1, now
            self._buckets.move_to_end(client)
            if len(self._buckets) > _MOST_CLIENTS:
                self._buckets.popitem(last=False)

    def is_empty(self, client: str) -> bool:
        with self._lock:
            return self._left(client)[0] < 1

    def _left(self, client: str) -> tuple[float, float]:
        now = self.clock()
        left, since = self._buckets.get(client, (self.burst, now))
        return min(self.burst, left + (now - since) * self.rate), now


@dataclass(slots=True)
class OpenRequests:
    """How many requests each client has open: streams, and those that are not answered yet."""

    most: int
    _open: dict[str, int] = field(default_factory=dict[str, int])

    @contextmanager
    def one(self, client: str) -> Generator[None]:
        """One more while the body runs; raises `RateLimitedError` over the limit. In the event loop only."""
        count = self._open.get(client, 0)
        if count >= self.most:
            raise RateLimitedError(f"{count} requests are open already", retry_after=1)
        self._open[client] = count + 1
        try:
            yield
        finally:
            left = self._open[client] - 1
            if left:
                self._open[client] = left
            else:
                del self._open[client]


@dataclass(slots=True)
class BodiesInMemory:
    """Bytes of the bodies that are held for requests which are not answered yet."""

    most: int
    _held: int = 0

    def take(self, size: int) -> None:
        """Hold so many more; raises `UnavailableError` over the limit. In the event loop only."""
        if self._held + size > self.most:
            raise UnavailableError("the server holds too many large requests", hint="try again in a moment")
        self._held += size

    def give_back(self, size: int) -> None:
        self._held -= size


def seconds(retry_after: float) -> str:
    """For the header `Retry-After`: whole seconds, at least one."""
    return str(max(1, math.ceil(retry_after)))
