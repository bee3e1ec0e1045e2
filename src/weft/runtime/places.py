"""Where an agent stands and which versions it sees, inside an operation."""

from collections.abc import Sequence

from sqlalchemy import delete, select

from weft.errors import ConflictError
from weft.runtime.drafting import Draft, write_node
from weft.runtime.scope import Scope
from weft.store import schema
from weft.store.queries import resolve, selections_of, walk_up
from weft.store.rows import EDGE_TYPES, NodeRow, TreeState
from weft.tree.content import JsonObject, JsonValue, Text
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.node import Node
from weft.tree.tree import Mode

__all__ = [
    "commit_buffer",
    "cursor_row",
    "move_cursor",
    "select_version",
    "selected_version",
    "set_working_buffer",
    "undo_cursor",
    "working_buffer",
]


def cursor_row(scope: Scope, tree: TreeState) -> NodeRow:
    """Where the acting agent stands, as the version it sees; at first, the root."""
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
    """Where the agent stands, or the nearest live place above: typed text must land somewhere."""
    at = cursor_row(scope, tree)
    if at.live and EDGE_TYPES[at.edge_type] is EdgeType.CONTINUATION:
        return at
    transaction = scope.transaction
    chosen = selections_of(transaction, tree.key, scope.actor.agent)
    path = resolve(transaction, tree.key, walk_up(transaction, tree.key, at.position), chosen)
    for row in reversed(path):
        if row.live and EDGE_TYPES[row.edge_type] is EdgeType.CONTINUATION:
            return row
    raise ConflictError("nothing here is live", hint="restore the root, or unarchive another tree")


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


def commit_buffer(scope: Scope, tree: TreeState) -> Node | None:
    """The acting agent's working buffer becomes a node at its cursor; none if it is empty."""
    if tree.mode is not Mode.BUFFER:
        return None
    text = working_buffer(scope, tree)
    if not text:
        return None
    at = _place_to_write(scope, tree)
    sources: Sequence[tuple[NodeRow, SourceRole]] = ((at, SourceRole.PRIMARY),)
    written = write_node(scope, tree, Draft(content=Text(text), sources=sources))
    set_working_buffer(scope, tree, "")
    move_cursor(scope, tree, written.row.key)
    return written.node
