"""Events of all trees in one order that never changes once it has been read.

Numbers are drawn before a transaction commits, so on PostgreSQL a lower number may
appear after a higher one. Events are therefore ordered by transaction first, and
given out only when no earlier transaction can still add any.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, or_, select, tuple_

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import GROVE


class EventPosition(NamedTuple):
    """An event's place in the order of all."""

    transaction: int
    number: int


BEGINNING = EventPosition(-1, 0)
"""Before the first event."""


class EventRow(NamedTuple):
    """One event with the ids of whose it is."""

    place: EventPosition
    tree: int
    tree_id: str | None
    ordinal: int
    kind: str
    agent_id: str
    payload: str
    created_at: int
    hash: bytes


_events = schema.events
_place = tuple_(_events.c.transaction, _events.c.number)
_WHOLE = (
    select(
        _events.c.transaction,
        _events.c.number,
        _events.c.tree,
        schema.trees.c.ulid.label("tree_id"),
        _events.c.ordinal,
        _events.c.kind,
        schema.agents.c.ulid.label("agent_id"),
        _events.c.payload,
        _events.c.created_at,
        _events.c.hash,
    )
    .select_from(_events)
    .outerjoin(schema.trees, schema.trees.c.key == _events.c.tree)
    .outerjoin(schema.agents, schema.agents.c.key == _events.c.agent)
    .order_by(_events.c.transaction, _events.c.number)
)


def read_events(
    session: Session,
    after: EventPosition,
    *,
    limit: int,
    trees: Sequence[int] | None = None,
    deletions: bool = False,
) -> list[EventRow]:
    """Settled events behind a place, in order; of some trees only, if they are named.

    With `deletions`, also what the grove's chain says of deleted trees.
    """
    statement = _WHOLE.where(_place > tuple(after), session.dialect.settled(_events.c.transaction))
    if trees is not None:
        # Not the bare column: it would invite a plan that sorts a whole tree for every page.
        chosen = session.dialect.among(_events.c.tree + 0, list(trees))
        gone = and_(_events.c.tree + 0 == GROVE, _events.c.kind == "delete")
        statement = statement.where(or_(chosen, gone) if deletions else chosen)
    return _rows(session, statement.limit(limit))


def chain_events(session: Session, tree: int, *, after: int, limit: int) -> list[EventRow]:
    """One tree's events behind an ordinal, in the order of its chain, settled or not."""
    own = _WHOLE.where(_events.c.tree == tree, _events.c.ordinal > after)
    return _rows(session, own.order_by(None).order_by(_events.c.ordinal).limit(limit))


def _rows(session: Session, statement: Select[*tuple[Any, ...]]) -> list[EventRow]:
    return [
        EventRow._make((EventPosition(row.transaction, row.number), *row[2:]))
        for row in session.execute(statement)
    ]


def head_of(session: Session) -> EventPosition:
    """The last settled event's place."""
    row = session.execute(
        select(_events.c.transaction, _events.c.number)
        .where(session.dialect.settled(_events.c.transaction))
        .order_by(_events.c.transaction.desc(), _events.c.number.desc())
        .limit(1)
    ).one_or_none()
    return BEGINNING if row is None else EventPosition(row.transaction, row.number)


def horizon_of(session: Session) -> int:
    """A transaction later than all whose events this session can see."""
    return int(session.execute(select(session.dialect.horizon())).scalar_one())
