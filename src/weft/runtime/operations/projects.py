"""Projects: begin, change, put away; and which trees belong to one.

Their texts are kept as revisions, never in events: an inverse names the revision that was.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
from sqlalchemy import func, select, update

from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.runtime.operations.base import Editing
from weft.runtime.scope import Scope
from weft.runtime.values import tree_value
from weft.store import schema
from weft.store.references import find_document, find_project
from weft.store.session import Session
from weft.tree.content import check_text
from weft.tree.project import (
    Project,
    ProjectItem,
    ProjectItemKind,
    check_items,
    items_from_wire,
    items_to_wire,
)
from weft.tree.tree import Tree
from weft.tree.wire import from_microseconds, to_microseconds

__all__ = [
    "ArchiveProject",
    "AssignProject",
    "ChangeProject",
    "CreateProject",
    "load_project",
    "load_projects",
    "require_free_name",
]

_projects = schema.projects
_revisions = schema.project_revisions
_NAME_LIMIT = 200


def load_project(session: Session, reference: str, revision: int | None = None) -> Project:
    """A project, as it is or as it was at a revision."""
    key = find_project(session, reference)
    row = session.execute(select(_projects).where(_projects.c.key == key)).one()
    if revision is None or revision == row.revision:
        return _value(row, row)
    then = session.execute(
        select(_revisions).where(_revisions.c.project == key, _revisions.c.revision == revision)
    ).one_or_none()
    if then is None:
        raise NotFoundError(f"{row.name!r} has no revision {revision}")
    return _value(row, then)


def load_projects(session: Session, *, archived: bool) -> list[Project]:
    statement = (
        select(_projects).where(_projects.c.hidden.is_(None)).order_by(_projects.c.name, _projects.c.key)
    )
    if not archived:
        statement = statement.where(_projects.c.archived_at.is_(None))
    return [_value(row, row) for row in session.execute(statement)]


def _value(row: Any, text: Any) -> Project:
    return Project(
        id=row.ulid,
        name=text.name,
        system_prompt=text.system_prompt,
        context=items_from_wire(json.loads(text.context)),
        revision=text.revision,
        created_at=from_microseconds(row.created_at),
        archived_at=None if row.archived_at is None else from_microseconds(row.archived_at),
    )


def _check_name(name: str) -> str:
    cleaned = check_text(name, what="name", limit=_NAME_LIMIT).strip()
    if not cleaned or "\n" in cleaned:
        raise InvalidInputError("a project's name is one line of text")
    return cleaned


def _resolved(scope: Scope, items: Sequence[ProjectItem]) -> str:
    """The context as it is kept: documents by id, so that another title does not lose them."""
    named = list[ProjectItem]()
    for item in check_items(items):
        if item.kind is ProjectItemKind.DOCUMENT:
            documents = schema.documents
            key = find_document(scope.transaction, item.reference)
            chosen = select(documents.c.ulid).where(documents.c.key == key)
            named.append(ProjectItem(item.kind, scope.transaction.execute(chosen).scalar_one()))
        else:
            named.append(item)
    return orjson.dumps(items_to_wire(list(dict.fromkeys(named)))).decode()


def require_free_name(scope: Scope, name: str) -> None:
    """Names are unique in any case, also among those put away: they may come back."""
    taken = scope.transaction.execute(
        select(_projects.c.name).where(
            func.lower(_projects.c.name) == name.lower(), _projects.c.hidden.is_(None)
        )
    ).scalar()
    if taken is not None:
        raise ConflictError(f"there is a project {taken!r} already", hint="choose another name")


def _add_revision(scope: Scope, key: int, texts: dict[str, Any]) -> None:
    scope.transaction.add(
        _revisions, {"project": key, **texts, "author": scope.agent.key, "created_at": scope.now}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateProject(Editing):
    """A new project, at revision 1."""

    verb: ClassVar[str] = "create a project"
    name: str
    system_prompt: str = ""
    context: Sequence[ProjectItem] = ()

    def apply(self, scope: Scope) -> Project:
        scope.open_grove()
        name = _check_name(self.name)
        require_free_name(scope, name)
        texts: dict[str, Any] = {
            "name": name,
            "system_prompt": check_text(self.system_prompt, what="system prompt"),
            "context": _resolved(scope, self.context),
            "revision": 1,
        }
        ulid = scope.new_ulid()
        row = {"ulid": ulid, **texts, "created_at": scope.now, "archived_at": None}
        _add_revision(scope, scope.transaction.insert(_projects, row), texts)
        scope.record(None, "project", {"project": ulid, "revision": 1}, {"archiveProject": ulid})
        return load_project(scope.transaction, ulid)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeProject(Editing):
    """Another name, prompt or context; what is not given stays.

    `revision` is the one the change started from. If somebody changed it since: a conflict.
    """

    verb: ClassVar[str] = "change a project"
    project: str
    revision: int
    name: str | None = None
    system_prompt: str | None = None
    context: Sequence[ProjectItem] | None = None

    def apply(self, scope: Scope) -> Project:
        scope.open_grove()
        transaction = scope.transaction
        key = find_project(transaction, self.project)
        before = transaction.execute(select(_projects).where(_projects.c.key == key)).one()
        if before.archived_at is not None:
            raise ConflictError(f"{before.name!r} is archived", hint="take it out first")
        if before.revision != self.revision:
            raise ConflictError(
                f"{before.name!r} is at revision {before.revision}, you started from {self.revision}",
                hint="read it again and put your changes into the newer one",
            )
        texts: dict[str, Any] = {
            "name": before.name if self.name is None else _check_name(self.name),
            "system_prompt": before.system_prompt
            if self.system_prompt is None
            else check_text(self.system_prompt, what="system prompt"),
            "context": before.context if self.context is None else _resolved(scope, self.context),
        }
        changed = sorted(name for name, value in texts.items() if getattr(before, name) != value)
        if changed:
            if texts["name"].lower() != before.name.lower():
                require_free_name(scope, texts["name"])
            # One more than there ever was: a number that was undone still means the texts it meant.
            highest = select(func.max(_revisions.c.revision)).where(_revisions.c.project == key)
            texts["revision"] = transaction.execute(highest).scalar_one() + 1
            transaction.execute(update(_projects).where(_projects.c.key == key).values(**texts))
            _add_revision(scope, key, texts)
            scope.record(
                None,
                "change-project",
                {"project": before.ulid, "revision": texts["revision"], "fields": list(changed)},
                {"project": before.ulid, "revision": before.revision},
            )
        return load_project(transaction, before.ulid)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveProject(Editing):
    """Put a project away, or take it out again. Its trees stay in it."""

    verb: ClassVar[str] = "archive a project"
    project: str
    restore: bool = False

    def apply(self, scope: Scope) -> Project:
        scope.open_grove()
        before = load_project(scope.transaction, self.project)
        if (before.archived_at is None) != self.restore:
            scope.transaction.execute(
                update(_projects)
                .where(_projects.c.ulid == before.id)
                .values(archived_at=None if self.restore else scope.now)
            )
            kind = "restore-project" if self.restore else "archive-project"
            scope.record(
                None,
                kind,
                {"project": before.id},
                {"archivedAt": None if before.archived_at is None else to_microseconds(before.archived_at)},
            )
        return load_project(scope.transaction, before.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignProject(Editing):
    """Let a tree belong to a project; without one, to none."""

    verb: ClassVar[str] = "assign"
    tree: str
    project: str | None

    def apply(self, scope: Scope) -> Tree:
        tree = scope.open_tree(self.tree)
        transaction = scope.transaction
        trees = schema.trees
        chosen = None if self.project is None else load_project(transaction, self.project)
        if chosen is not None and chosen.archived_at is not None:
            raise ConflictError(f"{chosen.name!r} is archived", hint="take it out first")
        row = (
            select(trees, _projects.c.ulid.label("project_id"), _projects.c.name.label("project_name"))
            .outerjoin(_projects, _projects.c.key == trees.c.project)
            .where(trees.c.key == tree.key)
        )
        before = transaction.execute(row).one()
        wanted = None if chosen is None else chosen.id
        if before.project_id != wanted:
            key = None if wanted is None else find_project(transaction, wanted)
            transaction.execute(update(trees).where(trees.c.key == tree.key).values(project=key))
            scope.record(tree, self.verb, {"project": wanted}, {"project": before.project_id})
            transaction.flush()
            before = transaction.execute(row).one()
        return tree_value(before, before.project_name)
