"""Cursors, selected versions and working buffers of agents."""

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import delete, select

from weft.errors import ConflictError, InvalidInputError, NotFoundError, PermissionDeniedError
from weft.provenance.fingerprints import typing_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.permissions import require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.path_queries import walk_up
from weft.store.rows import EDGE_TYPES, NodeRow, TreeState
from weft.store.tree_queries import children, leaf_below, resolve, selections_of
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import Text, check_text
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Node
from weft.tree.text_diff import change_between
from weft.tree.tree import Mode


def cursor_row(scope: Scope, tree: TreeState) -> NodeRow:
    """The acting agent's cursor, as the version it sees; at first, the root."""
    key = scope.transaction.cursor(tree.key, scope.actor.agent)
    row = scope.transaction.node(tree.key, tree.root if key is None else key)
    return selected_version(scope, tree, row)


def selected_version(scope: Scope, tree: TreeState, row: NodeRow) -> NodeRow:
    """The version of a node's position that the acting agent sees."""
    if tree.mode is Mode.DIALOGUE:
        return row
    versions = scope.transaction.versions(tree.key, row.position)
    if len(versions) == 1:
        return row
    chosen = selections_of(scope.transaction, tree.key, scope.actor.agent).get(row.position)
    known = (scope.transaction.node(tree.key, key) for key in versions)
    rows = [version for version in known if version.hidden is None]
    live = [version for version in rows if version.live]
    picked = next((version for version in live if version.key == chosen), None)
    return picked or (live or rows)[-1]


def move_cursor(scope: Scope, tree: TreeState, key: int) -> None:
    scope.transaction.move_cursor(tree.key, scope.actor.agent, key, scope.now)


def undo_cursor(scope: Scope, tree: TreeState) -> JsonValue:
    """What an inverse needs to put the cursor back."""
    return scope.ulid_of(tree, scope.transaction.cursor(tree.key, scope.actor.agent))


def select_version(scope: Scope, tree: TreeState, row: NodeRow) -> JsonObject:
    """Look at this version from now on; return what the inverse needs."""
    transaction, agent = scope.transaction, scope.actor.agent
    before = selections_of(transaction, tree.key, agent).get(row.position)
    transaction.replace(
        schema.selections,
        ("tree", "agent", "position"),
        {"tree": tree.key, "agent": agent, "position": row.position, "node": row.key},
    )
    first = transaction.node(tree.key, row.position)
    return {"position": first.ulid, "version": scope.ulid_of(tree, before)}


def _place_to_write(scope: Scope, tree: TreeState) -> NodeRow:
    """The cursor, or the nearest live place above it: typed text must not be lost."""
    at = cursor_row(scope, tree)
    if at.live and EDGE_TYPES[at.edge_type] is EdgeType.CONTINUATION:
        return at
    transaction = scope.transaction
    chosen = selections_of(transaction, tree.key, scope.actor.agent)
    path = resolve(transaction, tree.key, walk_up(transaction, tree.key, at.position), chosen)
    for row in reversed(path):
        if row.live and EDGE_TYPES[row.edge_type] is EdgeType.CONTINUATION:
            return row
    raise ConflictError("every node here is pruned", hint="restore the root, or unarchive another tree")


def working_buffer(scope: Scope, tree: TreeState) -> str:
    """The acting agent's uncommitted text."""
    buffers = schema.buffers
    mine = buffers.c.tree == tree.key, buffers.c.agent == scope.actor.agent
    return scope.transaction.execute(select(buffers.c.text).where(*mine)).scalar_one_or_none() or ""


def set_working_buffer(scope: Scope, tree: TreeState, text: str) -> None:
    buffers, agent = schema.buffers, scope.actor.agent
    if text:
        row = {"tree": tree.key, "agent": agent, "text": text, "updated_at": scope.now}
        scope.transaction.replace(buffers, ("tree", "agent"), row)
    else:
        scope.transaction.execute(delete(buffers).where(buffers.c.tree == tree.key, buffers.c.agent == agent))


class BeforeWriting(NamedTuple):
    """The acting agent's cursor before an operation that creates nodes, and the node of its working buffer."""

    cursor: JsonValue
    committed: Node | None = None


def commit_buffer(scope: Scope, tree: TreeState) -> BeforeWriting:
    """Make a node of the acting agent's working buffer, at its cursor, before the cursor leaves it."""
    before = BeforeWriting(undo_cursor(scope, tree))
    text = working_buffer(scope, tree) if tree.mode is Mode.BUFFER else ""
    if not text:
        return before
    at = _place_to_write(scope, tree)
    written = write_node(scope, tree, Draft(content=Text(text), sources=((at, SourceRole.PRIMARY),)))
    set_working_buffer(scope, tree, "")
    move_cursor(scope, tree, written.row.key)
    return before._replace(committed=written.node)


