"""Back and forth over trees, documents and agents as wholes."""

from typing import Any, ClassVar

from sqlalchemy import Table, or_, select, update

from weft.runtime.operations.agents import agent_digest, require_free_name, require_person
from weft.runtime.operations.documents import require_free_title
from weft.runtime.operations.projects import require_free_name as require_free_project
from weft.runtime.operations.scope import digest_of
from weft.runtime.operations.trees import set_archived
from weft.runtime.undoing.building import require_no_references
from weft.runtime.undoing.stack import tops_now
from weft.runtime.undoing.step import Step, refuse
from weft.store import schema
from weft.store.transaction import GROVE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import JsonObject
from weft.tree.reference import TargetKind

__all__ = [
    "AddingAgent",
    "Archiving",
    "ArchivingAgent",
    "ArchivingDocument",
    "ChangingAgent",
    "Describing",
    "OfTree",
    "Planting",
    "PuttingAway",
    "Revising",
    "Saving",
    "StartingDocument",
    "named",
    "put",
    "reviser",
]

_trees, _agents, _documents, _revisions = schema.trees, schema.agents, schema.documents, schema.revisions


class OfTree:
    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR
    though_archived: ClassVar[bool] = False


class _OfDocument(OfTree):
    permission: ClassVar[Permission] = Permission.DOC_WRITE


class _OfAgent(OfTree):
    access: ClassVar[MemberRole] = MemberRole.OWNER


def named(step: Step, table: Table, ulid: str) -> Any:
    """The row of a tree, document or agent that somebody may have deleted since."""
    row = step.scope.transaction.execute(select(table).where(table.c.ulid == ulid)).one_or_none()
    if row is None:
        refuse(step, f"the {_what(table)} has been deleted", needle=ulid)
    return row


def put(step: Step, table: Table, key: int, **values: Any) -> None:
    step.scope.transaction.execute(update(table).where(table.c.key == key).values(**values))
    if table is _agents:
        step.scope.transaction.cache.agents.pop(key, None)


def _require_free(step: Step, table: Table, row: Any, name: str) -> None:
    """A name comes back only if nobody else has taken it."""
    if table is _agents and (row.archived_at is not None or row.name.lower() != name.lower()):
        require_free_name(step.scope, name)
    if table is schema.projects and row.name.lower() != name.lower():
        require_free_project(step.scope, name)
    if table is _documents and (row.archived_at is not None or row.title.lower() != name.lower()):
        require_free_title(step.scope, name)


class PuttingAway(OfTree):
    """A tree is archived or open, since the moment it was."""

    though_archived: ClassVar[bool] = True

    def undo(self, step: Step) -> JsonObject:
        self._move(step, self._done(step), self._before(step))
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        self._move(step, self._before(step), self._done(step))

    def _before(self, step: Step) -> int | None:
        return step.inverse.get("archivedAt")

    def _done(self, step: Step) -> int | None:
        return step.event.created_at if step.event.kind == "archive" else None

    def _move(self, step: Step, present: int | None, wanted: int | None) -> None:
        if step.tree.archived_at != present:
            done = "archived" if present is None else "taken out, or archived again"
            refuse(step, f"the tree was {done}", needle=step.tree.ulid)
        set_archived(step.scope, step.tree, wanted)


