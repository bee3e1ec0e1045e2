"""Following events as they happen: one poller for all who follow an open grove.

The poller keeps the latest events in a ring. Whoever follows takes from the ring at
its own pace; one that fell behind the ring's end reads from the store until it has
caught up. So nobody waits for a slow reader, and a slow reader loses nothing.
"""

import asyncio
import contextlib
import os
import threading
import time
import weakref
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from weft.errors import StorageError, UnavailableError
from weft.runtime.event_cursors import write_cursor
from weft.runtime.events import Event, EventLog, View, event_of, grove_id, read_shown, start_of
from weft.store.base import Store
from weft.store.events import EventRow, Place, head_of, read_events
from weft.store.forking import at_work
from weft.store.transaction import GROVE
from weft.tree.event_kinds import EventKind

__all__ = ["Subscription", "follow", "stop_following"]

_RING = 4_096
_BATCH = 1_000
_SHORTEST, _LONGEST = 0.01, 0.5
"""Seconds between two looks at the store: short after something happened, longer when nothing does."""


class Poller:
    """The one thread of a process that looks for new events of an open grove."""

    def __init__(self, store: Store) -> None:
        # Weak: a grove that nobody has any more must not be kept by those who once followed it.
        self._store = weakref.ref(store)
        self.listeners: weakref.WeakSet[Subscription] = weakref.WeakSet()
        self._stopped = False
        self.begin_anew()
        store.watch(self.wake)
        _pollers.add(self)

    def begin_anew(self) -> None:
        """As if nobody had looked yet: at first, and in a forked child, where the thread is gone."""
        self.changed = threading.Condition()
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._forget()

    def _forget(self) -> None:
        self._ring: list[EventRow] = []
        self._head: Place | None = None
        self._floor: Place | None = None
        """The ring has everything behind this place, up to the head."""

    def wake(self) -> None:
        """Something was committed here: look at once."""
        self._wanted.set()

    def listen(self, listener: "Subscription") -> None:
        with self.changed:
            if self._stopped:
                raise UnavailableError("the grove is closed", hint="open it again")
            self.listeners.add(listener)
        self.start()

    def start(self) -> None:
        """Begin to look, where nobody does: at first, after a rest, in a forked child."""
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
        self._tell()
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)

    @property
    def is_stopped(self) -> bool:
        return self._stopped

    def has_news(self, after: Place) -> bool:
        """Whether there may be something behind a place; the lock is held."""
        return self._head is not None and self._head > after

    def take(self, after: Place, limit: int) -> list[EventRow] | None:
        """What the ring has behind a place; None if that is too long ago."""
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
                if self._stopped or not self.listeners:
                    # Whoever comes next starts another thread.
                    self._thread = None
                    return
            with at_work():
                found = self._look()
            pause = _SHORTEST if found or woken else min(pause * 1.5, _LONGEST)
            if found:
                # Lets a burst of commits be read together, instead of a look for each.
                time.sleep(_SHORTEST / 2)

    def _look(self) -> bool:
        """Read on; False if there was nothing, or the database is away: it is asked again later."""
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
            self._tell()
        return bool(rows)

    def _keep(self, rows: Sequence[EventRow]) -> None:
        gone = [row.payload for row in rows if row.tree == GROVE and row.kind == EventKind.DELETE.value]
        if gone:
            # Deleted events are gone from the store; whoever is behind must not still get them here.
            self._ring = [
                row
                for row in self._ring
                if row.tree == GROVE or not any(str(row.tree_id) in it for it in gone)
            ]
        self._ring.extend(rows)
        if len(self._ring) > 2 * _RING:
            self._floor = self._ring[-_RING - 1].place
            del self._ring[:-_RING]

    def _tell(self) -> None:
        for listener in list(self.listeners):
            listener.tell()


def _place_of(row: EventRow) -> Place:
    return row.place


