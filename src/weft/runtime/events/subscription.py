"""Subscriptions to new events: all subscriptions to an open grove share one poller.

The poller keeps the latest events in a ring. A subscription takes from the ring at its own
pace; one that fell behind the ring reads from the store until it has caught up. So a slow
reader delays no other and loses nothing.
"""

import asyncio
import contextlib
import threading
import time
import weakref
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from weft.errors import StorageError, UnavailableError
from weft.log import Log
from weft.runtime.events.log import (
    Event,
    EventFilter,
    EventLog,
    event_from_row,
    grove_id,
    read_visible,
    start_place,
    write_cursor,
)
from weft.store.base import Store
from weft.store.events import EventPosition, EventRow, head_of, read_events
from weft.store.transaction import GROVE
from weft.tree.event_kinds import EventKind

_log = Log("weft.events")
_RING = 4_096
_BATCH = 1_000
_SHORTEST, _LONGEST = 0.01, 0.5
"""Seconds between two polls: short after an event, longer while there are none."""


class EventPoller:
    """The one thread of a process that polls an open grove for new events."""

    def __init__(self, store: Store) -> None:
        # Weak: a subscription must not keep a dropped grove open.
        self._store = weakref.ref(store)
        self.subscriptions: weakref.WeakSet[Subscription] = weakref.WeakSet()
        self._stopped = False
        self.changed = threading.Condition()
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._forget()
        store.watch(self.wake)

    def _forget(self) -> None:
        self._ring: list[EventRow] = []
        self._head: EventPosition | None = None
        self._floor: EventPosition | None = None
        """The ring has every event after this place, up to the head."""

    def wake(self) -> None:
        """Poll at once: something was committed in this process."""
        self._wanted.set()

    def add(self, subscription: "Subscription") -> None:
        with self.changed:
            if self._stopped:
                raise UnavailableError("the grove is closed", hint="open it again")
            self.subscriptions.add(subscription)
        self.start()

    def start(self) -> None:
        """Start the thread unless it runs: at first, and after it has stopped for lack of subscriptions."""
        with self.changed:
            if not self._stopped and (self._thread is None or not self._thread.is_alive()):
                self._forget()
                self._thread = threading.Thread(target=self._loop, name="weft-events", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        with self.changed:
            self._stopped = True
            self._wanted.set()
            thread = self._thread
            self.changed.notify_all()
        self._notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)

    @property
    def is_stopped(self) -> bool:
        return self._stopped

    def has_events(self, after: EventPosition) -> bool:
        """True if there may be events after a place; the caller holds the lock."""
        return self._head is not None and self._head > after

    def take(self, after: EventPosition, limit: int) -> list[EventRow] | None:
        """The ring's events after a place; None if the ring no longer reaches back to it."""
        with self.changed:
            if self._floor is None or after < self._floor:
                return None
            first = bisect_right(self._ring, after, key=_place_of)
            return self._ring[first : first + limit]

    def _loop(self) -> None:
        pause = _SHORTEST
        while True:
            woken = self._wanted.wait(pause)
            self._wanted.clear()
            with self.changed:
                if self._stopped or not self.subscriptions:
                    # The next subscription starts another thread.
                    self._thread = None
                    return
            try:
                has_read = self._poll()
            except Exception as error:  # noqa: BLE001 - all subscriptions depend on this thread
                _log.failure("polling for events failed", error)
                has_read = False
            pause = _SHORTEST if has_read or woken else min(pause * 1.5, _LONGEST)
            if has_read:
                # Lets a burst of commits be read together, instead of a poll for each.
                time.sleep(_SHORTEST / 2)

    def _poll(self) -> bool:
        """Read new events; False if there are none, or the database is unavailable: the next poll tries again."""
        store = self._store()
        if store is None:
            return False
        try:
            with store.read() as session:
                rows = [] if self._head is None else read_events(session, self._head, limit=_BATCH)
                head = rows[-1].place if rows else self._head or head_of(session)
        except (UnavailableError, StorageError):
            return False
        with self.changed:
            is_new = head != self._head
            self._head = head
            self._floor = head if self._floor is None else self._floor
            self._keep(rows)
            if is_new:
                self.changed.notify_all()
        if is_new:
            self._notify()
        return bool(rows)

    def _keep(self, rows: Sequence[EventRow]) -> None:
        gone = [row.payload for row in rows if row.tree == GROVE and row.kind == EventKind.DELETE.value]
        if gone:
            # Deleted events are gone from the store; a slow subscription must not get them from here.
            self._ring = [
                row
                for row in self._ring
                if row.tree == GROVE or not any(str(row.tree_id) in it for it in gone)
            ]
        self._ring.extend(rows)
        if len(self._ring) > 2 * _RING:
            self._floor = self._ring[-_RING - 1].place
            del self._ring[:-_RING]

    def _notify(self) -> None:
        for subscription in list(self.subscriptions):
            subscription.notify()


