"""Back and forth over records: what was appended is unseen, or seen again."""

from typing import Any

from weft.runtime.operations.records import hide_records
from weft.runtime.undoing.step import Step, refuse
from weft.runtime.undoing.wholes import OfTree
from weft.store.records import record_rows
from weft.tree.content import JsonObject

__all__ = ["Recording"]


class Recording(OfTree):
    """Records that were appended together are hidden together."""

    def undo(self, step: Step) -> JsonObject:
        hide_records(step.scope, self._rows(step), step.ordinal)
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - nothing varies
        hide_records(step.scope, self._rows(step), None)

    def _rows(self, step: Step) -> list[Any]:
        ulids = step.payload["records"]
        rows = record_rows(step.scope.transaction, ulids)
        if len(rows) < len(ulids):
            refuse(step, "some of the records have been deleted")
        return rows
