"""What happened, in one order that everybody sees alike: read in batches, resumed at a cursor."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from weft.errors import InvalidInputError
from weft.runtime.event_cursors import read_cursor, write_cursor
from weft.runtime.operations.permissions import Actor, require_access, require_permission, trees_allowed
from weft.store import schema
from weft.store.base import Store
from weft.store.events import BEGINNING, EventRow, Place, head_of, horizon_of, read_events
from weft.store.references import find_tree
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import JsonObject
from weft.tree.event_kinds import EventKind
from weft.tree.wire import from_microseconds

__all__ = ["NOW", "Event", "EventBatch", "EventLog", "View", "event_of", "grove_id", "read_shown", "start_of"]

NOW = "now"
"""In place of a cursor: behind everything that has happened."""
BATCH_LIMIT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One recorded operation of a tree, or of the grove itself (`tree_id` None)."""

    cursor: str
    """Go on after this event."""
    number: int
    tree_id: str | None
    ordinal: int
    """Its place in its own chain, from 1."""
    kind: str
    agent_id: str
    payload: JsonObject
    created_at: datetime
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBatch:
    """Some events, and the cursor to go on from: also when there were none."""

    events: tuple[Event, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class View:
    """Which events one reader gets."""

    allowed: frozenset[int] | None
    """The trees its users may look at. None: the whole grove."""
    chosen: frozenset[int] | None
    """The trees it asked for. None: all."""
    names: frozenset[str]
    """Their ids."""

    def keys(self) -> frozenset[int] | None:
        if self.chosen is None:
            return self.allowed
        return self.chosen if self.allowed is None else self.chosen & self.allowed

    def shows(self, row: EventRow) -> bool:
        keys = self.keys()
        if keys is None or row.tree in keys:
            return True
        return (
            self.hears_deletions
            and row.tree == GROVE
            and row.kind == EventKind.DELETE.value
            and self._names(row)
        )

    def _names(self, row: EventRow) -> bool:
        return json.loads(row.payload).get("tree") in self.names

    @property
    def hears_deletions(self) -> bool:
        """Whoever follows some trees still hears that one is gone."""
        return self.allowed is None and self.chosen is not None


@dataclass(frozen=True, slots=True)
class EventLog:
    """A grove's events as one agent may see them."""

    store: Store
    actor: Actor

    def read(
        self, *, after: str | None = None, trees: Sequence[str] | None = None, limit: int = 1_000
    ) -> EventBatch:
        """Events behind a cursor (from the first one, without it), the oldest first."""
        if not 1 <= limit <= BATCH_LIMIT:
            raise InvalidInputError(f"{limit} is not a number of events", hint=f"1 to {BATCH_LIMIT:,}")
        with self.store.read() as session:
            view = self.view(session, trees)
            grove = grove_id(session)
            start = start_of(session, grove, after)
            rows, end = read_shown(session, view, start, limit)
            return EventBatch(
                events=tuple(event_of(grove, row) for row in rows), cursor=write_cursor(grove, end)
            )

    def view(self, session: Session, trees: Sequence[str] | None) -> View:
        """What this agent gets to see now; rights may change between two looks."""
        require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
        allowed = trees_allowed(session, self.actor)
        if allowed == set():
            require_access(session, self.actor, MemberRole.READER)
        names, keys = set[str](), set[int]()
        for reference in trees or ():
            key = find_tree(session, reference)
            require_access(session, self.actor, MemberRole.READER, key)
            keys.add(key)
            names.add(
                session.execute(select(schema.trees.c.ulid).where(schema.trees.c.key == key)).scalar_one()
            )
        return View(
            None if allowed is None else frozenset(allowed),
            None if trees is None else frozenset(keys),
            frozenset(names),
        )


def grove_id(session: Session) -> str:
    return session.execute(select(schema.grove.c.ulid)).scalar_one()


def start_of(session: Session, grove: str, after: str | None) -> Place:
    """The place behind which to go on."""
    if after is None:
        return BEGINNING
    head = head_of(session)
    if after == NOW:
        return head
    place = read_cursor(grove, after)
    beyond = place > head if session.dialect.counts_events else place.transaction >= horizon_of(session)
    if beyond:
        raise InvalidInputError(
            "the event cursor is ahead of the grove: was an older copy of it put back?",
            hint="begin again without a cursor",
        )
    return place


def read_shown(session: Session, view: View, start: Place, limit: int) -> tuple[list[EventRow], Place]:
    """The rows a reader gets, and the place behind all that was looked at."""
    keys = view.keys()
    wanted = None if keys is None else sorted(keys)
    found = read_events(session, start, limit=limit, trees=wanted, deletions=view.hears_deletions)
    # At the end, skips what others have written, so that it is not looked through again.
    end = found[-1].place if len(found) == limit else max(start, head_of(session))
    return [row for row in found if view.shows(row)], end


def event_of(grove: str, row: EventRow) -> Event:
    return Event(
        cursor=write_cursor(grove, row.place),
        number=row.place.number,
        tree_id=row.tree_id,
        ordinal=row.ordinal,
        kind=row.kind,
        agent_id=row.agent_id,
        payload=json.loads(row.payload),
        created_at=from_microseconds(row.created_at),
        hash=row.hash.hex(),
    )
