"""Back and forth over projects, and which trees belong to one."""

from typing import Any, ClassVar

from sqlalchemy import Table, select

from weft.runtime.operations.projects import require_free_name
from weft.runtime.undoing.step import Step, refuse
from weft.runtime.undoing.wholes import Archiving, OfTree, Revising, named, put, reviser
from weft.store import schema
from weft.tree.content import JsonObject

__all__ = ["ArchivingProject", "Assigning", "ChangingProject", "StartingProject"]

_projects, _revisions, _trees = schema.projects, schema.project_revisions, schema.trees


class StartingProject(OfTree):
    """A new project is hidden, as long as nobody has changed it or put a tree into it."""

    def undo(self, step: Step) -> JsonObject:
        row = named(step, _projects, step.payload["project"])
        if row.revision != 1:
            refuse(step, f"{row.name!r} was changed", agent=reviser(step, _revisions, row))
        if row.archived_at is not None:
            refuse(step, f"{row.name!r} was archived", needle=row.ulid)
        member = select(_trees.c.title).where(_trees.c.project == row.key).limit(1)
        title = step.scope.transaction.execute(member).scalar()
        if title is not None:
            refuse(step, f"{title!r} belongs to {row.name!r}")
        put(step, _projects, row.key, hidden=step.ordinal, archived_at=step.scope.now)
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - nothing varies
        row = named(step, _projects, step.payload["project"])
        require_free_name(step.scope, row.name)
        put(step, _projects, row.key, hidden=None, archived_at=None)


class ChangingProject(Revising, OfTree):
    table: ClassVar[Table] = _projects
    revisions: ClassVar[Table] = _revisions
    texts: ClassVar[tuple[str, ...]] = ("name", "system_prompt", "context")


class ArchivingProject(Archiving, OfTree):
    table: ClassVar[Table] = _projects


class Assigning(OfTree):
    """A tree belongs where it belonged."""

    def undo(self, step: Step) -> JsonObject:
        self._move(step, step.payload["project"], step.inverse["project"])
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        self._move(step, step.inverse["project"], step.payload["project"])

    def _move(self, step: Step, present: str | None, wanted: str | None) -> None:
        row = named(step, _trees, step.tree.ulid)
        if row.project != self._key(step, present):
            refuse(step, f"{row.title!r} was put elsewhere", needle='"project"')
        put(step, _trees, row.key, project=self._key(step, wanted))

    def _key(self, step: Step, ulid: str | None) -> int | None:
        if ulid is None:
            return None
        row = named(step, _projects, ulid)
        if row.hidden is not None:
            refuse(step, f"the project {row.name!r} was undone", needle=ulid)
        return row.key