class Subscription:
    """Events one after the other, from a cursor on, for as long as it is wanted.

    Iterating waits for the next event; with `timeout`, it ends when none came for so
    many seconds. `cursor` is where another one would go on.
    """

    def __init__(
        self,
        poller: Poller,
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
        self._told: Callable[[], None] | None = None
        with log.store.read() as session:
            self._view = log.view(session, trees)
            self._grove = grove_id(session)
            self._place = start_of(session, self._grove, after)
        poller.listen(self)

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
        """Behind what was given out so far."""
        return write_cursor(self._grove, self._place)

    @property
    def is_closed(self) -> bool:
        return self._closed or self._poller.is_stopped

    def close(self) -> None:
        """End it; whoever waits for the next event stops waiting."""
        self._closed = True
        with self._poller.changed:
            self._poller.listeners.discard(self)
            self._poller.changed.notify_all()
        self.tell()

    def on_news(self, callback: Callable[[], None] | None) -> None:
        """Call this (in the poller's thread: do little) whenever there may be something to take."""
        self._told = callback

    def tell(self) -> None:
        callback = self._told
        if callback is not None:
            callback()

    def take(self, limit: int = 100) -> list[Event]:
        """What is there now, without waiting; perhaps nothing."""
        rows, self._place = self._read_on(limit)
        return [event_of(self._grove, row) for row in rows]

    def _read_on(self, limit: int) -> tuple[list[EventRow], Place]:
        if self.is_closed:
            return [], self._place
        self._poller.start()
        self._refresh_rights()
        rows = self._poller.take(self._place, limit)
        if rows is None:
            with self._log.store.read() as session:
                return read_shown(session, self._view, self._place, limit)
        end = rows[-1].place if rows else self._place
        return [row for row in rows if self._view.shows(row)], end

    def _refresh_rights(self) -> None:
        """Somebody may have been let in or shut out since."""
        if any(link.user is not None for link in self._log.actor.chain()):
            with self._log.store.read() as session:
                allowed = self._log.view(session, None).allowed
            self._view = View(allowed, self._view.chosen, self._view.names)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there may be something to take; False when it ended or took too long."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_closed:
            self._poller.start()
            with self._poller.changed:
                if self._poller.has_news(self._place):
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
                yield event_of(self._grove, row)
                if self.is_closed:
                    return
            self._place = end
            if end == before and not self.wait(self._timeout):
                return

    async def batches(self, *, limit: int = 100) -> AsyncIterator[tuple[Event, ...]]:
        """The same for an asyncio program: events as they come, several at once where there are."""
        loop = asyncio.get_running_loop()
        news = asyncio.Event()
        self.on_news(lambda: _set_soon(loop, news))
        try:
            while not self.is_closed:
                news.clear()
                before = self._place
                taken = await asyncio.to_thread(self.take, limit)
                if taken:
                    yield tuple(taken)
                elif self._place == before and not self.is_closed:
                    await news.wait()
        finally:
            self.on_news(None)
            self.close()


def _set_soon(loop: asyncio.AbstractEventLoop, news: asyncio.Event) -> None:
    # The loop may have ended since; then nobody waits.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(news.set)


def follow(
    log: EventLog,
    *,
    after: str | None = None,
    trees: Sequence[str] | None = None,
    timeout: float | None = None,
) -> Subscription:
    """Follow a grove's events; all who do so in one process share one poller."""
    with _finding:
        poller = _by_store.get(log.store)
        if poller is None:
            poller = _by_store[log.store] = Poller(log.store)
    return Subscription(poller, log, after=after, trees=trees, timeout=timeout)


def stop_following(store: Store) -> None:
    """The grove is being closed: everybody who follows it is told so."""
    with _finding:
        poller = _by_store.pop(store, None)
    if poller is not None:
        store.unwatch(poller.wake)
        poller.stop()


_pollers: "weakref.WeakSet[Poller]" = weakref.WeakSet()
_by_store: "weakref.WeakKeyDictionary[Store, Poller]" = weakref.WeakKeyDictionary()
_finding = threading.Lock()


def _begin_anew_in_child() -> None:
    """Threads do not survive a fork, and locks may be held by those that are gone."""
    global _finding  # noqa: PLW0603 - a lock that another thread held would never be free here
    _finding = threading.Lock()
    for poller in list(_pollers):
        poller.begin_anew()


os.register_at_fork(after_in_child=_begin_anew_in_child)
