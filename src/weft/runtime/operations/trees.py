"""Trees as wholes: plant, describe, archive, delete."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, or_, update

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError
from weft.provenance.fingerprints import tree_fingerprints
from weft.runtime.operations.cursors import move_cursor
from weft.runtime.operations.executor import Destroying, Editing, announce_deletion
from weft.runtime.operations.grove_rows import change_tree
from weft.runtime.operations.node_values import TREE_ROWS, tree_value
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.projects import open_project
from weft.runtime.operations.scope import Scope, dump_json
from weft.store import schema
from weft.store.provider_caches import forget_caches, retire_caches
from weft.store.rows import MODES, TreeState
from weft.store.text_index import forget_tree
from weft.tree.content import Content, as_content, check_content, check_text, plain_text
from weft.tree.json import JsonObject, JsonValue
from weft.tree.tree import Mode, Tree, title_from

ORIGIN = "origin"
"""Where an event says what was imported."""
_trees = schema.trees
_TITLE_LIMIT = 1_000


def _check_title(title: str) -> str:
    cleaned = check_text(title, what="title", limit=_TITLE_LIMIT).strip()
    if not cleaned:
        raise InvalidInputError("a title cannot be empty")
    return cleaned


def _check_preferences(given: Mapping[str, JsonValue] | None) -> None:
    if given:
        from weft.runtime.operations.settings import check_preferences  # noqa: PLC0415 - the engine

        check_preferences(given)


class Plant(Editing, verb="plant"):
    """A new tree with its root, which may be empty. The mode is fixed from here on."""

    title: str | None = None
    mode: Mode = Mode.DIALOGUE
    content: str | Content = ""
    description: str = ""
    system_context: str = ""
    buffer_mode_system_context: bool = False
    preferences: Mapping[str, JsonValue] | None = None
    project: str | None = None
    origin: JsonObject | None = None
    """Where an imported tree comes from: recorded with it, so that it is known again."""
    visit: bool = True
    """False leaves the agent where it is: the tree is planted by a program in the background."""

    def __post_init__(self) -> None:
        _check_preferences(self.preferences)

    def apply(self, scope: Scope) -> Tree:
        scope.open_grove()
        transaction = scope.transaction
        content = check_content(as_content(self.content))
        title = title_from(plain_text(content)) if self.title is None else _check_title(self.title)
        project = None if self.project is None else open_project(transaction, self.project)
        ulid = scope.new_ulid()
        row: dict[str, Any] = {
            "ulid": ulid,
            "title": title,
            "description": check_text(self.description, what="description"),
            "summary": None,
            "mode": MODES.index(self.mode),
            "system_context": check_text(self.system_context, what="system context"),
            "buffer_mode_system_context": self.buffer_mode_system_context,
            "preferences": dump_json(dict(self.preferences or {})),
            "project": None if project is None else project.key,
            "root": 1,
            "root_ulid": "",
            "created_at": scope.now,
            "updated_at": scope.now,
            "archived_at": None,
            "next_key": 1,
            "nodes": 0,
            "branches": 0,
            "depth": 0,
            "events": 0,
            "head": None,
        }
        key = transaction.insert(_trees, row)
        state = TreeState(key, ulid, self.mode, 1, None, scope.now, 1, 0, 0, 0, 0, None)
        transaction.add_tree(state)
        root, root_row = write_node(scope, state, Draft(content=content))
        transaction.execute(update(_trees).where(_trees.c.key == key).values(root_ulid=root.id))
        if self.visit:
            move_cursor(scope, state, root_row.key)
        scope.add_fingerprint(*tree_fingerprints(row))
        payload: dict[str, JsonValue] = {"tree": ulid, "nodes": [root.id]}
        if project is not None:
            payload["project"] = project.ulid
        origin: JsonObject = {} if self.origin is None else {ORIGIN: self.origin}
        scope.record(state, self.verb, {**payload, **origin}, {})
        scope.record(None, self.verb, {"tree": ulid, **origin}, {"hide": ulid})
        transaction.flush()
        return tree_value(transaction.execute(TREE_ROWS.where(_trees.c.key == key)).one())


class Describe(Editing, verb="describe"):
    """Change what is said about a tree; what is not given stays."""

    tree: str
    title: str | None = None
    description: str | None = None
    system_context: str | None = None
    buffer_mode_system_context: bool | None = None
    preferences: Mapping[str, JsonValue] | None = None

    def __post_init__(self) -> None:
        _check_preferences(self.preferences)

    def apply(self, scope: Scope) -> Tree:
        tree = scope.open_tree(self.tree)
        changes: dict[str, Any] = {}
        if self.title is not None:
            changes["title"] = _check_title(self.title)
        if self.description is not None:
            changes["description"] = check_text(self.description, what="description")
        if self.system_context is not None:
            changes["system_context"] = check_text(self.system_context, what="system context")
        if self.buffer_mode_system_context is not None:
            changes["buffer_mode_system_context"] = self.buffer_mode_system_context
        if self.preferences is not None:
            changes["preferences"] = dump_json(dict(self.preferences))
        return change_tree(scope, tree, changes)


class Archive(Editing, verb="archive"):
    """Put a tree away; nothing is lost."""

    tree: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        if tree.archived_at is None:
            set_archived(scope, tree, scope.now)
            retire_caches(scope.transaction, tree.key, now=scope.now)
            scope.record(tree, self.verb, {"tree": tree.ulid}, {"unarchive": tree.ulid})


class Unarchive(Editing, verb="unarchive"):
    """Take a tree out again."""

    tree: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        if tree.archived_at is not None:
            before = tree.archived_at
            set_archived(scope, tree, None)
            scope.record(tree, self.verb, {"tree": tree.ulid}, {"archive": tree.ulid, "archivedAt": before})


def set_archived(scope: Scope, tree: TreeState, moment: int | None) -> None:
    scope.transaction.execute(update(_trees).where(_trees.c.key == tree.key).values(archived_at=moment))
    tree.archived_at = moment


class DeleteTree(Destroying, verb="delete"):
    """Destroy a tree and all that belongs to it, for good. Returns how many nodes went.

    Images and recordings that no other tree points to go too.

    `confirm` must be the tree's id.
    """

    tree: str
    confirm: str

    def apply(self, scope: Scope) -> int:
        tree = scope.open_tree(self.tree, archived=True)
        if self.confirm != tree.ulid:
            raise InvalidInputError(
                "deleting a tree cannot be undone: confirm it with the tree's id",
                hint=Hint(HintKind.CONFIRM, value=repr(tree.ulid)),
            )
        transaction = scope.transaction
        transaction.flush()
        # Numbers are never given twice, also when the event with the highest one goes.
        number = transaction.last_event_number() if transaction.dialect.counts_events else None
        announce_deletion(scope, tree.key)
        forget_tree(transaction, tree.key)
        forget_caches(transaction, tree.key, now=scope.now)
        links = schema.links
        transaction.execute(delete(links).where(or_(links.c.a_tree == tree.key, links.c.b_tree == tree.key)))
        for table in reversed(schema.metadata.sorted_tables):
            if "tree" in table.c and table is not schema.nodes:
                transaction.execute(delete(table).where(table.c.tree == tree.key))
        gone = transaction.execute(delete(schema.nodes).where(schema.nodes.c.tree == tree.key)).rowcount
        transaction.execute(delete(_trees).where(_trees.c.key == tree.key))
        transaction.forget()
        transaction.cache.event_number = number
        scope.record(None, self.verb, {"tree": tree.ulid, "nodes": gone}, {})
        return gone
