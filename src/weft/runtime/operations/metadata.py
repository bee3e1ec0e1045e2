"""Changing what is not content: exclude, bookmark, prune, and their opposites."""

from typing import ClassVar

from sqlalchemy import bindparam, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError
from weft.runtime.operations.cursors import move_cursor, selected_version, undo_cursor
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_values import metadata_of
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.leases import lease_taken, leases_in
from weft.store.rows import Flag, NodeRow, TreeState
from weft.store.tree_queries import node_row
from weft.store.tree_statements import LIVE, count_live, keys_below
from weft.tree.content import check_text
from weft.tree.node import Metadata

_nodes = schema.nodes
_COUNT_LIVE = count_live()


class Exclude(Editing, verb="exclude"):
    """Leave a node out of contexts; it remains visible in the tree."""

    opposite: ClassVar[str] = "include"
    tree: str
    node: str

    def apply(self, scope: Scope) -> Metadata:
        """Change the flag; if it has the value already, record nothing."""
        tree = scope.open_tree(self.tree)
        row = scope.live_node(tree, self.node, self.verb)
        excluded = self.verb == "exclude"
        if bool(row.flags & Flag.EXCLUDED) != excluded:
            row = scope.transaction.update_node(row, flags=row.flags ^ Flag.EXCLUDED)
            scope.record(tree, self.verb, {"node": row.ulid}, {self.opposite: row.ulid})
        return metadata_of(row)


class Include(Exclude, verb="include"):
    """Take a node into contexts again."""

    opposite: ClassVar[str] = "exclude"


class Bookmark(Editing, verb="bookmark"):
    """Mark a node, with a label if you like; a second time changes the label."""

    tree: str
    node: str
    label: str | None = None

    def apply(self, scope: Scope) -> Metadata:
        tree = scope.open_tree(self.tree)
        label = None if self.label is None else check_text(self.label, what="label", limit=500)
        before = scope.live_node(tree, self.node, "bookmark")
        flags = before.flags | Flag.BOOKMARKED
        if flags == before.flags and label == before.bookmark_label:
            return metadata_of(before)
        after = scope.transaction.update_node(before, flags=flags, bookmark_label=label)
        scope.record(
            tree,
            self.verb,
            {"node": before.ulid, "label": label},
            {
                "node": before.ulid,
                "bookmarked": bool(before.flags & Flag.BOOKMARKED),
                "label": before.bookmark_label,
            },
        )
        return metadata_of(after)


class Unbookmark(Editing, verb="unbookmark"):
    """Take the mark off."""

    tree: str
    node: str

    def apply(self, scope: Scope) -> Metadata:
        tree = scope.open_tree(self.tree)
        before = scope.live_node(tree, self.node, "unbookmark")
        if not before.flags & Flag.BOOKMARKED:
            return metadata_of(before)
        after = scope.transaction.update_node(
            before, flags=before.flags & ~Flag.BOOKMARKED, bookmark_label=None
        )
        scope.record(
            tree,
            self.verb,
            {"node": before.ulid},
            {"node": before.ulid, "bookmarked": True, "label": before.bookmark_label},
        )
        return metadata_of(after)


class Prune(Editing, verb="prune"):
    """Hide a node and all below it; of several versions, only that version. Returns how many."""

    tree: str
    node: str

    def apply(self, scope: Scope) -> int:
        tree = scope.open_tree(self.tree)
        row = scope.live_node(tree, self.node, "prune")
        if row.parent is None and not _other_versions(scope, tree, row):
            raise InvalidInputError(
                f"[{row.local_id}] is the root: pruning it would hide the whole tree",
                hint=Hint(HintKind.ARCHIVE_TREE),
            )
        before = undo_cursor(scope, tree)
        number = tree.events + 1
        hidden = prune_from(scope, tree, row, number)
        self._step_out(scope, tree, row)
        scope.record(
            tree,
            self.verb,
            {"node": row.ulid, "nodes": hidden},
            {"restore": number, "before": tree.next_key, "cursor": before},
        )
        return hidden

    def _step_out(self, scope: Scope, tree: TreeState, row: NodeRow) -> None:
        """Move the cursor to the parent if it was at a node that is pruned now."""
        transaction = scope.transaction
        at = transaction.cursor(tree.key, scope.actor.agent)
        if at is None or row.parent is None:
            return
        if not lives(scope, tree, transaction.node(tree.key, at).position):
            move_cursor(
                scope, tree, selected_version(scope, tree, transaction.node(tree.key, row.parent)).key
            )


