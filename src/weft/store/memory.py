"""What agents keep in mind, as rows: one count of them for each agent in each tree."""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, delete, func, select, update

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import Transaction

_memory = schema.memory


class MemoryKind(IntEnum):
    """What a row holds. Stored: append only."""

    PIN = 0
    STASH = 1
    RECALL = 2
    ACTION = 3
    THOUGHT = 4
    RUN = 5
    """The run that was begun last, and how many there were: one row."""
    RESULT = 6
    """What a command of this run or of the last one came to; the label is the run."""


TRACE = frozenset({MemoryKind.ACTION, MemoryKind.RUN, MemoryKind.RESULT})
"""Written without an event: each row carries a hash of itself."""


class MemoryRow(NamedTuple):
    """One row of `memory`, in the table's column order."""

    tree: int
    agent: int
    ordinal: int
    kind: int
    label: str | None
    body: str
    created_at: int
    removed: int | None


def live_memory(
    session: Session, tree: int, agent: int, kinds: Sequence[MemoryKind], label: str | None = None
) -> list[MemoryRow]:
    """What was not let go of, in the order in which it was taken up."""
    statement = _of(tree, agent).where(_memory.c.kind.in_(kinds), _memory.c.removed.is_(None))
    if label is not None:
        statement = statement.where(_memory.c.label == label)
    return [MemoryRow._make(row) for row in session.execute(statement.order_by(_memory.c.ordinal))]


def latest_memory(session: Session, tree: int, agent: int, kind: MemoryKind, limit: int) -> list[MemoryRow]:
    """The last rows of a kind, oldest first."""
    statement = _of(tree, agent).where(_memory.c.kind == kind).order_by(_memory.c.ordinal.desc()).limit(limit)
    return [MemoryRow._make(row) for row in session.execute(statement)][::-1]


def memory_at(session: Session, tree: int, agent: int, ordinal: int) -> MemoryRow | None:
    return session.one(_of(tree, agent).where(_memory.c.ordinal == ordinal), MemoryRow._make)


def add_memory(
    transaction: Transaction,
    place: tuple[int, int],
    kind: MemoryKind,
    body: str,
    *,
    now: int,
    label: str | None = None,
    seal: Callable[[MemoryRow], MemoryRow] | None = None,
) -> MemoryRow:
    """One more row of (tree, agent), changed by `seal` before it is written. The caller has locked the tree."""
    tree, agent = place
    last = transaction.execute(
        select(func.max(_memory.c.ordinal)).where(_memory.c.tree == tree, _memory.c.agent == agent)
    ).scalar()
    ordinal = 1 if last is None else int(last) + 1
    row = MemoryRow(tree, agent, ordinal, kind, label, body, now, None)
    row = row if seal is None else seal(row)
    transaction.add(_memory, row._asdict())
    return row


def mark_memory(transaction: Transaction, row: MemoryRow, removed: int | None) -> None:
    """Let a row go, or take it up again."""
    transaction.execute(update(_memory).where(*_is(row)).values(removed=removed))


def put_run(transaction: Transaction, row: MemoryRow) -> None:
    """Update the one row about the last run."""
    values = {"label": row.label, "body": row.body, "created_at": row.created_at}
    transaction.execute(update(_memory).where(*_is(row)).values(values))


def forget_older(transaction: Transaction, tree: int, agent: int, kind: MemoryKind, keep: int) -> None:
    """Destroy all but the last rows of a kind."""
    last_kept = (
        select(_memory.c.ordinal)
        .where(_memory.c.tree == tree, _memory.c.agent == agent, _memory.c.kind == kind)
        .order_by(_memory.c.ordinal.desc())
        .offset(keep)
        .limit(1)
    )
    newest = transaction.execute(last_kept).scalar()
    if newest is not None:
        transaction.execute(
            delete(_memory).where(
                _memory.c.tree == tree,
                _memory.c.agent == agent,
                _memory.c.kind == kind,
                _memory.c.ordinal <= newest,
            )
        )


def forget_results(transaction: Transaction, tree: int, agent: int, *, but: str) -> None:
    """Destroy what faded: the results of all runs but one."""
    transaction.execute(
        delete(_memory).where(
            _memory.c.tree == tree,
            _memory.c.agent == agent,
            _memory.c.kind == MemoryKind.RESULT,
            _memory.c.label != but,
        )
    )


def forget_all_results(transaction: Transaction) -> None:
    """Destroy the results of everybody: one of them may tell of what is being destroyed."""
    transaction.execute(delete(_memory).where(_memory.c.kind == MemoryKind.RESULT))


def _of(tree: int, agent: int) -> Select[Any]:
    return select(_memory).where(_memory.c.tree == tree, _memory.c.agent == agent)


def _is(row: MemoryRow) -> tuple[ColumnElement[bool], ...]:
    return _memory.c.tree == row.tree, _memory.c.agent == row.agent, _memory.c.ordinal == row.ordinal
