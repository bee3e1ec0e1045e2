"""What an agent can undo and redo, derived from its own events alone.

History is never rewritten: an undo is an event too. It names what it undid, what can be
undone below it and what could be redone before it, so that an agent's last event says
where it stands in its history: two lookups, however long the history is.
"""

import json
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from sqlalchemy import Select, select

from weft.store import schema
from weft.store.session import Session
from weft.tree.content import JsonObject
from weft.tree.event_kinds import EVIDENCE_KINDS, EventKind

__all__ = ["Recorded", "Tops", "event_at", "tops_before", "tops_now"]

_events = schema.events


@dataclass(frozen=True, slots=True)
class Recorded:
    """One event as it was recorded."""

    ordinal: int
    kind: str
    agent: int
    payload: JsonObject
    inverse: JsonObject
    created_at: int


class Tops(NamedTuple):
    """The ordinals of the operation that an undo would take back, and of the undo that a redo would."""

    undo: int | None
    redo: int | None


def event_at(session: Session, chain: int, ordinal: int) -> Recorded:
    """An event that is known to be there. `chain` is a tree's key, or 0 for the grove."""
    here = select(_events).where(_events.c.tree == chain, _events.c.ordinal == ordinal)
    return _recorded(session.execute(here).one())


def tops_now(session: Session, chain: int, agent: int) -> Tops:
    return _tops(session, _own(chain, agent))


def tops_before(session: Session, chain: int, agent: int, ordinal: int) -> Tops:
    """What the agent could undo and redo just before one of its events."""
    return _tops(session, _own(chain, agent).where(_events.c.ordinal < ordinal))


def _own(chain: int, agent: int) -> Select[Any]:
    return select(_events).where(
        _events.c.tree == chain, _events.c.agent == agent, _events.c.kind.not_in(sorted(EVIDENCE_KINDS))
    )


def _tops(session: Session, own: Select[Any]) -> Tops:
    row = session.execute(own.order_by(_events.c.ordinal.desc()).limit(1)).one_or_none()
    if row is None:
        return Tops(None, None)
    last = _recorded(row)
    match last.kind:
        case EventKind.UNDO:
            return Tops(_number(last.payload, "below"), last.ordinal)
        case EventKind.REDO:
            return Tops(_number(last.payload, "redoes"), _number(last.payload, "above"))
        case _:
            return Tops(last.ordinal, None)


def _recorded(row: Any) -> Recorded:
    return Recorded(
        row.ordinal, row.kind, row.agent, json.loads(row.payload), json.loads(row.inverse), row.created_at
    )


def _number(payload: JsonObject, name: str) -> int | None:
    # An undo that does not say so, as one of an earlier Weft: there history ends.
    return cast("int | None", payload.get(name))