class Restore(Editing, verb="restore"):
    """Bring back exactly what one prune hid. Returns how many."""

    tree: str
    node: str

    def apply(self, scope: Scope) -> int:
        tree = scope.open_tree(self.tree)
        row = scope.node(tree, self.node)
        if row.pruned is None:
            raise ConflictError(f"[{row.local_id}] is not pruned")
        top, shown = restore_pruned(scope, tree, row.pruned)
        scope.record(
            tree,
            self.verb,
            {"node": top.ulid, "nodes": shown, "prune": row.pruned},
            {"prune": top.ulid, "before": tree.next_key},
        )
        return shown


def prune_from(scope: Scope, tree: TreeState, row: NodeRow, number: int) -> int:
    """Mark a node and all below it (of several versions, only it) with a prune's number; how many."""
    transaction = scope.transaction
    statement = update(_nodes).where(_nodes.c.tree == bindparam("in_tree"), LIVE)
    values: dict[str, int] = {"in_tree": tree.key}
    if _other_versions(scope, tree, row):
        statement = statement.where(_nodes.c.key == row.key)
    else:
        itself = select(_nodes.c.key).where(_nodes.c.tree == bindparam("in_tree"), _nodes.c.key == row.key)
        statement = statement.where(_nodes.c.key.in_(itself.union_all(keys_below())))
        values["at_position"] = row.position
    pruned = transaction.execute(statement.values(pruned=number), values).rowcount
    transaction.forget_nodes()
    _refuse_extended(scope, tree, row, number)
    recount(scope, tree)
    return pruned


def _refuse_extended(scope: Scope, tree: TreeState, row: NodeRow, number: int) -> None:
    """Refuse a prune that hides a node which a run is extending."""
    if tree.leased_until is None or tree.leased_until <= scope.now:
        return
    transaction = scope.transaction
    for held in leases_in(transaction, tree.key, scope.now):
        here = [transaction.node(tree.key, key) for key in transaction.versions(tree.key, held.position)]
        if not any(version.pruned == number for version in here):
            continue
        if not scope.is_own(held):
            raise lease_taken(transaction, held)
        if not any(version.live for version in here):
            raise ConflictError(
                f"you are answering below [{row.local_id}]: your reply would be hidden too",
                hint="prune something else, or leave it to the human",
            )


def restore_pruned(scope: Scope, tree: TreeState, number: int) -> tuple[NodeRow, int]:
    """Take a prune's number off every node that has it; the topmost of them, and how many."""
    transaction = scope.transaction
    same = (_nodes.c.tree == tree.key, _nodes.c.pruned == number)
    top = transaction.execute(
        select(_nodes.c.key).where(*same).order_by(_nodes.c.depth, _nodes.c.key).limit(1)
    ).scalar_one()
    top_row = node_row(transaction, tree.key, top)
    if top_row.parent is not None and not lives(scope, tree, top_row.parent):
        above = transaction.node(tree.key, top_row.parent)
        raise ConflictError(
            f"[{top_row.local_id}] lies under [{above.local_id}], which is pruned too",
            hint=f"restore {above.local_id} first",
        )
    shown = transaction.execute(update(_nodes).where(*same).values(pruned=None)).rowcount
    transaction.forget_nodes()
    recount(scope, tree)
    return top_row, shown


def _other_versions(scope: Scope, tree: TreeState, row: NodeRow) -> bool:
    """True if another version at the node's position is live."""
    others = scope.transaction.versions(tree.key, row.position)
    return any(key != row.key and scope.transaction.node(tree.key, key).live for key in others)


def lives(scope: Scope, tree: TreeState, position: int) -> bool:
    """True if a version at the position is neither pruned nor undone."""
    return any(
        scope.transaction.node(tree.key, key).live for key in scope.transaction.versions(tree.key, position)
    )


def recount(scope: Scope, tree: TreeState) -> None:
    """Recount a tree after many nodes changed at once."""
    row = scope.transaction.execute(_COUNT_LIVE, {"in_tree": tree.key}).one()
    tree.nodes, tree.branches, tree.depth = row.nodes, row.branches, row.depth
    tree.changed = True
