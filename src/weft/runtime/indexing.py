"""The search index follows what is written: one thread for each open grove, and whoever searches."""

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable

from weft.errors import WeftError
from weft.store.base import Store
from weft.store.feeding import (
    Mark,
    Portion,
    Size,
    changed_trees,
    count_unindexed,
    lagging_trees,
    move_mark,
    prepare,
    present_mark,
    start_anew,
    write_portions,
)
from weft.store.search import clear_index
from weft.store.transaction import Transaction
from weft.tree.progress import Progress

__all__ = ["catch_up", "reindex", "start_following", "stop_indexing", "wake_follower"]

_SMALL = Size(200, 200_000)
"""A portion that keeps nobody waiting."""
_LARGE = Size(2_000, 2_000_000)
_GATHER_SECONDS = 0.1
"""What is written within this time is indexed together."""
_LOOK_SECONDS = 0.75
"""How often what other processes wrote is looked for."""
_PAUSE_SECONDS = 2.0
"""After something went wrong with the database."""
_END_SECONDS = 30.0
"""How long a portion that is being written may keep a grove from closing."""


def catch_up(
    store: Store,
    *,
    size: Size = _LARGE,
    seconds: float | None = None,
    thorough: bool = True,
    progress: Progress | None = None,
    ended: Callable[[], bool] = lambda: False,
) -> bool:
    """Index what is not indexed yet; False, if the time was too short.

    `thorough` compares every tree; otherwise the event log says which ones changed.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    with store.read() as session:
        since = present_mark(session)
    if since is None:
        store.write(start_anew)
    with store.read() as session:
        since = since or Mark()
        changed, until = changed_trees(session, since)
        pending = deque(lagging_trees(session) if thorough else changed)
        total = count_unindexed(session) if progress is not None else 0
    done = 0
    while pending:
        portions = _gather(store, pending, size)
        if portions:
            done += _write(store, pending, portions)
            if progress is not None:
                progress(min(done, total), total)
        if ended() or (deadline is not None and pending and time.monotonic() > deadline):
            return False
    if until != since:
        store.write(lambda transaction: move_mark(transaction, until))
    return True


def _gather(store: Store, pending: deque[int], size: Size) -> list[Portion]:
    """The next portions, of several trees if they are small."""
    portions: list[Portion] = []
    things, characters = size
    with store.read() as session:
        while pending and things > 0 and characters > 0:
            portion = prepare(session, pending.popleft(), Size(things, characters))
            if portion is not None:
                portions.append(portion)
                things -= len(portion.texts)
                characters -= portion.characters
    return portions


def _write(store: Store, pending: deque[int], portions: list[Portion]) -> int:
    """Write them; what is not complete, or was done by somebody else meanwhile, is looked at again."""
    entries = [portion.entries() for portion in portions]
    written = store.write(lambda transaction: write_portions(transaction, portions, entries))
    for portion, good in zip(portions, written, strict=True):
        if not (good and portion.complete):
            pending.appendleft(portion.tree)
    return sum(len(portion.texts) for portion, good in zip(portions, written, strict=True) if good)


def reindex(store: Store, progress: Progress | None = None) -> None:
    """Make the whole index anew. Others may go on writing and searching; they find what is there so far."""

    def clear(transaction: Transaction) -> None:
        clear_index(transaction)

    store.write(clear)
    catch_up(store, progress=progress)


class _Follower:
    """A thread that indexes shortly after something was written."""

    def __init__(self, store: Store) -> None:
        self.process = os.getpid()
        self._store = weakref.ref(store)
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="weft-indexer", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        if not self._woken.is_set():
            self._woken.set()

    def stop(self) -> None:
        self._stopped.set()
        self._woken.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_END_SECONDS)

    def _follow(self) -> None:
        while not self._stopped.is_set():
            self._woken.wait(_LOOK_SECONDS)
            if self._stopped.wait(_GATHER_SECONDS):
                return
            self._woken.clear()
            store = self._store()
            if store is None:
                return
            try:
                catch_up(store, size=_SMALL, thorough=False, ended=self._stopped.is_set)
            except WeftError:
                # A full disk or a lost server: the writers are told, and the next look tries again.
                self._stopped.wait(_PAUSE_SECONDS)
            del store


_followers: "weakref.WeakKeyDictionary[Store, _Follower]" = weakref.WeakKeyDictionary()
_guard = threading.Lock()


def wake_follower(store: Store) -> None:
    """Something was written: have it indexed within a second, unless only searching may do that."""
    if store.background:
        start_following(store).wake()


def start_following(store: Store) -> _Follower:
    """Have what others write indexed too, from now on."""
    follower = _followers.get(store)
    if follower is None or follower.process != os.getpid():
        with _guard:
            follower = _followers.get(store)
            if follower is None or follower.process != os.getpid():
                follower = _followers[store] = _Follower(store)
    return follower


def stop_indexing(store: Store) -> None:
    """Before a grove is closed."""
    with _guard:
        follower = _followers.pop(store, None)
    if follower is not None and follower.process == os.getpid():
        follower.stop()


def _after_fork() -> None:
    """The thread stayed with the parent; a lock that was held there would never be released here."""
    global _guard  # noqa: PLW0603 - the one lock of the module
    _guard = threading.Lock()
    _followers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
