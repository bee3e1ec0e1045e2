"""Summaries that are due: rows written with their nodes, made when it is quiet, by any process."""

import contextlib
import os
import time
from typing import Any, ClassVar

from sqlalchemy import Select, select

from weft.errors import NotFoundError
from weft.runtime.coordination.background import BackgroundWorker, worker_of
from weft.runtime.coordination.jobs import JobKind, JobRunner, RunningJob
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.settings import load_settings
from weft.store import schema
from weft.store.base import Store
from weft.store.jobs import SUMMARY_JOB
from weft.store.transaction import GROVE
from weft.store.tree_statements import INCLUDED, LIVE

SUMMARIES = "summaries"
"""The grove setting that is `false` where nothing is summarised in the background."""
_SHARE = 3.0
"""How much longer the worker rests than it works."""
_TRIES = 4


def job_kinds(executor: Executor, actor: Actor) -> dict[str, JobKind]:
    """How a summary that is due is made. What was deleted, undone, excluded or pruned since is left alone."""

    def work(running: RunningJob) -> None:
        with executor.store.read() as session:
            ids = session.execute(_target(running)).one_or_none()
        if ids is None:
            return
        # Opening a grove does not need what this loads.
        from weft.runtime.summaries.summariser import Summariser  # noqa: PLC0415

        summariser = Summariser(
            executor,
            actor,
            unattended=True,
            last_try=running.attempt >= _TRIES,
            is_stopped=lambda: running.should_stop,
        )
        with contextlib.suppress(NotFoundError):
            if running.tree == GROVE:
                summariser.document(*ids, refresh=True)
            elif running.target is None:
                summariser.tree(*ids, refresh=True)
            else:
                summariser.node(*ids)

    return {SUMMARY_JOB: JobKind(run=work, max_attempts=_TRIES, first_pause=10.0, hold=120.0)}


def _target(running: RunningJob) -> Select[*tuple[Any, ...]]:
    """The ids of what a job names by its keys."""
    trees, nodes, documents = schema.trees, schema.nodes, schema.documents
    if running.tree == GROVE:
        return select(documents.c.ulid).where(documents.c.key == running.target)
    if running.target is None:
        return select(trees.c.ulid).where(trees.c.key == running.tree)
    return (
        select(trees.c.ulid, nodes.c.ulid.label("node"))
        .join(nodes, nodes.c.tree == trees.c.key)
        .where(trees.c.key == running.tree, nodes.c.key == running.target, LIVE, INCLUDED)
    )


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
        executor, actor = Executor(store, *self._settings, providers=self._providers), Actor(self._owner)
        runner = JobRunner(executor, job_kinds(executor, actor), stopping=self.stopping)
        while not self.stopping.is_set():
            began = time.monotonic()
            if not runner.run_pending(limit=1):
                return
            self.stopping.wait(_SHARE * (time.monotonic() - began))


def is_enabled(store: Store) -> bool:
    """True if summaries are made that were not requested by name."""
    if os.environ.get("WEFT_SUMMARIES", "").lower() in {"off", "0", "no"}:
        return False
    with store.read() as session:
        return load_settings(session).get(SUMMARIES) is not False


def start_summaries(executor: Executor, owner: int) -> None:
    """Make the summaries that are due, until the grove is closed."""
    worker_of(executor.store, _Summariser, lambda: _Summariser(executor, owner)).start()
