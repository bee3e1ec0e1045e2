"""Calls of models and runs of collaborators under way, their output so far, and what calls cost."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, delete, func, select, update

from weft.store import schema
from weft.store.rows import OUTCOMES
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.attempt import AttemptOutcome

_calls, _pieces, _attempts = schema.calls, schema.pieces, schema.attempts


class CallRow(NamedTuple):
    tree: int
    attempt: int
    asker: int
    sources: str
    """JSON: [[node's id, role], …], the parent first."""
    provider: str
    model: str
    run: str
    token: int
    """Of the lease that it is made under."""
    holder: str
    held_until: int
    stopping: bool | None = None
    """Whether somebody asked for it to stop, in this process or another."""


class OpenCall(NamedTuple):
    """A call that has not ended, with the ids it is known by."""

    call: CallRow
    tree: str
    attempt: str
    agent: str
    started_at: int


class PieceRow(NamedTuple):
    ordinal: int
    said: str
    wire: bytes


def calls_under_way(session: Session) -> list[OpenCall]:
    """Every call that has not ended, in this process, in another, or in one that is no more."""
    trees, agents = schema.trees, schema.agents
    mine = and_(_calls.c.tree == _attempts.c.tree, _calls.c.attempt == _attempts.c.key)
    statement = (
        select(
            *_calls.c,
            trees.c.ulid,
            _attempts.c.ulid.label("of"),
            agents.c.ulid.label("by"),
            _attempts.c.started_at,
        )
        .select_from(_calls)
        .join(_attempts, mine)
        .join(trees, trees.c.key == _calls.c.tree)
        .join(agents, agents.c.key == _attempts.c.agent)
        .where(_attempts.c.outcome == OUTCOMES.index(AttemptOutcome.RUNNING))
        .order_by(_calls.c.tree, _calls.c.attempt)
    )
    width = len(_calls.c)
    return [
        OpenCall(CallRow._make(row[:width]), row.ulid, row.of, row.by, row.started_at)
        for row in session.execute(statement)
    ]


def hold_calls(transaction: Transaction, tree: int, attempts: Sequence[int], held_until: int) -> None:
    """Say that they are still being listened to."""
    here = _calls.c.tree == tree, transaction.dialect.among(_calls.c.attempt, attempts)
    transaction.execute(update(_calls).where(*here).values(held_until=held_until))


def put_piece(transaction: Transaction, tree: int, attempt: int, piece: PieceRow) -> None:
    """What came since the last one. Nothing, if the call was closed meanwhile.

    The same one again is written over: a caller that got an error by mistake sends it twice.
    """
    here = _calls.c.tree == tree, _calls.c.attempt == attempt
    if transaction.execute(select(_calls.c.attempt).where(*here)).first() is None:
        return
    same = _pieces.c.tree == tree, _pieces.c.attempt == attempt, _pieces.c.ordinal == piece.ordinal
    transaction.execute(delete(_pieces).where(*same))
    row: dict[str, Any] = {"tree": tree, "attempt": attempt, **piece._asdict()}
    transaction.add(_pieces, row)


def pieces_of(session: Session, tree: int, attempt: int) -> list[PieceRow]:
    statement = (
        select(_pieces.c.ordinal, _pieces.c.said, _pieces.c.wire)
        .where(_pieces.c.tree == tree, _pieces.c.attempt == attempt)
        .order_by(_pieces.c.ordinal)
    )
    return [PieceRow._make(row) for row in session.execute(statement)]


def drop_call(transaction: Transaction, tree: int, attempt: int) -> None:
    """It has ended: what it left is in its node and its response by now."""
    for table in (_pieces, _calls):
        transaction.execute(delete(table).where(table.c.tree == tree, table.c.attempt == attempt))


_runs = schema.runs


class RunRow(NamedTuple):
    tree: int
    run: str
    agent: int
    asker: int
    start: int
    """The node that it answers."""
    head: int
    """The node that its reply goes under: the last of its own below the start."""
    holder: str
    held_until: int
    turns: int
    said: str
    """The prose of the turns that have ended."""
    batch: str
    """JSON: the commands of the last turn, each with how far it has come."""
    attempt: str | None
    """The call that the last turn was."""
    started_at: int
    runner: str | None = None
    """None: a collaborator's."""


def run_row(session: Session, tree: int, run: str) -> RunRow | None:
    return session.one(select(_runs).where(_runs.c.tree == tree, _runs.c.run == run), RunRow._make)


def runs_under_way(session: Session) -> list[RunRow]:
    """Every run that has not ended, in this process, in another, or in one that is no more."""
    return [RunRow._make(row) for row in session.execute(select(_runs).order_by(_runs.c.started_at))]


def add_run(transaction: Transaction, row: RunRow) -> None:
    transaction.add(_runs, row._asdict())


def change_run(transaction: Transaction, tree: int, run: str, **values: Any) -> bool:
    """Note how far it has come; False if it was ended meanwhile."""
    here = _runs.c.tree == tree, _runs.c.run == run
    return transaction.execute(update(_runs).where(*here).values(**values)).rowcount > 0


def drop_run(transaction: Transaction, tree: int, run: str) -> bool:
    """It has ended: what it said is in its reply by now. False if another process was faster."""
    here = _runs.c.tree == tree, _runs.c.run == run
    return transaction.execute(delete(_runs).where(*here)).rowcount > 0


_spending = schema.spending
MICROS = 1_000_000
"""Of a dollar; also of a second."""
_DAY = 24 * 3_600 * MICROS


class Spent(NamedTuple):
    """Millionths of a dollar."""

    total: int
    today: int


def day_of(moment: int) -> int:
    """The day, in UTC, counted from 1970."""
    return moment // _DAY


def add_expected(
    transaction: Transaction, *, attempt: str, tree: int, agent: int, moment: int, micros: int
) -> None:
    transaction.add(
        _spending,
        {
            "attempt": attempt,
            "in_tree": tree,
            "agent": agent,
            "day": day_of(moment),
            "micros": micros,
            "is_settled": False,
        },
    )


def settle(transaction: Transaction, attempt: str, micros: int | None) -> None:
    """What it came to; None if it was not reported: then it stays at what was expected."""
    values = {"is_settled": True} if micros is None else {"is_settled": True, "micros": micros}
    transaction.execute(update(_spending).where(_spending.c.attempt == attempt).values(**values))


def spent_on(session: Session, attempts: Sequence[str]) -> int:
    """Millionths of a dollar for these calls, as far as that is known."""
    whole = select(func.coalesce(func.sum(_spending.c.micros), 0)).where(_spending.c.attempt.in_(attempts))
    return int(session.execute(whole).scalar_one())


def spent_by(session: Session, now: int, *, tree: int | None = None, agent: int | None = None) -> Spent:
    """By the whole grove, or in a tree, or by an agent; what is under way counts as expected."""
    whole = select(func.coalesce(func.sum(_spending.c.micros), 0))
    if tree is not None:
        whole = whole.where(_spending.c.in_tree == tree)
    if agent is not None:
        whole = whole.where(_spending.c.agent == agent)
    today = whole.where(_spending.c.day == day_of(now))
    return Spent(int(session.execute(whole).scalar_one()), int(session.execute(today).scalar_one()))
