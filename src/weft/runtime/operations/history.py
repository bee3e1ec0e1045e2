"""Stepping back and forth through one's own operations: undo, redo."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, cast

from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.runtime.operations.permissions import require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.runtime.undoing.kinds import REVERSALS
from weft.runtime.undoing.stack import Recorded, event_at, tops_before, tops_now
from weft.runtime.undoing.step import Reversal, Step, Told
from weft.runtime.undoing.vouching import vouch_for
from weft.store.rows import TreeState
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import JsonObject, JsonValue
from weft.tree.event_kinds import EventKind, Trait
from weft.tree.history import Stepped
from weft.tree.marks import counted

__all__ = ["Redo", "Undo"]

_STEP_LIMIT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stepping(ABC):
    """Who may write may step back; each operation asks for its own right besides."""

    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.READER
    tree: str | None = None
    """None: the grove's own operations (documents, agents, planting)."""
    steps: int = 1

    def apply(self, scope: Scope) -> list[Stepped]:
        chain = _open(scope, self.tree, self.steps)
        done: list[Stepped] = []
        for number in range(self.steps):
            done.append(self._step(scope, chain, number))
            # Continuations of one run were one operation, however many calls they took.
            while (run := done[-1].run) is not None and self._next_run(scope, chain) == run:
                done.append(self._step(scope, chain, number))
        return done

    @abstractmethod
    def _next_run(self, scope: Scope, chain: TreeState | None) -> str | None:
        """The run of what the next step would step over; None if there is none."""

    @abstractmethod
    def _step(self, scope: Scope, chain: TreeState | None, number: int) -> Stepped: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(_Stepping):
    """Take back the acting agent's last operations in a tree, or in the grove itself; all or none."""

    verb: ClassVar[str] = "undo"

    def _next_run(self, scope: Scope, chain: TreeState | None) -> str | None:
        top = tops_now(scope.transaction, _key(chain), scope.actor.agent).undo
        return None if top is None else _run_of(event_at(scope.transaction, _key(chain), top))

    def _step(self, scope: Scope, chain: TreeState | None, number: int) -> Stepped:
        key, transaction = _key(chain), scope.transaction
        tops = tops_now(transaction, key, scope.actor.agent)
        event = None if tops.undo is None else event_at(transaction, key, tops.undo)
        if event is None or _begins(chain, event):
            hint = None if chain is None else "planting it is undone in the grove"
            raise NotFoundError(_too_few("undo", number), hint=None if event is None else hint)
        below = tops_before(transaction, key, scope.actor.agent, event.ordinal).undo
        reversal = _reversal(scope, chain, event)
        step = _begin(scope, chain, event, EventKind.UNDO)
        forth = reversal.undo(step)
        return _record(step, {"undoes": event.ordinal, "below": below, "above": tops.redo}, forth)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redo(_Stepping):
    """Do again what the acting agent has undone since its last operation; all or none."""

    verb: ClassVar[str] = "redo"

    def _next_run(self, scope: Scope, chain: TreeState | None) -> str | None:
        key, transaction = _key(chain), scope.transaction
        top = tops_now(transaction, key, scope.actor.agent).redo
        if top is None:
            return None
        undone = Told(EventKind.UNDO, event_at(transaction, key, top).payload)["undoes"]
        return _run_of(event_at(transaction, key, _number(undone)))

    def _step(self, scope: Scope, chain: TreeState | None, number: int) -> Stepped:
        key, transaction = _key(chain), scope.transaction
        tops = tops_now(transaction, key, scope.actor.agent)
        if tops.redo is None:
            raise NotFoundError(
                _too_few("redo", number), hint="only what was undone since your last operation can be redone"
            )
        undo = event_at(transaction, key, tops.redo)
        told = Told(undo.kind, undo.payload)
        event = event_at(transaction, key, _number(told["undoes"]))
        reversal = _reversal(scope, chain, event)
        step = _begin(scope, chain, event, EventKind.REDO)
        reversal.redo(step, Told(event.kind, undo.inverse))
        return _record(step, {"redoes": event.ordinal, "above": told["above"]}, {})


def _open(scope: Scope, tree: str | None, steps: int) -> TreeState | None:
    if not 1 <= steps <= _STEP_LIMIT:
        raise InvalidInputError(f"{steps} is not a number of steps", hint=f"use 1 to {_STEP_LIMIT:,}")
    # The grove first, as everyone who needs both does: a link may lead to a document.
    scope.transaction.grove_state()
    if tree is None:
        scope.open_grove()
        return None
    return scope.open_tree(tree, archived=True)


def _reversal(scope: Scope, chain: TreeState | None, event: Recorded) -> Reversal:
    """How the event is taken back, if it can be and the acting agent may."""
    kind = EventKind.of(event.kind)
    if kind is not None and kind.final is not None:
        raise ConflictError(kind.final)
    reversal = None if kind is None else REVERSALS.get(kind)
    if reversal is None:
        raise ConflictError(f"{event.kind!r} cannot be undone")
    require_permission(scope.transaction, scope.actor, reversal.permission, f"step over {event.kind}")
    require_access(scope.transaction, scope.actor, reversal.access, _key(chain))
    if chain is not None and chain.archived_at is not None and not reversal.though_archived:
        raise ConflictError("the tree is archived", hint="unarchive it first")
    return reversal


def _begin(scope: Scope, chain: TreeState | None, event: Recorded, direction: str) -> Step:
    state = scope.transaction.grove_state() if chain is None else chain
    return Step(scope, chain, event, direction, state.events + 1)


def _record(step: Step, payload: dict[str, JsonValue], inverse: JsonObject) -> Stepped:
    nodes: list[JsonValue] = list(step.nodes)
    payload = {**payload, **vouch_for(step)}
    step.scope.record(
        step.chain, step.direction, {**payload, "kind": step.event.kind, "nodes": nodes}, inverse
    )
    return Stepped(
        direction=step.direction,
        kind=step.event.kind,
        ordinal=step.event.ordinal,
        event=step.ordinal,
        tree_id=None if step.chain is None else step.chain.ulid,
        nodes=tuple(step.nodes),
        run=_run_of(step.event),
    )


def _begins(chain: TreeState | None, event: Recorded) -> bool:
    """True for the first event of the grove, or of a tree, whose planting is undone in the grove."""
    kind = EventKind.of(event.kind)
    if kind is EventKind.PLANT:
        return chain is not None
    return kind is not None and Trait.BEGINNING in kind.traits


def _run_of(event: Recorded) -> str | None:
    """The generation that an event is a part of."""
    return cast("str | None", event.payload.get("run")) if event.kind == EventKind.GENERATE.value else None


def _key(chain: TreeState | None) -> int:
    return GROVE if chain is None else chain.key


def _number(value: JsonValue) -> int:
    if not isinstance(value, int):
        raise TypeError(f"not an event's ordinal: {value!r}")
    return value


def _too_few(what: str, done: int) -> str:
    if done == 0:
        return f"there is nothing of yours to {what} here"
    return f"there is only so much to {what} here: {counted(done, 'step')}; nothing was changed"
