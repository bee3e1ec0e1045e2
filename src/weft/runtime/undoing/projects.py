"""Back and forth over projects, and which trees belong to one."""

from typing import Any, ClassVar

from sqlalchemy import Table, select, update

from weft.runtime.operations.projects import require_free_name
from weft.runtime.undoing.step import Step, refuse
from weft.runtime.undoing.wholes import Archiving, OfTree, named, put
from weft.store import schema
from weft.tree.content import JsonObject

__all__ = ["ArchivingProject", "Assigning", "ChangingProject", "StartingProject"]

_projects, _revisions, _trees = schema.projects, schema.project_revisions, schema.trees


class StartingProject(OfTree):
    """A new project is hidden, as long as nobody has changed it or put a tree into it."""

    def undo(self, step: Step) -> JsonObject:
        row = named(step, _projects, step.payload["project"])
        if row.revision != 1:
            refuse(step, f"{row.name!r} was changed", agent=_changer(step, row))
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


class ChangingProject(OfTree):
    """The revision before, or the one after: both are kept, one is shown."""

    def undo(self, step: Step) -> JsonObject:
        self._turn(step, step.payload["revision"], step.inverse["revision"])
        self._hide(step, step.ordinal)
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        self._turn(step, step.inverse["revision"], step.payload["revision"])
        self._hide(step, None)

    def _turn(self, step: Step, present: int, wanted: int) -> None:
        row = named(step, _projects, step.payload["project"])
        if row.revision != present:
            refuse(step, f"{row.name!r} was changed again", agent=_changer(step, row))
        if row.archived_at is not None:
            refuse(step, f"{row.name!r} was archived", needle=row.ulid)
        there = _revisions.c.project == row.key, _revisions.c.revision == wanted
        kept = step.scope.transaction.execute(select(_revisions).where(*there)).one()
        if kept.name.lower() != row.name.lower():
            require_free_name(step.scope, kept.name)
        texts = {name: getattr(kept, name) for name in ("revision", "name", "system_prompt", "context")}
        put(step, _projects, row.key, **texts)

    def _hide(self, step: Step, by: int | None) -> None:
        key = named(step, _projects, step.payload["project"]).key
        there = _revisions.c.project == key, _revisions.c.revision == step.payload["revision"]
        step.scope.transaction.execute(update(_revisions).where(*there).values(hidden=by))


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


def _changer(step: Step, row: Any) -> int:
    """Who wrote the revision that a project is at."""
    there = _revisions.c.project == row.key, _revisions.c.revision == row.revision
    return step.scope.transaction.execute(select(_revisions.c.author).where(*there)).scalar_one()
