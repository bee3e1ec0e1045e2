"""The thread that summarises what is written, when it has been quiet for a moment."""

import contextlib
import os
import time
from typing import ClassVar

import orjson
from sqlalchemy import select

from weft.errors import WeftError
from weft.runtime.coordination.background import BackgroundWorker, worker_of
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.store import schema
from weft.store.base import Store

SUMMARIES = "summaries"
"""The key under which the grove's preferences say `false` where nothing is to be summarised unasked."""
FOLLOWER = "summaries"
"""The name under which its place in the event log is kept."""
_SHARE = 3.0
"""How much longer than it works the summariser rests."""


class _Summariser(BackgroundWorker):
    """Looks when it has been quiet for a moment, and works a quarter of the time at most."""

    name: ClassVar[str] = "weft-summaries"
    every: ClassVar[float] = 5.0
    gather: ClassVar[float] = 2.0
    patience: ClassVar[float] = 2.0

    def __init__(self, executor: Executor, owner: int) -> None:
        super().__init__(executor.store)
        self._settings = executor.clock, executor.entropy, executor.accept_clock
        self._providers = executor.providers
        self._owner = owner

    def work(self, store: Store) -> None:
        if self.is_woken or not is_enabled(store):
            return
        from weft.runtime.coordination.jobs import (  # noqa: PLC0415 - opening a grove does without all this
            JobRunner,
        )
        from weft.runtime.summaries.jobs import job_kinds, plan_summaries  # noqa: PLC0415

        executor, actor = Executor(store, *self._settings, providers=self._providers), Actor(self._owner)
        while plan_summaries(executor, actor) and not self.stopping.is_set():
            pass
        runner = JobRunner(executor, job_kinds(executor, actor), stopping=self.stopping)
        while not self.stopping.is_set():
            began = time.monotonic()
            if not runner.run_pending(limit=1):
                return
            self.stopping.wait(_SHARE * (time.monotonic() - began))


def is_enabled(store: Store) -> bool:
    """Whether anything is to be summarised that nobody asked a summary of."""
    if os.environ.get("WEFT_SUMMARIES", "").lower() in {"off", "0", "no"}:
        return False
    with store.read() as session:
        kept = session.execute(select(schema.grove.c.preferences)).scalar_one()
    return orjson.loads(kept).get(SUMMARIES) is not False


def start_summaries(executor: Executor, owner: int) -> None:
    """Summarise what is written from now on, until the grove is closed."""
    followers = schema.followers
    with executor.store.read() as session:
        known = session.execute(select(followers.c.name).where(followers.c.name == FOLLOWER)).first()
    if known is None:
        from weft.runtime.summaries.jobs import plan_summaries  # noqa: PLC0415 - once for each grove

        # From here on: what was there before is summarised when somebody needs it. A grove that
        # cannot be written to, or is damaged, is opened all the same.
        with contextlib.suppress(WeftError):
            plan_summaries(executor, Actor(owner))
    worker_of(executor.store, _Summariser, lambda: _Summariser(executor, owner)).start()
