"""Calls of models under way, and what came of them so far: what a dead process leaves behind."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, delete, select, update

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

    The same one again is written over: the caller may have been told wrongly that it failed.
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
