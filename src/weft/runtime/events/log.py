"""The event log: all events in one order, read in batches and resumed at a cursor."""

import base64
import binascii
import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from weft.argument_checks import Options, option
from weft.errors import InvalidInputError
from weft.runtime.operations.permissions import (
    Actor,
    require_access,
    require_permission,
    tree_for,
    trees_allowed,
)
from weft.store import schema
from weft.store.base import Store
from weft.store.events import BEGINNING, EventPosition, EventRow, head_of, horizon_of, read_events
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.event_kinds import EventKind
from weft.tree.json import JsonObject
from weft.tree.json_names import from_microseconds

NOW = "now"
"""In place of a cursor: after the last event."""
BATCH_LIMIT = 10_000
_LAYOUT = struct.Struct(">B6sqqI")
"""Version, grove, transaction, number, checksum: 27 bytes, so that base64 needs no padding."""
_VERSION = 1
_CURSOR_HINT = "use a cursor as it was returned, or omit it to start at the first event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One recorded operation of a tree, or of the grove itself (`tree_id` None)."""

    cursor: str
    """Resumes after this event."""
    number: int
    tree_id: str | None
    ordinal: int
    """Its number in its own chain, from 1."""
    kind: str
    agent_id: str
    payload: JsonObject
    created_at: datetime
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBatch:
    """Some events, and the cursor to resume from, also if there were none."""

    events: tuple[Event, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events one reader gets."""

    allowed: frozenset[int] | None
    """The trees that its users may read. None: the whole grove."""
    chosen: frozenset[int] | None
    """The trees it asked for. None: all of them."""
    names: frozenset[str]
    """The ids of those trees."""

    def keys(self) -> frozenset[int] | None:
        if self.chosen is None:
            return self.allowed
        return self.chosen if self.allowed is None else self.chosen & self.allowed

    def shows(self, row: EventRow) -> bool:
        keys = self.keys()
        if keys is None or row.tree in keys:
            return True
        return (
            self.includes_deletions
            and row.tree == GROVE
            and row.kind == EventKind.DELETE.value
            and self._names(row)
        )

    def _names(self, row: EventRow) -> bool:
        return json.loads(row.payload).get("tree") in self.names

    @property
    def includes_deletions(self) -> bool:
        """True if the reader asked for some trees: their deletion is an event of the grove."""
        return self.allowed is None and self.chosen is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOptions(Options):
    """Which events are read."""

    after: str | None = option(None, "Start after this cursor, or `now`; default: with the first event.")
    trees: Sequence[str] | None = option(None, "Only of these trees.", wire="tree")


@dataclass(frozen=True, slots=True)
class EventLog:
    """A grove's events, as far as one agent may read them."""

    store: Store
    actor: Actor

    def read(
        self, *, after: str | None = None, trees: Sequence[str] | None = None, limit: int = 1_000
    ) -> EventBatch:
        """Events after a cursor (without it, from the first one), oldest first."""
        if not 1 <= limit <= BATCH_LIMIT:
            raise InvalidInputError(f"{limit} is not a number of events", hint=f"1 to {BATCH_LIMIT:,}")
        with self.store.read() as session:
            event_filter = self.filter(session, trees)
            grove = grove_id(session)
            start = start_place(session, grove, after)
            rows, end = read_visible(session, event_filter, start, limit)
            return EventBatch(
                events=tuple(event_from_row(grove, row) for row in rows), cursor=write_cursor(grove, end)
            )

    def filter(self, session: Session, trees: Sequence[str] | None) -> EventFilter:
        """What this agent may read now; rights may change between two reads."""
        require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
        allowed = trees_allowed(session, self.actor)
        if allowed == set():
            require_access(session, self.actor, MemberRole.READER)
        names, keys = set[str](), set[int]()
        for reference in trees or ():
            key = tree_for(session, self.actor, reference)
            keys.add(key)
            names.add(
                session.execute(select(schema.trees.c.ulid).where(schema.trees.c.key == key)).scalar_one()
            )
        return EventFilter(
            None if allowed is None else frozenset(allowed),
            None if trees is None else frozenset(keys),
            frozenset(names),
        )


def grove_id(session: Session) -> str:
    return session.execute(select(schema.grove.c.ulid)).scalar_one()


def start_place(session: Session, grove: str, after: str | None) -> EventPosition:
    """The place after which to resume."""
    if after is None:
        return BEGINNING
    head = head_of(session)
    if after == NOW:
        return head
    place = read_cursor(grove, after)
    beyond = place > head if session.dialect.counts_events else place.transaction >= horizon_of(session)
    if beyond:
        raise InvalidInputError(
            "the event cursor is ahead of the grove: was an older copy of it restored?",
            hint="start again without a cursor",
        )
    return place


def read_visible(
    session: Session, event_filter: EventFilter, start: EventPosition, limit: int
) -> tuple[list[EventRow], EventPosition]:
    """The rows a reader gets, and the place after all that was read."""
    keys = event_filter.keys()
    wanted = None if keys is None else sorted(keys)
    rows = read_events(session, start, limit=limit, trees=wanted, deletions=event_filter.includes_deletions)
    # At the end, skips events of other trees, so that they are not read again.
    end = rows[-1].place if len(rows) == limit else max(start, head_of(session))
    return [row for row in rows if event_filter.shows(row)], end


def event_from_row(grove: str, row: EventRow) -> Event:
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


def write_cursor(grove: str, place: EventPosition) -> str:
    """A place in this grove's event log, as opaque text that is safe in a URL."""
    head = _LAYOUT.pack(_VERSION, _grove_mark(grove), place.transaction, place.number, 0)[:-4]
    return base64.urlsafe_b64encode(head + zlib.crc32(head).to_bytes(4, "big")).decode()


def read_cursor(grove: str, cursor: str) -> EventPosition:
    """The place that a cursor names; refused if it is damaged or another grove's."""
    try:
        data = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        version, mark, transaction, number, check = _LAYOUT.unpack(data)
    except (binascii.Error, struct.error, UnicodeEncodeError):
        raise InvalidInputError(_not_a_cursor(cursor), hint=_CURSOR_HINT) from None
    if check != zlib.crc32(data[:-4]) or number < 0 or transaction < -1:
        raise InvalidInputError(_not_a_cursor(cursor), hint=_CURSOR_HINT)
    if version != _VERSION:
        raise InvalidInputError("the event cursor was written by another version of Weft", hint=_CURSOR_HINT)
    if mark != _grove_mark(grove):
        raise InvalidInputError("the event cursor is another grove's", hint=_CURSOR_HINT)
    return EventPosition(transaction, number)


def _not_a_cursor(cursor: str) -> str:
    shown = cursor if len(cursor) <= 40 else cursor[:40] + "…"
    return f"{shown!r} is not an event cursor"


def _grove_mark(grove: str) -> bytes:
    return hashlib.sha256(grove.encode()).digest()[:6]
