"""Runs of collaborators: how far each has come, so that one whose process died can be closed."""

from typing import Any, NamedTuple

from sqlalchemy import func, literal_column, select, update

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import Transaction

__all__ = ["RUNNING", "RunRow", "change_run", "hold_run", "next_ordinal", "run_row", "runs_under_way"]

_runs = schema.runs
RUNNING = 0
"""The state of a run that has not ended; the others are the runtime's."""


class RunRow(NamedTuple):
    tree: int
    run: str
    agent: int
    asker: int
    ordinal: int
    """Counts an agent's runs in a tree, from 1."""
    start: int
    """The node that it answers."""
    head: int
    """The node that its reply goes under: the last of its own words below the start."""
    holder: str
    held_until: int
    state: int
    turns: int
    said: str
    """The prose of the turns that have ended."""
    batch: str
    """JSON: the commands of the last turn, each with whether it was begun and done."""
    attempt: str | None
    """The call that the last prose came with."""
    reply: int | None
    note: str | None
    started_at: int
    ended_at: int | None


def run_row(session: Session, tree: int, run: str) -> RunRow | None:
    found = session.execute(select(_runs).where(_runs.c.tree == tree, _runs.c.run == run)).one_or_none()
    return None if found is None else RunRow._make(found)


def runs_under_way(session: Session) -> list[RunRow]:
    """Every run that has not ended, in this process, in another, or in one that is no more."""
    under_way = _runs.c.state == literal_column(str(RUNNING))
    statement = select(_runs).where(under_way).order_by(_runs.c.started_at)
    return [RunRow._make(row) for row in session.execute(statement)]


def next_ordinal(session: Session, tree: int, agent: int) -> int:
    """The number of an agent's next run in a tree."""
    last = select(func.max(_runs.c.ordinal)).where(_runs.c.tree == tree, _runs.c.agent == agent)
    return (session.execute(last).scalar() or 0) + 1


def change_run(transaction: Transaction, tree: int, run: str, **values: Any) -> bool:
    """Note something about a run under way; False if it has ended meanwhile."""
    here = _runs.c.tree == tree, _runs.c.run == run, _runs.c.state == RUNNING
    return transaction.execute(update(_runs).where(*here).values(**values)).rowcount > 0


def hold_run(transaction: Transaction, tree: int, run: str, held_until: int) -> bool:
    """Say that it is still going on."""
    return change_run(transaction, tree, run, held_until=held_until)
