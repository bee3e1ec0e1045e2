"""Projects: begin, change, put away; and which trees belong to one.

Their texts are kept as revisions, never in events: an inverse names the revision that was.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import select, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from weft.knowledge.folder import Folder
from weft.runtime.operations.agents import Managing
from weft.runtime.operations.executor import Caller, Editing
from weft.runtime.operations.grove_rows import (
    check_line,
    fingerprint_row,
    next_revision,
    require_free_name,
    require_revision,
    set_archived,
)
from weft.runtime.operations.node_values import TREE_ROWS, tree_value, value_of
from weft.runtime.operations.permissions import require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_document, find_project
from weft.store.session import Session
from weft.store.vault_index import forget_vault, mounted_keys
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import check_text
from weft.tree.json_names import from_microseconds
from weft.tree.reference import (
    Project,
    ProjectItem,
    ProjectItemKind,
    Vault,
    check_items,
    check_vault_name,
    items_from_wire,
    items_to_wire,
)
from weft.tree.tree import Tree

if TYPE_CHECKING:
    from weft.knowledge.notes import Mounted

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
    return value_of(
        Project,
        row,
        name=text.name,
        system_prompt=text.system_prompt,
        context=items_from_wire(json.loads(text.context)),
        revision=text.revision,
    )


def _resolved(scope: Scope, items: Sequence[ProjectItem]) -> str:
    """The context as it is stored: documents by id, so that a new title does not lose them."""
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


def _add_revision(scope: Scope, key: int, texts: dict[str, Any]) -> None:
    scope.transaction.add(
        _revisions, {"project": key, **texts, "author": scope.agent.key, "created_at": scope.now}
    )


class CreateProject(Editing, verb="create a project"):
    """A new project, at revision 1."""

    name: str
    system_prompt: str = ""
    context: Sequence[ProjectItem] = ()

    def apply(self, scope: Scope) -> Project:
        scope.open_grove()
        name = check_line(self.name, "name", limit=_NAME_LIMIT)
        require_free_name(scope, _projects, name)
        texts: dict[str, Any] = {
            "name": name,
            "system_prompt": check_text(self.system_prompt, what="system prompt"),
            "context": _resolved(scope, self.context),
            "revision": 1,
        }
        ulid = scope.new_ulid()
        row = {"ulid": ulid, **texts, "created_at": scope.now, "archived_at": None}
        _add_revision(scope, scope.transaction.insert(_projects, row), texts)
        fingerprint_row(scope, _projects, ulid)
        scope.record(None, "project", {"project": ulid, "revision": 1}, {"archiveProject": ulid})
        return load_project(scope.transaction, ulid)


class ChangeProject(Editing, verb="change a project"):
    """Another name, prompt or context; what is not given stays.

    `revision` is the one the change started from. A conflict if the project was changed since.
    """

    project: str
    revision: int
    name: str | None = None
    system_prompt: str | None = None
    context: Sequence[ProjectItem] | None = None

    def apply(self, scope: Scope) -> Project:
        scope.open_grove()
        transaction = scope.transaction
        before = open_project(transaction, self.project)
        require_revision(before.name, before.revision, self.revision)
        texts: dict[str, Any] = {
            "name": before.name if self.name is None else check_line(self.name, "name", limit=_NAME_LIMIT),
            "system_prompt": before.system_prompt
            if self.system_prompt is None
            else check_text(self.system_prompt, what="system prompt"),
            "context": before.context if self.context is None else _resolved(scope, self.context),
        }
        changed = sorted(name for name, value in texts.items() if getattr(before, name) != value)
        if changed:
            if texts["name"].lower() != before.name.lower():
                require_free_name(scope, _projects, texts["name"])
            texts["revision"] = next_revision(scope, _projects, before.key)
            transaction.execute(update(_projects).where(_projects.c.key == before.key).values(**texts))
            _add_revision(scope, before.key, texts)
            fingerprint_row(scope, _projects, before.ulid)
            scope.record(
                None,
                "change-project",
                {"project": before.ulid, "revision": texts["revision"], "fields": list(changed)},
                {"project": before.ulid, "revision": before.revision},
            )
        return load_project(transaction, before.ulid)


class ArchiveProject(Editing, verb="archive a project"):
    """Put a project away, or take it out again. Its trees stay in it."""

    project: str
    restore: bool = False

    def apply(self, scope: Scope) -> Project:
        scope.open_grove()
        transaction = scope.transaction
        key = find_project(transaction, self.project)
        before = transaction.execute(select(_projects).where(_projects.c.key == key)).one()
        set_archived(scope, _projects, before, restore=self.restore)
        return load_project(transaction, before.ulid)


class AssignProject(Editing, verb="assign"):
    """Let a tree belong to a project; without one, to none."""

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


_vaults = schema.vaults
_LIMIT = 100


def load_vaults(session: Session) -> list[Vault]:
    """All mounted vaults, in the order of mounting."""
    there = select(_vaults).where(_vaults.c.removed.is_(None)).order_by(_vaults.c.key)
    return [value_of(Vault, row) for row in session.execute(there)]


def mounted_in(caller: Caller, names: Sequence[str] = ()) -> "Mounted":
    """The mounted vaults, or those that are named, for an agent that may read notes."""
    from weft.knowledge.notes import Mounted  # noqa: PLC0415 - loads the layers, and few commands read notes

    with caller.store.read() as session:
        require_permission(session, caller.actor, Permission.DOC_READ, "read notes")
        require_access(session, caller.actor, MemberRole.READER)
        mounted = Mounted(load_vaults(session))
    return Mounted([mounted.vault(name) for name in dict.fromkeys(names)]) if names else mounted


class MountVault(Managing, verb="mount a vault"):
    """Mount a folder: its notes can be attached, and are never written to."""

    path: str | Path
    name: str | None = None
    """Else the folder's own."""

    def apply(self, scope: Scope) -> Vault:
        self.open_grove(scope)
        check_text(str(self.path), what="path", limit=4_096)
        folder = Folder.at(self.path)
        name = check_vault_name(folder.root.name if self.name is None else self.name)
        require_free_name(scope, _vaults, name)
        mounted = load_vaults(scope.transaction)
        if len(mounted) >= _LIMIT:
            raise LimitExceededError(f"at most {_LIMIT} vaults are mounted at a time")
        path = check_text(str(folder.root), what="path", limit=4_096)
        for other in mounted:
            if other.path == path:
                raise ConflictError(f"{path} is mounted already, as {other.name!r}")
        ulid = scope.new_ulid()
        row = {"ulid": ulid, "name": name, "path": path, "created_at": scope.now, "removed": None}
        scope.transaction.insert(_vaults, row)
        fingerprint_row(scope, _vaults, ulid)
        scope.record(None, "mount", {"vault": ulid}, {"unmount": ulid})
        return Vault(id=ulid, name=name, path=path, created_at=from_microseconds(scope.now))


class UnmountVault(Managing, verb="unmount a vault"):
    """Unmount a folder. What was attached from it stays attached."""

    vault: str

    def apply(self, scope: Scope) -> Vault:
        grove = self.open_grove(scope)
        wanted = self.vault.strip()
        if not wanted:
            raise InvalidInputError("name the vault to unmount")
        for each in load_vaults(scope.transaction):
            if wanted == each.id or wanted.lower() == each.name.lower():
                forget_vault(scope.transaction, mounted_keys(scope.transaction)[each.id])
                there = update(_vaults).where(_vaults.c.ulid == each.id)
                scope.transaction.execute(there.values(removed=grove.events + 1))
                fingerprint_row(scope, _vaults, each.id)
                scope.record(None, "unmount", {"vault": each.id}, {"mount": each.id})
                return each
        raise NotFoundError(f"no vault {wanted[:60]!r}", hint=Hint(HintKind.LIST_VAULTS))
