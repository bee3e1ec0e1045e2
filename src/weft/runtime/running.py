"""Generations under way in this process, by store: stopped, and what came kept, before a grove is closed."""

import contextlib
import threading
import weakref
from concurrent.futures import CancelledError
from typing import Protocol

from sqlalchemy import select

from weft.errors import WeftError
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.store import schema
from weft.store.base import Store

__all__ = ["UnderWay", "close_left_behind", "note_run", "stop_runs"]

_PATIENCE = 30.0


class UnderWay(Protocol):
    """What can be stopped."""

    def stop(self) -> None: ...
    def wait(self, timeout: float | None = None) -> None: ...
    @property
    def is_over(self) -> bool: ...


_runs: "weakref.WeakKeyDictionary[Store, weakref.WeakSet[UnderWay]]" = weakref.WeakKeyDictionary()
"""Kept alive by the loop that they run in, and by nobody here: a run knows its store."""
_guard = threading.Lock()


def note_run(store: Store, run: UnderWay) -> None:
    with _guard:
        _runs.setdefault(store, weakref.WeakSet()).add(run)


def stop_runs(store: Store) -> None:
    """Stop all of a grove's, and wait until what came is kept."""
    with _guard:
        here = [run for run in _runs.get(store, ()) if not run.is_over]
    for run in here:
        run.stop()
    for run in here:
        with contextlib.suppress(WeftError, TimeoutError, CancelledError):
            run.wait(_PATIENCE)


def close_left_behind(gate: Executor, actor: Actor) -> int:
    """End the calls and runs of processes that died. One look, where there are none."""
    with gate.store.read() as session:
        calls, runs = (
            session.execute(select(table.c.tree).limit(1)).first() is not None
            for table in (schema.calls, schema.runs)
        )
    closed = 0
    with contextlib.suppress(WeftError):
        # Whoever opens a grove wants something else; what cannot be done now is done by the next.
        if calls:
            from weft.runtime.generating.closing import close_dead_calls  # noqa: PLC0415 - rarely needed

            closed += close_dead_calls(gate, actor)
        if runs:
            from weft.runtime.collaborating.closing import close_dead_runs  # noqa: PLC0415 - rarely needed

            closed += close_dead_runs(gate, actor)
    return closed
