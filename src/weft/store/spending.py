"""What calls of models cost, as rows: expected while one is under way, settled when it has ended."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select, update

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import Transaction

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