class Planting(OfTree):
    """A whole tree is hidden, as long as nothing but its planting has happened in it."""

    def undo(self, step: Step) -> JsonObject:
        transaction = step.scope.transaction
        row = named(step, _trees, step.payload["tree"])
        state = transaction.tree_state(row.key)
        if row.archived_at is not None:
            refuse(step, f"{row.title!r} was archived", needle=row.ulid)
        events = schema.events
        everyone = select(events.c.agent).where(events.c.tree == row.key).distinct()
        for agent in list(transaction.execute(everyone).scalars()):
            if tops_now(transaction, row.key, agent).undo not in {None, 1}:
                refuse(step, f"something was done in {row.title!r}", agent=agent)
        self._require_apart(step, row)
        put(step, _trees, row.key, hidden=step.ordinal)
        set_archived(step.scope, state, step.scope.now)
        transaction.cache.keys.pop(row.ulid, None)
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - nothing varies
        row = named(step, _trees, step.payload["tree"])
        state = step.scope.transaction.tree_state(row.key)
        put(step, _trees, row.key, hidden=None)
        set_archived(step.scope, state, None)

    def _require_apart(self, step: Step, row: Any) -> None:
        """Links and tags on the tree's nodes may be recorded in other trees."""
        links, tags = schema.links, schema.tags
        require_no_references(step, TargetKind.TREE, row.key, row.key, repr(row.title))
        for found in (
            select(links.c.key).where(
                or_(links.c.a_tree == row.key, links.c.b_tree == row.key), links.c.removed.is_(None)
            ),
            select(tags.c.key).where(tags.c.tree == row.key, tags.c.removed.is_(None)),
        ):
            if step.scope.transaction.execute(found.limit(1)).first() is not None:
                refuse(step, f"there are references into {row.title!r}")


class _Fields:
    """Columns as they were, unless somebody has changed them since."""

    table: ClassVar[Table]

    def undo(self, step: Step) -> JsonObject:
        row = self._row(step)
        was, done = step.inverse["was"], step.inverse["is"]
        for name in was:
            if digest_of(getattr(row, name)) != done[name]:
                refuse(step, f"the {name.replace('_', ' ')} was changed", needle=name)
        self._put(step, row, was)
        return {"was": {name: getattr(row, name) for name in was}}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:
        row = self._row(step)
        for name, value in step.inverse["was"].items():
            if getattr(row, name) != value:
                refuse(step, f"the {name.replace('_', ' ')} was changed", needle=name)
        self._put(step, row, forth["was"])

    def _row(self, step: Step) -> Any:
        return named(step, self.table, step.tree.ulid if step.chain else step.payload["agent"])

    def _put(self, step: Step, row: Any, values: dict[str, Any]) -> None:
        if "name" in values:
            _require_free(step, self.table, row, values["name"])
        put(step, self.table, row.key, **values)


class Describing(_Fields, OfTree):
    table: ClassVar[Table] = _trees


class ChangingAgent(_Fields, _OfAgent):
    table: ClassVar[Table] = _agents


class StartingDocument(_OfDocument):
    """A new document is hidden, as long as nobody has saved, linked or tagged it."""

    def undo(self, step: Step) -> JsonObject:
        row = named(step, _documents, step.payload["document"])
        if row.revision != 1:
            refuse(step, f"{row.title!r} was saved again", agent=reviser(step, _revisions, row))
        if row.archived_at is not None:
            refuse(step, f"{row.title!r} was archived", needle=row.ulid)
        require_no_references(step, TargetKind.DOCUMENT, GROVE, row.key, repr(row.title))
        put(step, _documents, row.key, hidden=step.ordinal, archived_at=step.scope.now)
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - nothing varies
        row = named(step, _documents, step.payload["document"])
        _require_free(step, _documents, row, row.title)
        put(step, _documents, row.key, hidden=None, archived_at=None)


class Revising:
    """The revision before, or the one after: both are kept, one is shown."""

    table: ClassVar[Table]
    revisions: ClassVar[Table]
    texts: ClassVar[tuple[str, ...]]
    """What a revision keeps that its whole shows too; the first is the name."""

    def undo(self, step: Step) -> JsonObject:
        self._turn(step, step.payload["revision"], step.inverse["revision"])
        self._hide(step, step.ordinal)
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        self._turn(step, step.inverse["revision"], step.payload["revision"])
        self._hide(step, None)

    def _row(self, step: Step) -> Any:
        return named(step, self.table, step.payload[_what(self.table)])

    def _turn(self, step: Step, present: int, wanted: int) -> None:
        row = self._row(step)
        name = getattr(row, self.texts[0])
        if row.revision != present:
            by = reviser(step, self.revisions, row)
            refuse(step, f"revision {row.revision} of {name!r} was saved", agent=by)
        if row.archived_at is not None:
            refuse(step, f"{name!r} was archived", needle=row.ulid)
        there = self.revisions.c[_what(self.table)] == row.key, self.revisions.c.revision == wanted
        kept = step.scope.transaction.execute(select(self.revisions).where(*there)).one()
        _require_free(step, self.table, row, getattr(kept, self.texts[0]))
        values: dict[str, Any] = {text: getattr(kept, text) for text in self.texts}
        if "updated_at" in self.table.c:
            values["updated_at"] = kept.created_at
        put(step, self.table, row.key, revision=wanted, **values)

    def _hide(self, step: Step, by: int | None) -> None:
        columns = self.revisions.c
        there = (
            columns[_what(self.table)] == self._row(step).key,
            columns.revision == step.payload["revision"],
        )
        step.scope.transaction.execute(update(self.revisions).where(*there).values(hidden=by))