def record_nodes(
    scope: Scope,
    tree: TreeState,
    verb: str,
    before: BeforeWriting,
    nodes: Sequence[Node],
    *,
    undo: JsonObject | None = None,
    **payload: JsonValue,
) -> None:
    """Record the nodes that an operation created, and what its undo needs: to hide them, put the cursor back."""
    made: list[JsonValue] = [node.id for node in (before.committed, *nodes) if node is not None]
    buffer = None if before.committed is None else before.committed.id
    inverse: JsonObject = {"hide": made, "cursor": before.cursor, "buffer": buffer, **(undo or {})}
    scope.record(tree, verb, {"nodes": made, **payload}, inverse)


class Direction(StrEnum):
    NEXT = "next"
    PREVIOUS = "previous"
    PARENT = "parent"
    CHILD = "child"
    LEAF = "leaf"


class Switch(Editing, verb="switch", permission=Permission.LOOM_AWARE, access=MemberRole.READER):
    """Move the acting agent's cursor, to a node or one step. Uncommitted text is committed first."""

    tree: str
    to: str | Direction

    def apply(self, scope: Scope) -> str:
        """Returns the id of the node that the cursor is at now."""
        tree = scope.open_tree(self.tree, archived=True)
        if isinstance(self.to, Direction):
            target = self._step(scope, tree, self.to)
        else:
            target = scope.live_node(tree, self.to, "switch to")
        before = BeforeWriting(undo_cursor(scope, tree))
        if target.position != cursor_row(scope, tree).position and _may_write(scope, tree):
            before = commit_buffer(scope, tree)
        selection = None
        if tree.mode is Mode.BUFFER and selected_version(scope, tree, target).key != target.key:
            selection = select_version(scope, tree, target)
        move_cursor(scope, tree, target.key)
        undo: JsonObject = {"selection": selection}
        record_nodes(scope, tree, self.verb, before, (), undo=undo, to=target.ulid)
        return target.ulid

    def _step(self, scope: Scope, tree: TreeState, direction: Direction) -> NodeRow:
        at = cursor_row(scope, tree)
        transaction = scope.transaction
        match direction:
            case Direction.PARENT:
                if at.parent is None:
                    raise NotFoundError(f"[{at.local_id}] is the root: it has no parent")
                position = at.parent
            case Direction.CHILD:
                below = children(transaction, tree.key, at.position)
                if not below:
                    raise NotFoundError(f"nothing follows [{at.local_id}]")
                position = min(row.position for row in below)
            case Direction.LEAF:
                position = leaf_below(transaction, tree.key, at.position)
            case Direction.NEXT | Direction.PREVIOUS:
                position = _sibling(scope, tree, at, 1 if direction is Direction.NEXT else -1)
        return selected_version(scope, tree, transaction.node(tree.key, position))


def _may_write(scope: Scope, tree: TreeState) -> bool:
    """Looking around needs less than writing: who may not write keeps its uncommitted text."""
    if tree.archived_at is not None:
        return False
    try:
        require_permission(scope.transaction, scope.actor, Permission.LOOM_WRITE, "commit")
        require_access(scope.transaction, scope.actor, MemberRole.EDITOR, tree.key)
    except PermissionDeniedError:
        return False
    return True


def _sibling(scope: Scope, tree: TreeState, at: NodeRow, step: int) -> int:
    if at.parent is None:
        raise NotFoundError(f"[{at.local_id}] is the root: it has no siblings")
    beside = children(scope.transaction, tree.key, at.parent, edge_type=at.edge_type)
    # By order, not by index: the cursor may be at a pruned node.
    places = [row.position for row in beside if (row.position - at.position) * step > 0]
    if not places:
        which = "next" if step > 0 else "previous"
        raise NotFoundError(f"[{at.local_id}] has no {which} sibling")
    return min(places) if step > 0 else max(places)


class TypeText(Editing, verb="type"):
    """Keep uncommitted text at the document's end, replacing what was there."""

    tree: str
    text: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree)
        _require_buffer_mode(tree)
        text = check_text(self.text)
        change = change_between(working_buffer(scope, tree), text)
        typing = {"tree": tree.key, "ordinal": tree.events + 1, **asdict(change)}
        scope.transaction.add(schema.typings, typing)
        scope.add_fingerprint(typing_fingerprint(typing))
        set_working_buffer(scope, tree, text)
        scope.record(tree, self.verb, {"characters": len(text)}, {})


class CommitBuffer(Editing, verb="commit"):
    """Make a node of the working buffer; nothing happens if it is empty."""

    tree: str

    def apply(self, scope: Scope) -> Node | None:
        tree = scope.open_tree(self.tree)
        _require_buffer_mode(tree)
        before = commit_buffer(scope, tree)
        if before.committed is not None:
            record_nodes(scope, tree, self.verb, before, ())
        return before.committed


def _require_buffer_mode(tree: TreeState) -> None:
    if tree.mode is not Mode.BUFFER:
        raise InvalidInputError("only buffer trees have a working buffer", hint="say the text instead")
