"""One step of undo or redo: the event it reverses, the nodes it names, and how it is refused.

History is never rewritten: an undo is an event too. It names the event it undid, what can be
undone below it and what could be redone before it. So an agent's last event is enough to know
what the agent can undo and redo: two lookups, however long the history is.
"""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, cast

from sqlalchemy import Select, delete, select

from weft.errors import ConflictError
from weft.runtime.operations.cursors import move_cursor
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.rows import NodeRow, TreeState
from weft.store.session import Session
from weft.store.transaction import GROVE
from weft.store.tree_queries import find_node
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.event_kinds import EVIDENCE_KINDS, EventKind
from weft.tree.json import JsonObject, JsonValue

_events = schema.events


class EventFields(dict[str, Any]):
    """A payload or an inverse. A field may be missing in an event that another program wrote to a file."""

    def __init__(self, kind: str, fields: JsonObject) -> None:
        super().__init__(fields)
        self._kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise incomplete(self._kind)


def incomplete(kind: str) -> ConflictError:
    return ConflictError(
        f"this {kind} was recorded without all that undo and redo need",
        hint="nothing was changed; reverse it with another operation",
    )


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event as it was recorded."""

    ordinal: int
    kind: str
    agent: int
    payload: JsonObject
    inverse: JsonObject
    created_at: int


class Tops(NamedTuple):
    """The ordinals of the operation that undo would reverse, and of the undo that redo would."""

    undo: int | None
    redo: int | None


def event_at(session: Session, chain: int, ordinal: int) -> RecordedEvent:
    """An event that is known to exist. `chain` is a tree's key, or 0 for the grove."""
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
            return Tops(_ordinal(last.payload, "below"), last.ordinal)
        case EventKind.REDO:
            return Tops(_ordinal(last.payload, "redoes"), _ordinal(last.payload, "above"))
        case _:
            return Tops(last.ordinal, None)


def _recorded(row: Any) -> RecordedEvent:
    return RecordedEvent(
        row.ordinal, row.kind, row.agent, json.loads(row.payload), json.loads(row.inverse), row.created_at
    )


def _ordinal(payload: JsonObject, name: str) -> int | None:
    return cast("int | None", payload.get(name))


@dataclass(slots=True)
class Step:
    """An event that is being undone or redone."""

    scope: Scope
    chain: TreeState | None
    """The tree whose chain holds the event; None: the grove's."""
    event: RecordedEvent
    direction: EventKind
    """`UNDO` or `REDO`."""
    ordinal: int
    """Of the undo or redo that is being performed."""
    nodes: list[str] = field(default_factory=list[str])
    """Ids of nodes that it hides or shows."""

    @property
    def kind(self) -> EventKind:
        return EventKind(self.event.kind)

    @property
    def tree(self) -> TreeState:
        if self.chain is None:
            raise RuntimeError(f"a {self.event.kind} is recorded in its tree")
        return self.chain

    @property
    def inverse(self) -> EventFields:
        return EventFields(self.event.kind, self.event.inverse)

    @property
    def payload(self) -> EventFields:
        return EventFields(self.event.kind, self.event.payload)


@dataclass(frozen=True, kw_only=True)
class Reversal(ABC):
    """How one kind of operation is undone and redone. Both need the rights that the operation needs."""

    permission: Permission = Permission.LOOM_WRITE
    access: MemberRole = MemberRole.EDITOR
    allow_archived: bool = False
    """True if it may be done to an archived tree."""

    @abstractmethod
    def undo(self, step: Step) -> JsonObject:
        """Undo the event; return what redo will need."""

    @abstractmethod
    def redo(self, step: Step, saved: EventFields) -> None:
        """Redo the event, with what undo returned."""


def refuse(step: Step, what: str, *, needle: str | None = None, agent: int | None = None) -> NoReturn:
    """Raise the conflict: what prevents the step, which agent did it, and what to do.

    Without `agent`, the agent that last recorded something that names the needle.
    """
    if agent is None and needle is not None:
        agent = _last_touch(step, needle)
    raise ConflictError(
        f"cannot {step.direction} {step.event.kind}: {what}"
        + ("" if agent is None else f" by {_name_of(step, agent)}"),
        hint="nothing was changed; first undo what came later, as the agent that did it",
    )


def _name_of(step: Step, agent: int) -> str:
    return "yourself" if agent == step.scope.actor.agent else repr(step.scope.transaction.agent(agent).name)


def _last_touch(step: Step, needle: str) -> int | None:
    """The agent that last recorded something about it, after the event that the step reverses."""
    chain = GROVE if step.chain is None else step.chain.key
    latest = (
        select(_events.c.agent)
        .where(_events.c.tree == chain, _events.c.ordinal > step.event.ordinal)
        .where(_events.c.payload.contains(needle, autoescape=True))
        .order_by(_events.c.ordinal.desc())
        .limit(1)
    )
    return step.scope.transaction.execute(latest).scalar_one_or_none()


def node_named(step: Step, ulid: str) -> NodeRow:
    """A node of the step's tree, hidden by an undo or not."""
    transaction, tree = step.scope.transaction, step.tree
    key = transaction.known(tree.key).names.get(ulid)
    if key is not None:
        return transaction.node(tree.key, key)
    return transaction.remember(find_node(transaction, tree.key, ulid, hidden=True))


def visible_node(step: Step, ulid: str) -> NodeRow:
    """The same, refused if an undo has hidden it since."""
    row = node_named(step, ulid)
    if row.hidden is not None:
        refuse(step, f"[{row.local_id}] was undone", needle=row.ulid)
    return row


def cursor_now(step: Step) -> JsonValue:
    """The acting agent's cursor, as an inverse holds it."""
    scope, tree = step.scope, step.tree
    return scope.ulid_of(tree, scope.transaction.cursor(tree.key, scope.actor.agent))


def put_cursor(step: Step, ulid: str | None) -> None:
    """Put the cursor back; remove it if the agent had none."""
    scope, tree = step.scope, step.tree
    if ulid is not None:
        move_cursor(scope, tree, visible_node(step, ulid).key)
        return
    cursors, agent = schema.cursors, scope.actor.agent
    scope.transaction.execute(delete(cursors).where(cursors.c.tree == tree.key, cursors.c.agent == agent))
    scope.transaction.known(tree.key).cursors[agent] = None