class Saving(Revising, _OfDocument):
    table: ClassVar[Table] = _documents
    revisions: ClassVar[Table] = _revisions
    texts: ClassVar[tuple[str, ...]] = ("title",)


def reviser(step: Step, revisions: Table, row: Any) -> int:
    """Who wrote the revision that a document or project is at."""
    of = "document" if revisions is _revisions else "project"
    there = revisions.c[of] == row.key, revisions.c.revision == row.revision
    return step.scope.transaction.execute(select(revisions.c.author).where(*there)).scalar_one()


def _what(table: Table) -> str:
    return table.name.removesuffix("s")


class Archiving:
    """A document or an agent is archived or there, since the moment it was."""

    table: ClassVar[Table]

    def undo(self, step: Step) -> JsonObject:
        self._move(step, self._done(step), step.inverse["archivedAt"])
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        self._move(step, step.inverse["archivedAt"], self._done(step))

    def _done(self, step: Step) -> int | None:
        return step.event.created_at if step.event.kind.startswith("archive") else None

    def _move(self, step: Step, present: int | None, wanted: int | None) -> None:
        row = named(step, self.table, step.payload[_what(self.table)])
        name = row.title if self.table is _documents else row.name
        if row.archived_at != present:
            refuse(step, f"{name!r} was archived or taken out again", needle=row.ulid)
        if wanted is None:
            _require_free(step, self.table, row, name)
        put(step, self.table, row.key, archived_at=wanted)


class ArchivingDocument(Archiving, _OfDocument):
    table: ClassVar[Table] = _documents


class ArchivingAgent(Archiving, _OfAgent):
    table: ClassVar[Table] = _agents


class AddingAgent(_OfAgent):
    """A new agent is hidden, as long as it has done nothing and nobody has changed it."""

    def undo(self, step: Step) -> JsonObject:
        require_person(step.scope)
        row = named(step, _agents, step.payload["agent"])
        if agent_digest(row) != step.inverse["is"] or row.archived_at is not None:
            refuse(step, f"{row.name!r} was changed", needle=row.ulid)
        if self._is_used(step, row):
            refuse(step, f"{row.name!r} has taken part since")
        put(step, _agents, row.key, hidden=step.ordinal, archived_at=step.scope.now)
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - nothing varies
        row = named(step, _agents, step.payload["agent"])
        _require_free(step, _agents, row, row.name)
        put(step, _agents, row.key, hidden=None, archived_at=None)

    def _is_used(self, step: Step, row: Any) -> bool:
        """Has it written, acted or been given to a user? Only trees changed since then are looked through."""
        events, nodes, users = schema.events, schema.nodes, schema.users
        since = select(_trees.c.key).where(_trees.c.updated_at >= step.event.created_at)
        return any(
            step.scope.transaction.execute(found.limit(1)).first() is not None
            for found in (
                select(nodes.c.key).where(nodes.c.tree.in_(since), nodes.c.author == row.key),
                select(events.c.ordinal).where(
                    or_(events.c.tree.in_(since), events.c.tree == GROVE), events.c.agent == row.key
                ),
                select(users.c.key).where(users.c.agent == row.key),
            )
        )
