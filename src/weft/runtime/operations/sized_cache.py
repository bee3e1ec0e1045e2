"""Values used last, up to a fixed amount of memory."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """Forgets what was used longest ago when the room is full. Safe to share between threads."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._used = 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        return self.get_all([key]).get(key)

    def get_all(self, keys: Iterable[K]) -> dict[K, V]:
        """Those that are there."""
        there: dict[K, V] = {}
        if not self._values:
            return there
        with self._lock:
            for key in keys:
                held = self._values.get(key)
                if held is not None:
                    self._values.move_to_end(key)
                    there[key] = held[0]
        return there

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value, unless it would take more than a quarter of the room."""
        self.put_all([(key, value, size)])

    def put_all(self, values: Iterable[tuple[K, V, int]]) -> None:
        """The same for many: keys, values, sizes."""
        with self._lock:
            for key, value, size in values:
                if key in self._values:
                    self._used -= self._values.pop(key)[1]
                if size <= self._room // 4:
                    self._values[key] = value, size
                    self._used += size
            while self._used > self._room:
                _, (_, gone) = self._values.popitem(last=False)
                self._used -= gone

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._used = 0
