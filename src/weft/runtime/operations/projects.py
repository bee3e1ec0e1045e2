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
from weft.provenance.fingerprints import PROJECT
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_values import TREE_ROWS, tree_value
from weft.runtime.operations.revisions import next_revision, note_revised, put_away
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_document, find_project
from weft.store.session import Session
from weft.tree.content import check_text
from weft.tree.json_names import from_microseconds
from weft.tree.reference import (
    Project,
    ProjectItem,
    ProjectItemKind,
    check_items,
    items_from_wire,
    items_to_wire,
)
from weft.tree.tree import Tree

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
        select(_revisions).where(
            _revisions.c.project == key, _revisions.c.revision == revision, _revisions.c.hidden.is_(None)
        )
    ).one_or_none()
    if then is None:
        raise NotFoundError(f"{row.name!r} has no revision {revision}")
    return _value(row, then)


def open_project(session: Session, reference: str) -> Any:
    """The row of a project that trees may join: not one that was put away."""
    row = session.execute(select(_projects).where(_projects.c.key == find_project(session, reference))).one()
    if row.archived_at is not None:
        raise ConflictError(f"{row.name!r} is archived", hint="take it out first")
    return row


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
        note_revised(scope, PROJECT, ulid)
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
        before = open_project(transaction, self.project)
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
            texts["revision"] = next_revision(scope, PROJECT, before.key)
            transaction.execute(update(_projects).where(_projects.c.key == before.key).values(**texts))
            _add_revision(scope, before.key, texts)
            note_revised(scope, PROJECT, before.ulid)
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
        transaction = scope.transaction
        found = select(_projects).where(_projects.c.key == find_project(transaction, self.project))
        before = transaction.execute(found).one()
        # Names stay unique among those put away, so there is nothing to look for when one comes back.
        put_away(
            scope,
            _projects,
            before,
            restore=self.restore,
            note=lambda: note_revised(scope, PROJECT, before.ulid),
        )
        return load_project(transaction, before.ulid)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignProject(Editing):
    """Let a tree belong to a project; without one, to none."""

    verb: ClassVar[str] = "assign"
    tree: str
    project: str | None

    def apply(self, scope: Scope) -> Tree:
        transaction = scope.transaction
        # The grove first, as everyone who needs both does: the project must not go meanwhile.
        transaction.grove_state()
        tree = scope.open_tree(self.tree)
        trees = schema.trees
        chosen = None if self.project is None else open_project(transaction, self.project)
        row = TREE_ROWS.add_columns(_projects.c.ulid.label("project_id")).where(trees.c.key == tree.key)
        before = transaction.execute(row).one()
        wanted = None if chosen is None else chosen.ulid
        if before.project_id != wanted:
            key = None if chosen is None else chosen.key
            transaction.execute(update(trees).where(trees.c.key == tree.key).values(project=key))
            scope.record(tree, self.verb, {"project": wanted}, {"project": before.project_id})
            transaction.flush()
            before = transaction.execute(row).one()
        return tree_value(before)
