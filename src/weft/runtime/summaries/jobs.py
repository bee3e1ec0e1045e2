"""What is written is summarised a little later: jobs that follow the event log, done when it is quiet."""

from collections.abc import Callable

from sqlalchemy import func, select

from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.coordination.jobs import JobKind, RunningJob
from weft.runtime.events.log import EventBatch, EventLog
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.summaries.summariser import Summariser, node_ids
from weft.runtime.summaries.worker import FOLLOWER
from weft.store import schema
from weft.store.jobs import enqueue
from weft.store.transaction import Transaction
from weft.tree.event_kinds import CREATING_KINDS

NODE_JOB, TREE_JOB, DOCUMENT_JOB = "summarise-node", "summarise-tree", "summarise-document"
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
    """How each is done. What was summarised meanwhile, or is gone, is done."""

    def making(running: RunningJob) -> Summariser:
        return Summariser(
            executor,
            actor,
            unattended=True,
            last_try=running.attempt >= _TRIES,
            is_stopped=lambda: running.should_stop,
        )

    def node(running: RunningJob) -> None:
        making(running).node(*node_ids(executor, running.tree, running.target or 0))

    def tree(running: RunningJob) -> None:
        with executor.store.read() as session:
            trees = schema.trees
            ulid = session.execute(select(trees.c.ulid).where(trees.c.key == running.tree)).scalar()
        if ulid is not None:
            making(running).tree(ulid, anew=True)

    def document(running: RunningJob) -> None:
        with executor.store.read() as session:
            table = schema.documents
            ulid = session.execute(select(table.c.ulid).where(table.c.key == running.target)).scalar()
        if ulid is not None:
            making(running).document(ulid, anew=True)

    return {
        name: JobKind(run=_if_there(run), max_attempts=_TRIES, first_pause=10.0, hold=120.0)
        for name, run in ((NODE_JOB, node), (TREE_JOB, tree), (DOCUMENT_JOB, document))
    }


def _if_there(run: Callable[[RunningJob], None]) -> Callable[[RunningJob], None]:
    def done(running: RunningJob) -> None:
        try:
            run(running)
        except NotFoundError:
            # Deleted or undone since: there is nothing to summarise.
            return

    return done