def _place_of(row: EventRow) -> EventPosition:
    return row.place


class Subscription:
    """Events one by one from a cursor on, until it is closed.

    Iterating waits for the next event; with `timeout`, it ends when none came for that
    many seconds. `cursor` is where another subscription would resume.
    """

    def __init__(
        self,
        poller: EventPoller,
        log: EventLog,
        *,
        after: str | None = None,
        trees: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> None:
        self._poller = poller
        self._log = log
        self._timeout = timeout
        self._closed = False
        self._callback: Callable[[], None] | None = None
        with log.store.read() as session:
            self._filter = log.filter(session, trees)
            self._grove = grove_id(session)
            self._place = start_place(session, self._grove, after)
        poller.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def cursor(self) -> str:
        """After the last event that was returned."""
        return write_cursor(self._grove, self._place)

    @property
    def is_closed(self) -> bool:
        return self._closed or self._poller.is_stopped

    def close(self) -> None:
        """End the subscription, and any wait for the next event."""
        self._closed = True
        with self._poller.changed:
            self._poller.subscriptions.discard(self)
            self._poller.changed.notify_all()
        self.notify()

    def on_events(self, callback: Callable[[], None] | None) -> None:
        """Call this whenever there may be events to take. It runs in the poller's thread: keep it short."""
        self._callback = callback

    def notify(self) -> None:
        callback = self._callback
        if callback is not None:
            callback()

    def take(self, limit: int = 100) -> list[Event]:
        """The events there are now, without waiting; perhaps none."""
        rows, self._place = self._read_on(limit)
        return [event_from_row(self._grove, row) for row in rows]

    def _read_on(self, limit: int) -> tuple[list[EventRow], EventPosition]:
        if self.is_closed:
            return [], self._place
        self._poller.start()
        self._refresh_rights()
        rows = self._poller.take(self._place, limit)
        if rows is None:
            with self._log.store.read() as session:
                return read_visible(session, self._filter, self._place, limit)
        end = rows[-1].place if rows else self._place
        return [row for row in rows if self._filter.shows(row)], end

    def _refresh_rights(self) -> None:
        """The rights of the users may have changed since."""
        if any(link.user is not None for link in self._log.actor.chain()):
            with self._log.store.read() as session:
                allowed = self._log.filter(session, None).allowed
            self._filter = EventFilter(allowed, self._filter.chosen, self._filter.names)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there may be events to take; False if it was closed or the time is up."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_closed:
            self._poller.start()
            with self._poller.changed:
                if self._poller.has_events(self._place):
                    return True
                left = _LONGEST if end is None else min(_LONGEST, end - time.monotonic())
                if left <= 0 or self.is_closed:
                    return False
                self._poller.changed.wait(left)
        return False

    def __iter__(self) -> Iterator[Event]:
        while True:
            before = self._place
            rows, end = self._read_on(_RING)
            for row in rows:
                # Event by event, so that `cursor` is right wherever the reader stops.
                self._place = row.place
                yield event_from_row(self._grove, row)
                if self.is_closed:
                    return
            self._place = end
            if end == before and not self.wait(self._timeout):
                return

    async def batches(self, *, limit: int = 100) -> AsyncIterator[tuple[Event, ...]]:
        """The same for asyncio: events as they come, several at once if there are."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        self.on_events(lambda: _set_soon(loop, ready))
        try:
            while not self.is_closed:
                ready.clear()
                before = self._place
                taken = await asyncio.to_thread(self.take, limit)
                if taken:
                    yield tuple(taken)
                elif self._place == before and not self.is_closed:
                    await ready.wait()
        finally:
            self.on_events(None)
            self.close()


def _set_soon(loop: asyncio.AbstractEventLoop, ready: asyncio.Event) -> None:
    # The loop may have ended since; then there is no waiter.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(ready.set)


def follow(
    log: EventLog,
    *,
    after: str | None = None,
    trees: Sequence[str] | None = None,
    timeout: float | None = None,
) -> Subscription:
    """Subscribe to a grove's events. All subscriptions of one process share one poller."""
    with _finding:
        poller = _by_store.get(log.store)
        if poller is None:
            poller = _by_store[log.store] = EventPoller(log.store)
    return Subscription(poller, log, after=after, trees=trees, timeout=timeout)


def stop_following(store: Store) -> None:
    """End all subscriptions: the grove is being closed."""
    with _finding:
        poller = _by_store.pop(store, None)
    if poller is not None:
        store.unwatch(poller.wake)
        poller.stop()


_by_store: "weakref.WeakKeyDictionary[Store, EventPoller]" = weakref.WeakKeyDictionary()
_finding = threading.Lock()
