"""Runs as rows: begun with their calls, ended with the last of them, and kept for clients that come back."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import and_, func, or_, select, update

from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.attempt import AttemptOutcome
from weft.tree.json import JsonObject
from weft.tree.run import RunKind, RunStatus

_records, _attempts, _steps, _calls = (
    schema.run_records,
    schema.run_attempts,
    schema.run_steps,
    schema.calls,
)
STATUSES = tuple(RunStatus)
"""Stored as their index: append only."""
_RUNNING = STATUSES.index(RunStatus.RUNNING)


class RunRecordRow(NamedTuple):
    tree: int
    run: str
    kind: str
    node: int
    asker: int
    status: int
    stopping: bool
    note: str | None
    error: str | None
    started_at: int
    ended_at: int | None

    @property
    def is_running(self) -> bool:
        return self.status == _RUNNING


class RunAttemptRow(NamedTuple):
    tree: int
    attempt: int
    run: str
    ulid: str
    model: str
    choices: int
    nodes: str | None = None
    """JSON: [[choice, node's id], …]; None while it is under way."""
    error: str | None = None
    """JSON: how it failed."""


class RunStepRow(NamedTuple):
    tree: int
    run: str
    ordinal: int
    turn: int
    kind: str
    body: str


def record_of(session: Session, tree: int, run: str) -> RunRecordRow | None:
    here = _records.c.tree == tree, _records.c.run == run
    return session.one(select(_records).where(*here), RunRecordRow._make)


def begin_record(
    transaction: Transaction, *, tree: int, run: str, kind: RunKind, node: int, asker: int, now: int
) -> None:
    """Write down that a run is under way; one that has more calls made for it goes on."""
    known = record_of(transaction, tree, run)
    if known is None:
        row = RunRecordRow(tree, run, kind.value, node, asker, _RUNNING, False, None, None, now, None)
        transaction.add(_records, row._asdict())
        # Rows that point to it may be written before the others are sent.
        transaction.flush()
    elif not known.is_running:
        _change(transaction, tree, run, status=_RUNNING, ended_at=None)


def add_attempt(transaction: Transaction, row: RunAttemptRow) -> None:
    transaction.add(_attempts, row._asdict())


def close_attempt(
    transaction: Transaction,
    tree: int,
    attempt: int,
    nodes: Sequence[tuple[int, str]],
    error: JsonObject | None,
) -> None:
    """Note the nodes that a call became, by choice, and how it failed."""
    here = _attempts.c.tree == tree, _attempts.c.attempt == attempt
    failed = None if error is None else orjson.dumps(error).decode()
    values = {"nodes": orjson.dumps(nodes).decode(), "error": failed}
    transaction.execute(update(_attempts).where(*here).values(**values))


def close_generation(transaction: Transaction, tree: int, run: str, now: int) -> None:
    """End the record of a generation whose last call has ended; runs of several turns end themselves."""
    record = record_of(transaction, tree, run)
    if record is None or record.kind != RunKind.GENERATION or not record.is_running:
        return
    open_calls = select(_calls.c.attempt).where(_calls.c.tree == tree, _calls.c.run == run).limit(1)
    if transaction.execute(open_calls).first() is None:
        close_record(transaction, tree, run, now)


def close_record(
    transaction: Transaction,
    tree: int,
    run: str,
    now: int,
    *,
    status: RunStatus | None = None,
    note: str | None = None,
    error: str | None = None,
) -> None:
    """End a run's record; without a status it is what its calls came to."""
    ended = _status_by_calls(transaction, tree, run) if status is None else status
    values: dict[str, Any] = {"status": STATUSES.index(ended), "ended_at": now}
    _change(transaction, tree, run, **values, note=note, error=error)


def _change(transaction: Transaction, tree: int, run: str, **values: Any) -> None:
    here = _records.c.tree == tree, _records.c.run == run
    transaction.execute(update(_records).where(*here).values(**values))


def _status_by_calls(transaction: Transaction, tree: int, run: str) -> RunStatus:
    """One answer that came to its end is enough; else a person's stop counts before a failure.

    Of several turns it is the last one that counts.
    """
    attempts = schema.attempts
    of_call = and_(attempts.c.tree == _attempts.c.tree, attempts.c.key == _attempts.c.attempt)
    rows = transaction.execute(
        select(attempts.c.outcome, attempts.c.error)
        .select_from(_attempts)
        .join(attempts, of_call)
        .where(_attempts.c.tree == tree, _attempts.c.run == run)
        .order_by(attempts.c.key)
    ).all()
    record = record_of(transaction, tree, run)
    if record is not None and record.kind != RunKind.GENERATION:
        rows = rows[-1:]
    if any(row.outcome == OUTCOMES.index(AttemptOutcome.COMPLETE) for row in rows):
        return RunStatus.COMPLETE
    return (
        RunStatus.STOPPED if any(row.error == RunStatus.STOPPED.value for row in rows) else RunStatus.FAILED
    )


def running_records(session: Session, trees: Sequence[int] | None = None) -> list[RunRecordRow]:
    """Every run under way, the oldest first; only of these trees, if they are given."""
    statement = select(_records).where(_records.c.ended_at.is_(None))
    if trees is not None:
        statement = statement.where(session.dialect.among(_records.c.tree, trees))
    return [RunRecordRow._make(row) for row in session.execute(statement.order_by(_records.c.run))]


def latest_records(session: Session, since: int) -> list[RunRecordRow]:
    """Every run under way, and those that ended since then."""
    statement = select(_records).where(or_(_records.c.ended_at.is_(None), _records.c.ended_at >= since))
    return [RunRecordRow._make(row) for row in session.execute(statement.order_by(_records.c.run))]


def last_ended(session: Session) -> int:
    """When the last run ended; 0: none has."""
    return int(session.execute(select(func.coalesce(func.max(_records.c.ended_at), 0))).scalar_one())


def last_steps(session: Session, rows: Sequence[RunRecordRow]) -> dict[str, int]:
    """How many steps runs have taken."""
    if not rows:
        return {}
    statement = (
        select(_steps.c.run, func.max(_steps.c.ordinal).label("last"))
        .where(
            session.dialect.among(_steps.c.tree, sorted({row.tree for row in rows})),
            _steps.c.run.in_([row.run for row in rows]),
        )
        .group_by(_steps.c.run)
    )
    return {row.run: row.last for row in session.execute(statement)}


def find_record(session: Session, run: str) -> RunRecordRow | None:
    return session.one(select(_records).where(_records.c.run == run).limit(1), RunRecordRow._make)


def find_run_attempt(session: Session, ulid: str) -> RunAttemptRow | None:
    return session.one(select(_attempts).where(_attempts.c.ulid == ulid).limit(1), RunAttemptRow._make)


def attempts_of_runs(session: Session, runs: Sequence[RunRecordRow]) -> list[dict[str, Any]]:
    """The calls of runs, in the order in which they were begun, with all that tells how they go."""
    attempts, agents, nodes, responses, spending = (
        schema.attempts,
        schema.agents,
        schema.nodes,
        schema.responses,
        schema.spending,
    )
    if not runs:
        return []
    statement = (
        select(
            *_attempts.c,
            attempts.c.outcome,
            attempts.c.error.label("why"),
            agents.c.ulid.label("agent_id"),
            agents.c.name,
            nodes.c.ulid.label("parent_id"),
            spending.c.micros,
            *(responses.c[name] for name in USAGE),
        )
        .select_from(_attempts)
        .join(attempts, and_(attempts.c.tree == _attempts.c.tree, attempts.c.key == _attempts.c.attempt))
        .join(agents, agents.c.key == attempts.c.agent)
        .join(nodes, and_(nodes.c.tree == attempts.c.tree, nodes.c.key == attempts.c.parent))
        .outerjoin(
            responses, and_(responses.c.tree == attempts.c.tree, responses.c.key == attempts.c.response)
        )
        .outerjoin(spending, spending.c.attempt == _attempts.c.ulid)
        .where(
            session.dialect.among(_attempts.c.tree, sorted({each.tree for each in runs})),
            _attempts.c.run.in_([each.run for each in runs]),
        )
        .order_by(_attempts.c.tree, _attempts.c.attempt)
    )
    return [
        {str(name): value for name, value in row.items()} for row in session.execute(statement).mappings()
    ]


USAGE = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_read", "cached_write")


def add_steps(
    transaction: Transaction, tree: int, run: str, steps: Sequence[tuple[int, str, JsonObject]]
) -> None:
    """Append steps to a run: of each its turn, its kind and what it is. Nothing, if the tree is gone."""
    here = _steps.c.tree == tree, _steps.c.run == run
    if record_of(transaction, tree, run) is None:
        return
    last = transaction.execute(select(func.coalesce(func.max(_steps.c.ordinal), 0)).where(*here)).scalar_one()
    for ordinal, (turn, kind, body) in enumerate(steps, last + 1):
        row = RunStepRow(tree, run, ordinal, turn, kind, orjson.dumps(body).decode())
        transaction.add(_steps, row._asdict())


def steps_of(session: Session, tree: int, run: str, after: int = 0, limit: int = 10_000) -> list[RunStepRow]:
    statement = (
        select(_steps)
        .where(_steps.c.tree == tree, _steps.c.run == run, _steps.c.ordinal > after)
        .order_by(_steps.c.ordinal)
        .limit(limit)
    )
    return [RunStepRow._make(row) for row in session.execute(statement)]


def ask_to_stop(transaction: Transaction, tree: int, run: str, attempt: int | None = None) -> None:
    """Leave word for the process that makes these calls: for one of them, or for the whole run."""
    here = [_calls.c.tree == tree, _calls.c.run == run]
    if attempt is not None:
        here.append(_calls.c.attempt == attempt)
    transaction.execute(update(_calls).where(*here).values(stopping=True))
    if attempt is None:
        _change(transaction, tree, run, stopping=True)


def stops_asked(session: Session, runs: Sequence[str]) -> tuple[set[str], set[str]]:
    """Of these runs those that are to stop, and the ids of single calls that are."""
    if not runs:
        return set(), set()
    whole = select(_records.c.run).where(_records.c.ended_at.is_(None), _records.c.stopping.is_(True))
    single = (
        select(_attempts.c.ulid)
        .select_from(_calls)
        .join(_attempts, and_(_attempts.c.tree == _calls.c.tree, _attempts.c.attempt == _calls.c.attempt))
        .where(_calls.c.stopping.is_(True))
    )
    return (
        set(session.execute(whole.where(_records.c.run.in_(runs))).scalars()),
        set(session.execute(single.where(_calls.c.run.in_(runs))).scalars()),
    )
