"""Maintenance of an open grove: fetch due timestamps, close what dead processes left."""

import contextlib
from typing import TYPE_CHECKING, ClassVar

from sqlalchemy import select

from weft.errors import WeftError
from weft.runtime.coordination.background import BackgroundWorker, worker_of
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.store import schema
from weft.store.base import Store
from weft.store.jobs import TIMESTAMP_JOB
from weft.store.provider_caches import CACHE_JOB

if TYPE_CHECKING:
    from weft.runtime.coordination.jobs import RunningJob


class _MaintenanceWorker(BackgroundWorker):
    """Fetches timestamps that were requested, and ends the calls of processes that died."""

    name: ClassVar[str] = "weft-jobs"
    every: ClassVar[float] = 2.0
    gather: ClassVar[float] = 0.5
    """None of this is urgent: a round after every commit would cost writers more than writing does."""
    patience: ClassVar[float] = 1.0
    """A slow authority is not waited for: its answer is requested again next time."""

    def __init__(self, executor: Executor, owner: int) -> None:
        super().__init__(executor.store)
        self._settings = executor.clock, executor.entropy, executor.accept_clock
        self._owner = owner
        self._providers = executor.providers

    def work(self, store: Store) -> None:
        executor = Executor(store, *self._settings)
        close_abandoned(executor, Actor(self._owner))

        from weft.runtime.coordination.jobs import JobKind, JobRunner  # noqa: PLC0415 - background only

        def fetch(job: "RunningJob") -> None:
            from weft.runtime.evidence.timestamps import (  # noqa: PLC0415 - brings cryptography along
                fetch_due,
            )

            fetch_due(executor, Actor(self._owner), ended=lambda: job.should_stop)

        def delete_caches(job: "RunningJob") -> None:
            from weft.providers.base import installed_providers  # noqa: PLC0415 - rarely needed
            from weft.runtime.generation.provider_caches import (  # noqa: PLC0415 - rarely needed
                delete_retired_caches,
            )

            delete_retired_caches(executor, self._providers or installed_providers(), job)

        kinds = {TIMESTAMP_JOB: JobKind(run=fetch), CACHE_JOB: JobKind(run=delete_caches)}
        JobRunner(executor, kinds, stopping=self.stopping).run_pending()


def start_maintenance(executor: Executor, owner: int) -> None:
    """Maintain the grove from now on, until it is closed."""
    worker_of(executor.store, _MaintenanceWorker, lambda: _MaintenanceWorker(executor, owner)).start()


def close_abandoned(executor: Executor, actor: Actor) -> int:
    """End the calls and runs of processes that died; returns how many. Without any, one read."""
    with executor.store.read() as session:
        calls, runs = (
            session.execute(select(table.c.tree).limit(1)).first() is not None
            for table in (schema.calls, schema.runs)
        )
    closed = 0
    with contextlib.suppress(WeftError):
        # A grove opens all the same; what cannot be closed now is closed next time.
        if calls:
            from weft.runtime.generation.recovery import close_dead_calls  # noqa: PLC0415 - rarely needed
            from weft.runtime.runners.recovery import interrupted_turn  # noqa: PLC0415 - rarely needed

            closed += close_dead_calls(executor, actor, interrupted_turn)
        if runs:
            from weft.runtime.collaboration.finish import close_dead_runs  # noqa: PLC0415 - rarely needed
            from weft.runtime.runners.recovery import close_dead_turns  # noqa: PLC0415 - rarely needed

            closed += close_dead_runs(executor, actor) + close_dead_turns(executor, actor)
    return closed
