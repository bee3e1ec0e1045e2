"""One step back or forth: what it works on, and how it refuses."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, Protocol

from sqlalchemy import delete, select

from weft.errors import ConflictError
from weft.runtime.operations.cursors import move_cursor
from weft.runtime.operations.scope import Scope
from weft.runtime.undoing.stack import Recorded
from weft.store import schema
from weft.store.queries import find_node
from weft.store.rows import NodeRow, TreeState
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import JsonObject, JsonValue

__all__ = [
    "Reversal",
    "Step",
    "Told",
    "cursor_now",
    "node_named",
    "put_cursor",
    "refuse",
    "too_old",
    "visible_node",
]

_events = schema.events


@dataclass(slots=True)
class Step:
    """An event under way back, or forth again."""

    scope: Scope
    chain: TreeState | None
    """The tree whose chain holds the event; None: the grove's."""
    event: Recorded
    direction: str
    """`undo` or `redo`."""
    ordinal: int
    """Of the undo or redo that is being done."""
    nodes: list[str] = field(default_factory=list[str])
    """Ids of nodes that it hides or shows."""

    @property
    def tree(self) -> TreeState:
        if self.chain is None:
            raise RuntimeError(f"a {self.event.kind} is recorded in its tree")
        return self.chain

    @property
    def inverse(self) -> dict[str, Any]:
        return Told(self.event.kind, self.event.inverse)

    @property
    def payload(self) -> dict[str, Any]:
        return Told(self.event.kind, self.event.payload)


class Told(dict[str, Any]):
    """What an event says; what it does not say was not known to be needed when it was recorded."""

    def __init__(self, kind: str, told: JsonObject) -> None:
        super().__init__(told)
        self._kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise too_old(self._kind)


def too_old(kind: str) -> ConflictError:
    return ConflictError(
        f"this {kind} was recorded by a Weft that did not keep all that it takes to step over it",
        hint="nothing was changed; do the opposite by hand",
    )


class Reversal(Protocol):
    """How one kind of operation is taken back and done again."""

    permission: ClassVar[Permission]
    access: ClassVar[MemberRole]
    """What the operation asks of who does it: taking it back asks the same."""
    though_archived: ClassVar[bool]
    """Whether it may be done to an archived tree."""

    def undo(self, step: Step) -> JsonObject:
        """Take it back; return what doing it again will need."""
        ...

    def redo(self, step: Step, forth: dict[str, Any]) -> None:
        """Do it again, with what undoing it returned."""
        ...


def refuse(step: Step, what: str, *, needle: str | None = None, agent: int | None = None) -> NoReturn:
    """Somebody stands in the way: say who, where, and the way out.

    Who: the agent given, else whoever last recorded something that names the needle.
    """
    if agent is None and needle is not None:
        agent = _last_touch(step, needle)
    raise ConflictError(
        f"cannot {step.direction} {step.event.kind}: {what}"
        + ("" if agent is None else f" by {_name_of(step, agent)}"),
        hint="nothing was changed; what came later has to be undone first, by whoever did it",
    )


def _name_of(step: Step, agent: int) -> str:
    return "yourself" if agent == step.scope.actor.agent else repr(step.scope.transaction.agent(agent).name)


def _last_touch(step: Step, needle: str) -> int | None:
    """Who last recorded something about it, after the event that is being stepped over."""
    chain = GROVE if step.chain is None else step.chain.key
    found = (
        select(_events.c.agent)
        .where(_events.c.tree == chain, _events.c.ordinal > step.event.ordinal)
        .where(_events.c.payload.contains(needle, autoescape=True))
        .order_by(_events.c.ordinal.desc())
        .limit(1)
    )
    return step.scope.transaction.execute(found).scalar_one_or_none()


def node_named(step: Step, ulid: str) -> NodeRow:
    """A node of the step's tree, undone or not."""
    transaction, tree = step.scope.transaction, step.tree
    key = transaction.cache.names.get((tree.key, ulid))
    if key is not None:
        return transaction.node(tree.key, key)
    return transaction.remember(find_node(transaction, tree.key, ulid, hidden=True))


def visible_node(step: Step, ulid: str) -> NodeRow:
    """The same, refused if somebody has undone it since."""
    row = node_named(step, ulid)
    if row.hidden is not None:
        refuse(step, f"[{row.local_id}] was undone", needle=row.ulid)
    return row


def cursor_now(step: Step) -> JsonValue:
    """Where the acting agent stands, as an inverse holds it."""
    scope, tree = step.scope, step.tree
    return scope.ulid_of(tree, scope.transaction.cursor(tree.key, scope.actor.agent))


def put_cursor(step: Step, ulid: str | None) -> None:
    """Stand there again; nowhere, if the agent had never moved."""
    scope, tree = step.scope, step.tree
    if ulid is not None:
        move_cursor(scope, tree, visible_node(step, ulid).key)
        return
    cursors, agent = schema.cursors, scope.actor.agent
    scope.transaction.execute(delete(cursors).where(cursors.c.tree == tree.key, cursors.c.agent == agent))
    scope.transaction.cache.cursors[tree.key, agent] = None
