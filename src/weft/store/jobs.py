"""Work to be done later, as rows: put there by the transaction that makes it due, taken by one process at a time."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, and_, delete, func, select, update

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import GROVE, Transaction

_jobs = schema.jobs
TIMESTAMP_JOB = "timestamp"
"""The kind of job that asks authorities for what is due; one for the whole grove."""
SUMMARY_JOB = "summarise"
"""The kind of job that makes a summary: of the target, a node of the tree or a document; else of the tree."""
NO_TARGET = 0
"""Means none: an index takes two missing values for different ones."""


class JobState(IntEnum):
    """Stored as it is: append only. A job that is done has no row any more."""

    WAITING = 0
    """Not tried yet. One for each kind, tree and target: the next request for the same joins it."""
    RUNNING = 1
    RETRYING = 2
    """Tried, failed, and due again."""
    FAILED = 3
    """Tried often enough; waits for a person."""


_OPEN = (JobState.WAITING, JobState.RETRYING)
_DUE = (
    (JobState.RUNNING, _jobs.c.held_until),
    (JobState.RETRYING, _jobs.c.run_after),
    (JobState.WAITING, _jobs.c.run_after),
)
"""When a job of each state is due; a running one, when its holder died."""


class JobRow(NamedTuple):
    key: int
    tree: int
    kind: str
    target: int | None
    payload: str
    state: JobState
    attempts: int
    run_after: int
    holder: str | None
    held_until: int | None
    error: str | None
    created_at: int


def _row(stored: Row[*tuple[Any, ...]]) -> JobRow:
    row = JobRow._make(stored)
    return row._replace(state=JobState(row.state), target=None if row.target == NO_TARGET else row.target)


def enqueue(
    transaction: Transaction,
    kind: str,
    *,
    now: int,
    tree: int = GROVE,
    target: int | None = None,
    payload: str = "{}",
    run_after: int | None = None,
) -> None:
    """Have something done later: exactly if this transaction commits.

    Where the same kind of job for the same target waits already, that one will do. The row is sent
    with the transaction's other rows, so that a job for each node costs little.
    """
    transaction.add(
        _jobs,
        {
            "tree": tree,
            "kind": kind,
            "target": NO_TARGET if target is None else target,
            "payload": payload,
            "state": JobState.WAITING.value,
            "attempts": 0,
            "run_after": now if run_after is None else run_after,
            "created_at": now,
        },
    )


def claim_job(
    transaction: Transaction, kinds: Sequence[str], holder: str, *, now: int, held_until: int
) -> JobRow | None:
    """Take a job whose holder died, else a retry, else the one that waits the longest; None if none is due.

    Rows that another process is just taking are passed over, not waited for.
    """
    other = _jobs.alias("other")
    twin = (
        select(other.c.key)
        .where(
            other.c.tree == _jobs.c.tree,
            other.c.kind == _jobs.c.kind,
            other.c.target == _jobs.c.target,
            other.c.key != _jobs.c.key,
            other.c.state == JobState.RUNNING,
            other.c.held_until > now,
        )
        .exists()
    )
    # State by state, so that the index leads to the first row however many wait.
    keys = (
        transaction.execute(
            select(_jobs.c.key)
            .where(_jobs.c.kind.in_(kinds), _jobs.c.state == state, due <= now, ~twin)
            .order_by(_jobs.c.run_after, _jobs.c.key)
            .limit(1)
            .with_for_update(skip_locked=True, of=_jobs)
        ).scalar()
        for state, due in _DUE
    )
    key = next((key for key in keys if key is not None), None)
    if key is None:
        return None
    transaction.execute(
        update(_jobs)
        .where(_jobs.c.key == key)
        .values(state=JobState.RUNNING, holder=holder, held_until=held_until, attempts=_jobs.c.attempts + 1)
    )
    return job_row(transaction, key)


def next_due(session: Session, kinds: Sequence[str]) -> int | None:
    """When there is something to do, as far as one can tell without taking it; None: nothing is known of."""
    moments = (
        session.execute(select(func.min(due)).where(_jobs.c.kind == kind, _jobs.c.state == state)).scalar()
        for kind in kinds
        for state, due in _DUE
    )
    return min((moment for moment in moments if moment is not None), default=None)


def _held(job: JobRow) -> ColumnElement[bool]:
    """It is still ours: not taken over, cancelled or deleted."""
    return and_(_jobs.c.key == job.key, _jobs.c.holder == job.holder, _jobs.c.state == JobState.RUNNING)


def hold_job(transaction: Transaction, job: JobRow, held_until: int) -> bool:
    """Say that it is still being worked on; False if it was lost."""
    return _hit(transaction, update(_jobs).where(_held(job)).values(held_until=held_until))


def finish_job(transaction: Transaction, job: JobRow) -> bool:
    """It is done: its row goes; False if it was lost."""
    return _hit(transaction, delete(_jobs).where(_held(job)))


def fail_job(
    transaction: Transaction, job: JobRow, error: str | None, *, run_after: int | None, attempts: int
) -> bool:
    """It did not work: try again at a time, or (None) leave it to a person."""
    values: dict[str, Any] = {
        "state": JobState.FAILED if run_after is None else JobState.RETRYING,
        "run_after": job.run_after if run_after is None else run_after,
        "attempts": attempts,
        "error": error,
        "holder": None,
        "held_until": None,
    }
    return _hit(transaction, update(_jobs).where(_held(job)).values(**values))


def retry_job(transaction: Transaction, key: int, now: int) -> bool:
    """Try it again now, as if it had never failed; False if it is not there or being run."""
    return _hit(
        transaction,
        update(_jobs)
        .where(_jobs.c.key == key, _jobs.c.state != JobState.RUNNING)
        .values(state=JobState.RETRYING, attempts=0, run_after=now, error=None, holder=None, held_until=None),
    )


def cancel_job(transaction: Transaction, key: int) -> bool:
    """Take it away, also from under who runs it; False if it is not there."""
    return _hit(transaction, delete(_jobs).where(_jobs.c.key == key))


def drop_waiting(transaction: Transaction, kind: str) -> None:
    """Nothing of this kind is to be done any more."""
    transaction.execute(delete(_jobs).where(_jobs.c.kind == kind, _jobs.c.state.in_(_OPEN)))


def _hit(transaction: Transaction, statement: Any) -> bool:
    return transaction.execute(statement).rowcount > 0


def job_row(session: Session, key: int) -> JobRow | None:
    return session.one(select(_jobs).where(_jobs.c.key == key), _row)


def list_jobs(
    session: Session, *, states: Sequence[JobState] | None = None, kind: str | None = None, limit: int = 1_000
) -> list[JobRow]:
    """Jobs in the order they are due."""
    statement = select(_jobs).order_by(_jobs.c.run_after, _jobs.c.key).limit(limit)
    if states is not None:
        statement = statement.where(_jobs.c.state.in_(states))
    if kind is not None:
        statement = statement.where(_jobs.c.kind == kind)
    return [_row(row) for row in session.execute(statement)]
