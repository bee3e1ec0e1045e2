"""Undo and redo of an agent's own operations."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import cast

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.permissions import require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.runtime.undo.step import (
    EventFields,
    RecordedEvent,
    Reversal,
    Step,
    event_at,
    tops_before,
    tops_now,
)
from weft.store.rows import TreeState
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.event_kinds import EventKind, HistoryStep, Trait
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import counted

_STEP_LIMIT = 1_000


@dataclass(frozen=True, kw_only=True)
class _Steps(Editing, ABC, access=MemberRole.READER):
    """Needs the right to write; each step also needs the rights of the operation that it reverses."""

    tree: str | None = None
    """None: the grove's own operations (documents, agents, planting)."""
    steps: int = 1

    def apply(self, scope: Scope) -> list[HistoryStep]:
        chain = _open(scope, self.tree, self.steps)
        done: list[HistoryStep] = []
        for number in range(self.steps):
            done.append(self._step(scope, chain, number))
            # All continuations of one run are one operation.
            while (run := done[-1].run) is not None and self._next_run(scope, chain) == run:
                done.append(self._step(scope, chain, number))
        return done

    @abstractmethod
    def _next_run(self, scope: Scope, chain: TreeState | None) -> str | None:
        """The run of the operation that the next step would reverse; None if there is none."""

    @abstractmethod
    def _step(self, scope: Scope, chain: TreeState | None, number: int) -> HistoryStep: ...


class Undo(_Steps, verb="undo"):
    """Undo the acting agent's last operations in a tree, or in the grove itself; all or none."""

    def _next_run(self, scope: Scope, chain: TreeState | None) -> str | None:
        top = tops_now(scope.transaction, _key(chain), scope.actor.agent).undo
        return None if top is None else _run_of(event_at(scope.transaction, _key(chain), top))

    def _step(self, scope: Scope, chain: TreeState | None, number: int) -> HistoryStep:
        key, transaction = _key(chain), scope.transaction
        tops = tops_now(transaction, key, scope.actor.agent)
        event = None if tops.undo is None else event_at(transaction, key, tops.undo)
        if event is None or _begins(chain, event):
            hint = None if chain is None else "planting it is undone in the grove"
            raise NotFoundError(_too_few("undo", number), hint=None if event is None else hint)
        below = tops_before(transaction, key, scope.actor.agent, event.ordinal).undo
        reversal = _reversal(scope, chain, event)
        step = _begin(scope, chain, event, EventKind.UNDO)
        saved = reversal.undo(step)
        return _record(step, {"undoes": event.ordinal, "below": below, "above": tops.redo}, saved)


class Redo(_Steps, verb="redo"):
    """Redo what the acting agent has undone since its last operation; all or none."""

    def _next_run(self, scope: Scope, chain: TreeState | None) -> str | None:
        key, transaction = _key(chain), scope.transaction
        top = tops_now(transaction, key, scope.actor.agent).redo
        if top is None:
            return None
        undone = EventFields(EventKind.UNDO, event_at(transaction, key, top).payload)["undoes"]
        return _run_of(event_at(transaction, key, undone))

    def _step(self, scope: Scope, chain: TreeState | None, number: int) -> HistoryStep:
        key, transaction = _key(chain), scope.transaction
        tops = tops_now(transaction, key, scope.actor.agent)
        if tops.redo is None:
            raise NotFoundError(
                _too_few("redo", number), hint="only what was undone since your last operation can be redone"
            )
        undo = event_at(transaction, key, tops.redo)
        undone = EventFields(undo.kind, undo.payload)
        event = event_at(transaction, key, undone["undoes"])
        reversal = _reversal(scope, chain, event)
        step = _begin(scope, chain, event, EventKind.REDO)
        reversal.redo(step, EventFields(event.kind, undo.inverse))
        return _record(step, {"redoes": event.ordinal, "above": undone["above"]}, {})


def _open(scope: Scope, tree: str | None, steps: int) -> TreeState | None:
    if not 1 <= steps <= _STEP_LIMIT:
        raise InvalidInputError(f"{steps} is not a number of steps", hint=f"use 1 to {_STEP_LIMIT:,}")
    # Locks the grove first, like every operation that needs both: a link may lead to a document.
    scope.transaction.grove_state()
    if tree is None:
        scope.open_grove()
        return None
    return scope.open_tree(tree, archived=True)


def _reversal(scope: Scope, chain: TreeState | None, event: RecordedEvent) -> Reversal:
    """The event's reversal, if it has one and the acting agent has the right."""
    from weft.runtime.undo.registry import REVERSALS  # noqa: PLC0415 - 8 % of the start of every command

    kind = EventKind.of(event.kind)
    if kind is not None and kind.final is not None:
        raise ConflictError(kind.final)
    reversal = None if kind is None else REVERSALS.get(kind)
    if reversal is None:
        raise ConflictError(f"{event.kind!r} cannot be undone")
    require_permission(scope.transaction, scope.actor, reversal.permission, f"step over {event.kind}")
    require_access(scope.transaction, scope.actor, reversal.access, _key(chain))
    if chain is not None and chain.archived_at is not None and not reversal.allow_archived:
        raise ConflictError("the tree is archived", hint=Hint(HintKind.UNARCHIVE))
    return reversal


def _begin(scope: Scope, chain: TreeState | None, event: RecordedEvent, direction: EventKind) -> Step:
    state = scope.transaction.grove_state() if chain is None else chain
    return Step(scope, chain, event, direction, state.events + 1)


def _record(step: Step, payload: dict[str, JsonValue], inverse: JsonObject) -> HistoryStep:
    from weft.runtime.undo.registry import describe_step  # noqa: PLC0415 - 8 % of the start of every command

    nodes: list[JsonValue] = list(step.nodes)
    payload = {**payload, **describe_step(step)}
    step.scope.record(
        step.chain, step.direction, {**payload, "kind": step.event.kind, "nodes": nodes}, inverse
    )
    return HistoryStep(
        direction=step.direction.value,
        kind=step.event.kind,
        ordinal=step.event.ordinal,
        event=step.ordinal,
        tree_id=None if step.chain is None else step.chain.ulid,
        nodes=tuple(step.nodes),
        run=_run_of(step.event),
    )


def _begins(chain: TreeState | None, event: RecordedEvent) -> bool:
    """True for the first event of the grove, or of a tree, whose planting is undone in the grove."""
    kind = EventKind.of(event.kind)
    if kind is EventKind.PLANT:
        return chain is not None
    return kind is not None and Trait.BEGINNING in kind.traits


def _run_of(event: RecordedEvent) -> str | None:
    """The generation that an event is a part of."""
    return cast("str | None", event.payload.get("run")) if event.kind == EventKind.GENERATE.value else None


def _key(chain: TreeState | None) -> int:
    return GROVE if chain is None else chain.key


def _too_few(what: str, done: int) -> str:
    if done == 0:
        return f"there is nothing of yours to {what} here"
    return f"there is only this much to {what} here: {counted(done, 'step')}; nothing was changed"
