"""Back and forth over pins and stashes: taken up or let go of, their rows keep their words."""

from typing import Any, ClassVar

from weft.runtime.operations.agent_memory import mark
from weft.runtime.undoing.step import Step, refuse
from weft.store.memory import MemoryKind, MemoryRow, live_memory, memory_at
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import JsonObject

__all__ = ["Remembering"]


class Remembering:
    """What was taken up is let go of, and what that replaced is there again."""

    permission: ClassVar[Permission] = Permission.LOOM_AWARE
    access: ClassVar[MemberRole] = MemberRole.READER
    though_archived: ClassVar[bool] = True

    def undo(self, step: Step) -> JsonObject:
        self._swap(step, out=step.inverse["remove"], back=step.inverse["restore"])
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        self._swap(step, out=step.inverse["restore"], back=step.inverse["remove"])

    def _swap(self, step: Step, *, out: int | None, back: int | None) -> None:
        scope = step.scope
        leaving = None if out is None else self._row(step, out)
        coming = None if back is None else self._row(step, back)
        if (leaving is not None and leaving.removed is not None) or (
            coming is not None and coming.removed is None
        ):
            refuse(step, "it was changed since")
        if leaving is not None:
            mark(scope, leaving, scope.now)
        if coming is not None:
            place = step.tree.key, scope.actor.agent, [MemoryKind(coming.kind)], coming.label
            if live_memory(scope.transaction, *place):
                refuse(step, f"{coming.label!r} was taken up again")
            mark(scope, coming, None)

    def _row(self, step: Step, ordinal: int) -> MemoryRow:
        row = memory_at(step.scope.transaction, step.tree.key, step.scope.actor.agent, ordinal)
        if row is None:
            refuse(step, "it is not kept any more")
        return row
