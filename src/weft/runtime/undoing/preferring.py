"""Back and forth over what a grove prefers."""

from typing import Any, ClassVar

import orjson
from sqlalchemy import select

from weft.runtime.operations.settings import put_preferences
from weft.runtime.undoing.step import Step, refuse
from weft.store import schema
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import JsonObject

__all__ = ["Preferring"]


class Preferring:
    """Each preference as it was, unless somebody has set it since."""

    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.OWNER
    though_archived: ClassVar[bool] = False

    def undo(self, step: Step) -> JsonObject:
        self._turn(step, step.inverse["is"], step.inverse["was"])
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        self._turn(step, step.inverse["was"], step.inverse["is"])

    def _turn(self, step: Step, present: dict[str, Any], wanted: dict[str, Any]) -> None:
        grove = schema.grove.c.preferences
        now = orjson.loads(step.scope.transaction.execute(select(grove)).scalar_one())
        for name, value in present.items():
            if now.get(name) != value:
                refuse(step, f"{name} was set again", needle=name)
        kept = {name: value for name, value in {**now, **wanted}.items() if value is not None}
        put_preferences(step.scope, kept)
