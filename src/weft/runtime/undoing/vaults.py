"""Back and forth over folders that are mounted."""

from typing import Any, ClassVar

from weft.runtime.operations.vaults import note_vault, require_free_vault
from weft.runtime.undoing.step import Step, refuse
from weft.runtime.undoing.wholes import named, put
from weft.store import schema
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import JsonObject

__all__ = ["Mounting"]

_vaults = schema.vaults


class Mounting:
    """A folder is mounted, or is not."""

    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.OWNER
    though_archived: ClassVar[bool] = False

    def undo(self, step: Step) -> JsonObject:
        self._turn(step, mounted=step.event.kind == "unmount")
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        self._turn(step, mounted=step.event.kind == "mount")

    def _turn(self, step: Step, *, mounted: bool) -> None:
        row = named(step, _vaults, step.payload["vault"])
        if (row.removed is None) == mounted:
            refuse(step, f"{row.name!r} was {'mounted' if mounted else 'unmounted'}", needle=row.ulid)
        if mounted:
            require_free_vault(step.scope, row.name)
        put(step, _vaults, row.key, removed=None if mounted else step.ordinal)
        note_vault(step.scope, row.ulid)
