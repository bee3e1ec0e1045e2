"""Reversals of what creates nodes, moves the cursor, fills the working buffer or prunes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, func, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError
from weft.runtime.operations.cursors import set_working_buffer, working_buffer
from weft.runtime.operations.metadata import lives, prune_from, recount, restore_pruned
from weft.runtime.operations.node_values import contents_of
from weft.runtime.operations.permissions import require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.runtime.undo.conflicts import items_seen, require_ground, require_unbuilt
from weft.runtime.undo.step import (
    EventFields,
    Reversal,
    Step,
    cursor_now,
    incomplete,
    node_named,
    put_cursor,
    refuse,
    visible_node,
)
from weft.store import schema
from weft.store.rows import NodeRow, TreeState
from weft.store.tree_queries import selections_of
from weft.store.tree_statements import CONTINUATION, LIVE
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import plain_text
from weft.tree.event_kinds import EventKind, Subject
from weft.tree.json import JsonObject, JsonValue
from weft.tree.text_diff import TextChange

_nodes = schema.nodes
_EDITS = frozenset({EventKind.EDIT, EventKind.ERASE})


@dataclass(frozen=True, kw_only=True)
class _CreationReversal(Reversal):
    """Hide the new nodes, or show them again; cursor, selections and uncommitted text go with them."""

    def undo(self, step: Step) -> JsonObject:
        made = _created(step)
        require_unbuilt(step, made)
        saved: dict[str, JsonValue] = {"items": items_seen(step, made)}
        if "cursor" in step.inverse:
            saved["cursor"] = cursor_now(step)
        saved["selections"] = _put_selections(step, _selections(step.inverse))
        if "cursor" in step.inverse:
            put_cursor(step, step.inverse["cursor"])
        committed = step.inverse.get("buffer")
        if committed is not None:
            _return_text(step, node_named(step, committed))
        _set_hidden(step, made, step.ordinal)
        return saved

    def redo(self, step: Step, saved: EventFields) -> None:
        made = _created(step)
        require_ground(step, made)
        _refuse_leased(step, made)
        if items_seen(step, made) != saved["items"]:
            refuse(step, "items were attached or detached above what a model wrote")
        committed = step.inverse.get("buffer")
        if committed is not None:
            _take_text(step, node_named(step, committed))
        _set_hidden(step, made, None)
        _put_selections(step, saved["selections"])
        if "cursor" in saved:
            put_cursor(step, saved["cursor"])


@dataclass(frozen=True, kw_only=True)
class _SwitchReversal(_CreationReversal):
    """A switch needs the right to read only, unless it committed the working buffer."""

    permission: Permission = Permission.LOOM_AWARE
    access: MemberRole = MemberRole.READER
    allow_archived: bool = True

    def undo(self, step: Step) -> JsonObject:
        _require_right_to_commit(step)
        return super().undo(step)

    def redo(self, step: Step, saved: EventFields) -> None:
        _require_right_to_commit(step)
        super().redo(step, saved)


def _require_right_to_commit(step: Step) -> None:
    if not step.inverse["hide"]:
        return
    scope = step.scope
    require_permission(scope.transaction, scope.actor, Permission.LOOM_WRITE, "step over a commit")
    require_access(scope.transaction, scope.actor, MemberRole.EDITOR, step.tree.key)
    if step.tree.archived_at is not None:
        raise ConflictError("the tree is archived", hint=Hint(HintKind.UNARCHIVE))


def _created(step: Step) -> list[NodeRow]:
    return [node_named(step, ulid) for ulid in step.inverse["hide"]]


def _refuse_leased(step: Step, made: Sequence[NodeRow]) -> None:
    """Refuse what writing the nodes would be refused: a run is extending their parent, or the edited node."""
    scope, tree, own = step.scope, step.tree, {row.key for row in made}
    for row in made:
        if step.kind in _EDITS and row.edited_from is not None:
            scope.refuse_if_leased(tree, scope.transaction.node(tree.key, row.edited_from).position)
        elif row.parent is not None and row.parent not in own and row.edge_type == CONTINUATION:
            scope.refuse_if_leased(tree, row.parent)


def _selections(inverse: EventFields) -> list[EventFields]:
    """One, several or none, as the operation recorded them; the last one selected first."""
    one = inverse.get("selection")
    return list(reversed(inverse.get("selections", [] if one is None else [one])))


def _put_selections(step: Step, wanted: list[EventFields]) -> list[JsonValue]:
    """Select these versions; return what was selected before, in the order to put it back."""
    scope, tree, table = step.scope, step.tree, schema.selections
    replaced: list[JsonValue] = []
    for selection in wanted:
        position = node_named(step, selection["position"]).key
        before = selections_of(scope.transaction, tree.key, scope.actor.agent).get(position)
        replaced.insert(0, {"position": selection["position"], "version": scope.ulid_of(tree, before)})
        mine = {"tree": tree.key, "agent": scope.actor.agent, "position": position}
        if selection["version"] is None:
            scope.transaction.execute(
                delete(table).where(*(table.c[name] == value for name, value in mine.items()))
            )
        else:
            node = visible_node(step, selection["version"]).key
            scope.transaction.replace(table, ("tree", "agent", "position"), {**mine, "node": node})
    return replaced


def _return_text(step: Step, committed: NodeRow) -> None:
    """Put committed text back into the working buffer; text typed since is never overwritten."""
    if working_buffer(step.scope, step.tree):
        raise ConflictError(
            "there is uncommitted text where the committed text would go back to",
            hint="commit it, or clear it, first",
        )
    set_working_buffer(step.scope, step.tree, _text(step, committed))


def _take_text(step: Step, committed: NodeRow) -> None:
    if working_buffer(step.scope, step.tree) != _text(step, committed):
        raise ConflictError(
            "the uncommitted text is not the one that was committed", hint="commit what is there instead"
        )
    set_working_buffer(step.scope, step.tree, "")


def _text(step: Step, row: NodeRow) -> str:
    return plain_text(contents_of(step.scope.transaction, step.tree.key, [row])[row.key][0])


def _set_hidden(step: Step, rows: list[NodeRow], by: int | None) -> None:
    """Hide the nodes, or show them."""
    if not rows:
        return
    transaction = step.scope.transaction
    counters = _Counters(step.scope, step.tree, rows)
    if by is None:
        counters.read_before_showing()
    transaction.execute(
        update(_nodes)
        .where(
            _nodes.c.tree == step.tree.key,
            transaction.dialect.among(_nodes.c.key, [row.key for row in rows]),
        )
        .values(hidden=by)
    )
    transaction.forget_nodes()
    counters.update(shown=by is None)
    step.nodes.extend(row.ulid for row in rows)


class _Counters:
    """The tree's counters when a few nodes are hidden or shown, without counting all of it.

    None of the nodes is pruned.
    """

    def __init__(self, scope: Scope, tree: TreeState, rows: list[NodeRow]) -> None:
        self._scope = scope
        self._tree = tree
        self._rows = rows
        places = [row for row in rows if row.key == row.position and row.edge_type == CONTINUATION]
        self._depth = max((row.depth for row in places), default=-1)
        self._below = Counter(row.parent for row in places if row.parent is not None)
        self._had_children: dict[int, bool] = {}
        self._revives = False

    def read_before_showing(self) -> None:
        """Read what can only be seen before the nodes are shown."""
        self._had_children = self._children()
        own = {row.key for row in self._rows}
        # An edit may replace versions that were pruned with all below them since.
        self._revives = any(
            row.key != row.position
            and row.position not in own
            and not lives(self._scope, self._tree, row.position)
            for row in self._rows
        )

    def update(self, *, shown: bool) -> None:
        """Set the counters, now that the nodes are shown or hidden."""
        if self._revives:
            recount(self._scope, self._tree)
            return
        tree, sign = self._tree, 1 if shown else -1
        tree.changed = True
        tree.nodes += sign * len(self._rows)
        others = self._had_children if shown else self._children()
        # The first continuation of a leaf takes its place; every further one is a branch more.
        tree.branches += sign * sum(
            count if others[parent] else count - 1 for parent, count in self._below.items()
        )
        if shown:
            tree.depth = max(tree.depth, self._depth)
        elif self._depth == tree.depth:
            deepest = select(func.max(_nodes.c.depth)).where(
                _nodes.c.tree == tree.key, _nodes.c.edge_type == CONTINUATION, LIVE
            )
            tree.depth = self._scope.transaction.execute(deepest).scalar_one()

    def _children(self) -> dict[int, bool]:
        transaction, tree = self._scope.transaction, self._tree.key
        return {parent: transaction.has_live_child(tree, parent) for parent in self._below}


@dataclass(frozen=True, kw_only=True)
class _TypingReversal(Reversal):
    """Uncommitted text, as it was before and after it was typed."""

    def undo(self, step: Step) -> JsonObject:
        _put_text(step, _typed(step).undone(working_buffer(step.scope, step.tree)))
        return {}

    def redo(self, step: Step, saved: EventFields) -> None:  # noqa: ARG002 - the change has it all
        _put_text(step, _typed(step).done(working_buffer(step.scope, step.tree)))


def _put_text(step: Step, text: str | None) -> None:
    if text is None:
        refuse(step, "the uncommitted text is not the one that was typed")
    set_working_buffer(step.scope, step.tree, text)


def _typed(step: Step) -> TextChange:
    typings = schema.typings
    row = step.scope.transaction.execute(
        select(typings.c.kept, typings.c.removed, typings.c.added).where(
            typings.c.tree == step.tree.key, typings.c.ordinal == step.event.ordinal
        )
    ).one_or_none()
    if row is None:
        raise incomplete(step.event.kind)
    return TextChange(*row)


@dataclass(frozen=True, kw_only=True)
class _PruneReversal(Reversal):
    """Restore all that one prune hid, and nothing else."""

    def undo(self, step: Step) -> JsonObject:
        saved: JsonObject = {"cursor": cursor_now(step)}
        _restore(step, step.inverse["restore"])
        put_cursor(step, step.inverse["cursor"])
        return saved

    def redo(self, step: Step, saved: EventFields) -> None:
        _prune(step, step.inverse["restore"])
        put_cursor(step, saved["cursor"])


@dataclass(frozen=True, kw_only=True)
class _RestoreReversal(Reversal):
    """Prune again all that one restore showed, and nothing else."""

    def undo(self, step: Step) -> JsonObject:
        _prune(step, step.payload["prune"])
        return {}

    def redo(self, step: Step, saved: EventFields) -> None:  # noqa: ARG002 - the event has it all
        _restore(step, step.payload["prune"])


def _restore(step: Step, number: int) -> None:
    top = visible_node(step, step.payload["node"])
    if top.pruned != number:
        refuse(step, f"[{top.local_id}] was restored", needle=top.ulid)
    restore_pruned(step.scope, step.tree, number)


def _prune(step: Step, number: int) -> None:
    """Mark the same nodes as before; what others wrote since is not hidden along with them."""
    top = visible_node(step, step.payload["node"])
    if top.pruned is not None:
        refuse(step, f"[{top.local_id}] was pruned", needle=top.ulid)
    pruned = prune_from(step.scope, step.tree, top, number)
    new = step.scope.transaction.execute(
        select(_nodes.c.local_id, _nodes.c.author).where(
            _nodes.c.tree == step.tree.key,
            _nodes.c.pruned == number,
            _nodes.c.key >= step.inverse["before"],
        )
    ).first()
    if new is not None:
        refuse(step, f"[{new.local_id}] was written below [{top.local_id}]", agent=new.author)
    if pruned != step.payload["nodes"]:
        refuse(step, f"what is below [{top.local_id}] is not what it was", needle="prune")


CREATION_REVERSALS: Mapping[EventKind | Subject, Reversal] = {
    Subject.NODE: _CreationReversal(),
    Subject.CURSOR: _SwitchReversal(),
    Subject.BUFFER: _TypingReversal(),
    EventKind.PRUNE: _PruneReversal(),
    EventKind.RESTORE: _RestoreReversal(),
}
