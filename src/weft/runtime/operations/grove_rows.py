"""Rows of the grove itself (agents, documents, projects, trees …): unique names, changes, fingerprints."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Column, ColumnElement, Table, func, select, true, update

from weft.errors import ConflictError, InvalidInputError
from weft.provenance.fingerprints import (
    DOCUMENT,
    PROJECT,
    RevisedKind,
    agent_fingerprint,
    tree_fingerprints,
    vault_fingerprint,
)
from weft.runtime.operations.node_values import TREE_ROWS, tree_value
from weft.runtime.operations.scope import Scope, digest_of
from weft.store import schema
from weft.store.rows import TreeState
from weft.tree.content import check_text
from weft.tree.tree import Tree

_agents, _users, _vaults = schema.agents, schema.users, schema.vaults
_documents, _projects = schema.documents, schema.projects
_REVISED: Mapping[Table, RevisedKind] = {_documents: DOCUMENT, _projects: PROJECT}
_NAMES: Mapping[Table, tuple[Column[str], ColumnElement[bool]]] = {
    _agents: (_agents.c.name, _agents.c.archived_at.is_(None)),
    _users: (_users.c.name, true()),
    _documents: (_documents.c.title, _documents.c.archived_at.is_(None)),
    # Archived projects keep their names: they may be restored.
    _projects: (_projects.c.name, _projects.c.hidden.is_(None)),
    _vaults: (_vaults.c.name, _vaults.c.removed.is_(None)),
}
"""The column that names a row, and which rows hold on to their name."""


def noun_of(table: Table) -> str:
    return table.name.removesuffix("s")


def name_of(table: Table, row: Any) -> str:
    return getattr(row, _NAMES[table][0].name)


def check_line(value: str, what: str, *, limit: int) -> str:
    """A name or title: one line of text, without spaces around it."""
    line = check_text(value, what=what, limit=limit).strip()
    if not line or "\n" in line:
        raise InvalidInputError(f"a {what} is one line of text")
    return line


def require_free_name(scope: Scope, table: Table, name: str) -> None:
    """Refuse a name that another row has, in upper or lower case."""
    column, holds = _NAMES[table]
    same = select(column).where(func.lower(column) == name.strip().lower(), holds)
    taken = scope.transaction.execute(same).scalar()
    if taken is not None:
        article = "an" if table is _agents else "a"
        raise ConflictError(
            f"there is {article} {noun_of(table)} {taken!r} already", hint=f"choose another {column.name}"
        )


def set_archived(scope: Scope, table: Table, row: Any, *, restore: bool) -> None:
    """Archive an agent, document or project, or restore it; record nothing if it is so already."""
    if (row.archived_at is None) == restore:
        return
    if restore and table is not _projects:
        require_free_name(scope, table, name_of(table, row))
    moment = None if restore else scope.now
    scope.transaction.execute(update(table).where(table.c.key == row.key).values(archived_at=moment))
    fingerprint_row(scope, table, row.ulid)
    noun = noun_of(table)
    kind = f"restore-{noun}" if restore else f"archive-{noun}"
    scope.record(None, kind, {noun: row.ulid}, {"archivedAt": row.archived_at})


def fingerprint_row(scope: Scope, table: Table, ulid: str, revision: int | None = None) -> None:
    """Add the fingerprint of a row as it is now to the event.

    For a document or project also those of its present revision, and of `revision`.
    """
    transaction = scope.transaction
    row = transaction.execute(select(table).where(table.c.ulid == ulid)).mappings().one()
    if table is _agents:
        transaction.cache.agents.pop(row["key"], None)
        scope.add_fingerprint(agent_fingerprint(row))
        return
    if table is _vaults:
        scope.add_fingerprint(vault_fingerprint(row))
        return
    kind = _REVISED[table]
    columns = kind.revisions.c
    scope.add_fingerprint(kind.fingerprint(row))
    for number in {row["revision"], row["revision"] if revision is None else revision}:
        here = (columns[kind.name] == row["key"]) & (columns.revision == number)
        text = transaction.execute(select(kind.revisions).where(here)).mappings().one()
        scope.add_fingerprint(kind.revision_fingerprint(ulid, text, transaction.agent(text["author"]).ulid))


def next_revision(scope: Scope, table: Table, key: int) -> int:
    """One more than the highest ever used: the number of an undone revision still means its text."""
    kind = _REVISED[table]
    own = kind.revisions.c[kind.name] == key
    return scope.transaction.execute(select(func.max(kind.revisions.c.revision)).where(own)).scalar_one() + 1


def require_revision(name: str, revision: int, started_from: int) -> None:
    """Refuse a change that started from another revision than the present one."""
    if revision != started_from:
        raise ConflictError(
            f"{name!r} is at revision {revision}, you started from {started_from}",
            hint="read it again and put your changes into the newer text",
        )


def change_tree(scope: Scope, tree: TreeState, changes: Mapping[str, Any]) -> Tree:
    """Write the columns of a tree that differ, and record the change."""
    transaction, trees = scope.transaction, schema.trees
    chosen = TREE_ROWS.where(trees.c.key == tree.key)
    before = transaction.execute(chosen).one()
    changed = {name: value for name, value in changes.items() if getattr(before, name) != value}
    if changed:
        transaction.execute(update(trees).where(trees.c.key == tree.key).values(**changed))
        scope.add_fingerprint(*tree_fingerprints(changed))
        scope.record(
            tree,
            "describe",
            {"fields": sorted(changed)},
            {
                "was": {name: getattr(before, name) for name in changed},
                "is": {name: digest_of(value) for name, value in changed.items()},
            },
        )
        transaction.flush()
    return tree_value(transaction.execute(chosen).one())
