"""Runs of collaborators under way: how far each has come, so that one whose process died can be closed."""

from typing import Any, NamedTuple

from sqlalchemy import delete, select, update

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import Transaction

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


def run_row(session: Session, tree: int, run: str) -> RunRow | None:
    found = session.execute(select(_runs).where(_runs.c.tree == tree, _runs.c.run == run)).one_or_none()
    return None if found is None else RunRow._make(found)


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
