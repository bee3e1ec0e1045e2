"""What is written is summarised a little later: jobs that follow the event log, done when it is quiet."""

import contextlib
import os
import time
from typing import Any, ClassVar

import orjson
from sqlalchemy import Select, func, select

from weft.errors import InvalidInputError, NotFoundError, WeftError
from weft.runtime.coordination.background import BackgroundWorker, worker_of
from weft.runtime.coordination.jobs import JobKind, JobRunner, RunningJob
from weft.runtime.events.log import EventBatch, EventLog
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.store import schema
from weft.store.base import Store
from weft.store.jobs import enqueue
from weft.store.transaction import Transaction
from weft.tree.event_kinds import CREATING_KINDS

NODE_JOB, TREE_JOB, DOCUMENT_JOB = "summarise-node", "summarise-tree", "summarise-document"
SUMMARIES = "summaries"
"""The grove setting that is `false` where nothing is summarised in the background."""
FOLLOWER = "summaries"
"""The name under which the position in the event log is kept."""
_SHARE = 3.0
"""How much longer the worker rests than it works."""
_EVERY = 10
"""A tree is summarised anew after so many new nodes."""
_BACKLOG = 1_000
"""Nodes that wait at most; of what is written faster than that, summaries are made when they are needed."""
_BATCH = 500
_TRIES = 4


def plan_summaries(executor: Executor, actor: Actor) -> bool:
    """Put what was written since the last look on the list of jobs; whether there may be more.

    The place in the event log moves in the same transaction, so that nothing is left out and nothing
    is planned twice, however many processes look.
    """
    followers = schema.followers
    with executor.store.read() as session:
        kept = session.execute(
            select(followers.c.cursor).where(followers.c.name == FOLLOWER)
        ).scalar_one_or_none()
    try:
        batch = EventLog(executor.store, actor).read(after="now" if kept is None else kept, limit=_BATCH)
    except InvalidInputError:
        # An older copy of the grove was put back: begin again from its end.
        batch = EventLog(executor.store, actor).read(after="now", limit=_BATCH)
    if batch.cursor != kept:
        executor.store.write(lambda transaction: _plan(transaction, executor.clock(), kept, batch))
    return len(batch.events) == _BATCH


def _plan(transaction: Transaction, now: int, before: str | None, batch: EventBatch) -> None:
    followers = schema.followers
    mine = select(followers.c.cursor).where(followers.c.name == FOLLOWER).with_for_update()
    if transaction.execute(mine).scalar_one_or_none() != before:
        return
    transaction.replace(followers, ("name",), {"name": FOLLOWER, "cursor": batch.cursor})
    made: dict[str, list[str]] = {}
    for event in batch.events:
        nodes = event.payload.get("nodes")
        if event.tree_id is not None and event.kind in CREATING_KINDS and isinstance(nodes, list) and nodes:
            made.setdefault(event.tree_id, []).extend(str(node) for node in nodes)
    for tree_id, ids in made.items():
        _plan_tree(transaction, now, tree_id, ids)


def _plan_tree(transaction: Transaction, now: int, tree_id: str, ids: list[str]) -> None:
    trees, nodes = schema.trees, schema.nodes
    tree = transaction.execute(
        select(trees.c.key, trees.c.nodes).where(trees.c.ulid == tree_id)
    ).one_or_none()
    if tree is None:
        return
    # A root is often empty: then there is nothing to summarise.
    has_text = nodes.c.narrow + nodes.c.wide > 0
    keys = transaction.execute(
        select(nodes.c.key).where(nodes.c.tree == tree.key, nodes.c.ulid.in_(ids), has_text)
    ).scalars()
    waiting = select(func.count()).select_from(schema.jobs).where(schema.jobs.c.kind == NODE_JOB)
    room = _BACKLOG - transaction.execute(waiting).scalar_one()
    for key in keys.all()[: max(0, room)]:
        enqueue(transaction, NODE_JOB, now=now, tree=tree.key, target=key)
    if tree.nodes // _EVERY > max(0, tree.nodes - len(ids)) // _EVERY:
        enqueue(transaction, TREE_JOB, now=now, tree=tree.key)


def job_kinds(executor: Executor, actor: Actor) -> dict[str, JobKind]:
    """How each kind of job is done. What was deleted or undone since is left alone."""

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
            if running.kind == NODE_JOB:
                summariser.node(*ids)
            elif running.kind == TREE_JOB:
                summariser.tree(*ids, anew=True)
            else:
                summariser.document(*ids, anew=True)

    return {
        kind: JobKind(run=work, max_attempts=_TRIES, first_pause=10.0, hold=120.0)
        for kind in (NODE_JOB, TREE_JOB, DOCUMENT_JOB)
    }


def _target(running: RunningJob) -> Select[*tuple[Any, ...]]:
    """The ids of what a job names by its keys."""
    trees, nodes, documents = schema.trees, schema.nodes, schema.documents
    if running.kind == DOCUMENT_JOB:
        return select(documents.c.ulid).where(documents.c.key == running.target)
    if running.kind == TREE_JOB:
        return select(trees.c.ulid).where(trees.c.key == running.tree)
    return (
        select(trees.c.ulid, nodes.c.ulid.label("node"))
        .join(nodes, nodes.c.tree == trees.c.key)
        .where(trees.c.key == running.tree, nodes.c.key == running.target, nodes.c.hidden.is_(None))
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
        # From here on: what was there before is summarised when somebody needs it. A grove that
        # cannot be written to, or is damaged, is opened all the same.
        with contextlib.suppress(WeftError):
            plan_summaries(executor, Actor(owner))
    worker_of(executor.store, _Summariser, lambda: _Summariser(executor, owner)).start()
