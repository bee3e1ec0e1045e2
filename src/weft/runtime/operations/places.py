"""Moving about: switch, choosing versions, and the working buffer."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import ClassVar

from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError
from weft.provenance.facts import typing_fact
from weft.runtime.actor import require_access, require_permission
from weft.runtime.operations.base import Editing
from weft.runtime.places import (
    commit_buffer,
    cursor_row,
    move_cursor,
    select_version,
    selected_version,
    set_working_buffer,
    undo_cursor,
    working_buffer,
)
from weft.runtime.scope import Scope
from weft.store import schema
from weft.store.queries import children, leaf_below
from weft.store.rows import NodeRow, TreeState
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.change import change_between
from weft.tree.content import JsonValue, check_text
from weft.tree.node import Node
from weft.tree.tree import Mode

__all__ = ["CommitBuffer", "Direction", "Switch", "TypeText"]


class Direction(StrEnum):
    NEXT = "next"
    PREVIOUS = "previous"
    PARENT = "parent"
    CHILD = "child"
    LEAF = "leaf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Move the acting agent's cursor, to a node or one step. Uncommitted text is committed first."""

    verb: ClassVar[str] = "switch"
    permission: ClassVar[Permission] = Permission.LOOM_AWARE
    access: ClassVar[MemberRole] = MemberRole.READER
    tree: str
    to: str | Direction

    def apply(self, scope: Scope) -> str:
        """The id of the node the agent stands at now."""
        tree = scope.open_tree(self.tree, archived=True)
        before = undo_cursor(scope, tree)
        if isinstance(self.to, Direction):
            target = self._step(scope, tree, self.to)
        else:
            target = scope.live_node(tree, self.to, "switch to")
        committed = None
        if target.position != cursor_row(scope, tree).position and _may_write(scope, tree):
            committed = commit_buffer(scope, tree)
        selection = None
        if tree.mode is Mode.BUFFER and selected_version(scope, tree, target).key != target.key:
            selection = select_version(scope, tree, target)
        move_cursor(scope, tree, target.key)
        made: list[JsonValue] = [] if committed is None else [committed.id]
        scope.record(
            tree,
            self.verb,
            {"to": target.ulid, "nodes": made},
            {"cursor": before, "selection": selection, "hide": made, "buffer": made[0] if made else None},
        )
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
    # By order, not by index: who stands at a pruned node goes on from where it was.
    places = [row.position for row in beside if (row.position - at.position) * step > 0]
    if not places:
        which = "next" if step > 0 else "previous"
        raise NotFoundError(f"[{at.local_id}] has no {which} sibling")
    return min(places) if step > 0 else max(places)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeText(Editing):
    """Keep uncommitted text at the document's end, replacing what was there."""

    verb: ClassVar[str] = "type"
    tree: str
    text: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree)
        _require_buffer_mode(tree)
        text = check_text(self.text)
        change = change_between(working_buffer(scope, tree), text)
        typing = {"tree": tree.key, "ordinal": tree.events + 1, **asdict(change)}
        scope.transaction.add(schema.typings, typing)
        scope.note(typing_fact(typing))
        set_working_buffer(scope, tree, text)
        scope.record(tree, self.verb, {"characters": len(text)}, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitBuffer(Editing):
    """Make a node of the working buffer; nothing happens if it is empty."""

    verb: ClassVar[str] = "commit"
    tree: str

    def apply(self, scope: Scope) -> Node | None:
        tree = scope.open_tree(self.tree)
        _require_buffer_mode(tree)
        before = undo_cursor(scope, tree)
        node = commit_buffer(scope, tree)
        if node is not None:
            scope.record(
                tree,
                self.verb,
                {"nodes": [node.id]},
                {"hide": [node.id], "cursor": before, "buffer": node.id},
            )
        return node


def _require_buffer_mode(tree: TreeState) -> None:
    if tree.mode is not Mode.BUFFER:
        raise InvalidInputError("only buffer trees have a working buffer", hint="say the text instead")
