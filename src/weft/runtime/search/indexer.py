"""The search index: updated by one thread for each open grove, and before each search."""

import time
from collections import deque
from collections.abc import Callable
from typing import ClassVar

from weft.runtime.coordination.background import BackgroundWorker, worker_of
from weft.store.base import Store
from weft.store.events import EventPosition
from weft.store.text_index import (
    Portion,
    Size,
    changed_trees,
    clear_index,
    count_unindexed,
    create_index,
    lagging_trees,
    move_mark,
    prepare,
    present_mark,
    write_portions,
)
from weft.store.transaction import Transaction
from weft.tree.progress import Progress

_SMALL = Size(200, 200_000)
"""Small enough not to delay writers."""
_LARGE = Size(2_000, 2_000_000)
_SHARE = 3.0
"""While others write, the indexer pauses for this many times as long as it worked."""


def catch_up(
    store: Store,
    *,
    size: Size = _LARGE,
    seconds: float | None = None,
    thorough: bool = True,
    progress: Progress | None = None,
    ended: Callable[[], bool] = lambda: False,
    rest: Callable[[float], object] = lambda _took: None,
) -> bool:
    """Index what is not indexed yet; False if the time was too short.

    `thorough` compares every tree; otherwise the event log says which ones changed. `rest` is called
    after each portion with the seconds it took.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    with store.read() as session:
        since = present_mark(session)
    if since is None:
        store.write(create_index)
    with store.read() as session:
        since = since or EventPosition(0, 0)
        changed, until = changed_trees(session, since)
        pending = deque(lagging_trees(session) if thorough else changed)
        total = count_unindexed(session) if progress is not None else 0
    done = 0
    while pending:
        began = time.monotonic()
        portions = _gather(store, pending, size)
        if portions:
            # The last portion takes the mark along: a commit less for each round.
            last = until if until != since and not pending else None
            done += _write(store, pending, portions, last)
            since = until if last is not None and not pending else since
            if progress is not None:
                progress(min(done, total), total)
        rest(time.monotonic() - began)
        if ended() or (deadline is not None and pending and time.monotonic() > deadline):
            return False
    if until != since:
        store.write(lambda transaction: move_mark(transaction, until))
    if progress is not None:
        # Others may have done some of it meanwhile.
        progress(total, total)
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


def _write(store: Store, pending: deque[int], portions: list[Portion], mark: EventPosition | None) -> int:
    """Write the portions; a tree that is not complete, or that another process indexed meanwhile, is pending again.

    If none is, the mark is moved with them.
    """
    entries = [portion.entries() for portion in portions]

    def work(transaction: Transaction) -> list[bool]:
        good = write_portions(transaction, portions, entries)
        if mark is not None and all(good) and all(portion.complete for portion in portions):
            move_mark(transaction, mark)
        return good

    written = store.write(work)
    for portion, good in zip(portions, written, strict=True):
        if not (good and portion.complete):
            pending.appendleft(portion.tree)
    return sum(len(portion.texts) for portion, good in zip(portions, written, strict=True) if good)


def reindex(store: Store, progress: Progress | None = None) -> None:
    """Rebuild the whole index. Meanwhile others can write, and search what is indexed so far."""
    store.write(clear_index)
    catch_up(store, progress=progress)


class _Indexer(BackgroundWorker):
    """Indexes shortly after a commit."""

    name: ClassVar[str] = "weft-indexer"
    every: ClassVar[float] = 0.75
    gather: ClassVar[float] = 0.25
    patience: ClassVar[float] = 30.0

    def work(self, store: Store) -> None:
        catch_up(store, size=_SMALL, thorough=False, ended=self.stopping.is_set, rest=self._rest)

    def _rest(self, took: float) -> None:
        """Leave most of the time to those who write; a search catches up anyway."""
        if self.is_woken:
            self.stopping.wait(_SHARE * took)


def follow_index(store: Store) -> BackgroundWorker:
    """Index what is written through this store, from its next commit on."""
    return worker_of(store, _Indexer, lambda: _Indexer(store))
