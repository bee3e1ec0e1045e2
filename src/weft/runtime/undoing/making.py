"""Back and forth over what makes nodes, moves the cursor or fills the working buffer."""

from typing import Any, ClassVar

from sqlalchemy import delete, select, update

from weft.errors import ConflictError
from weft.runtime.operations.cursors import set_working_buffer, working_buffer
from weft.runtime.operations.node_values import contents_of
from weft.runtime.operations.permissions import require_access, require_permission
from weft.runtime.undoing.building import items_seen, require_ground, require_unbuilt
from weft.runtime.undoing.counting import Counting
from weft.runtime.undoing.step import (
    Step,
    cursor_now,
    node_named,
    put_cursor,
    refuse,
    too_old,
    visible_node,
)
from weft.store import schema
from weft.store.queries import selections_of
from weft.store.rows import NodeRow
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.change import Change
from weft.tree.content import JsonObject, JsonValue, plain_text

__all__ = ["Making", "Moving", "Typing"]

_nodes = schema.nodes


class Making:
    """Nodes are hidden and shown again; cursor, selections and uncommitted text go with them."""

    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR
    though_archived: ClassVar[bool] = False

    def undo(self, step: Step) -> JsonObject:
        made = [node_named(step, ulid) for ulid in step.inverse["hide"]]
        require_unbuilt(step, made)
        forth: dict[str, JsonValue] = {"items": items_seen(step, made)}
        if "cursor" in step.inverse:
            forth["cursor"] = cursor_now(step)
        forth["selections"] = _put_selections(step, _selections(step.inverse))
        if "cursor" in step.inverse:
            put_cursor(step, step.inverse["cursor"])
        committed = step.inverse.get("buffer")
        if committed is not None:
            _give_back(step, node_named(step, committed))
        _set_hidden(step, made, step.ordinal)
        return forth

    def redo(self, step: Step, forth: dict[str, Any]) -> None:
        made = [node_named(step, ulid) for ulid in step.inverse["hide"]]
        require_ground(step, made)
        if items_seen(step, made) != forth["items"]:
            refuse(step, "items were attached or detached above what a model wrote")
        committed = step.inverse.get("buffer")
        if committed is not None:
            _take_again(step, node_named(step, committed))
        _set_hidden(step, made, None)
        _put_selections(step, forth["selections"])
        if "cursor" in forth:
            put_cursor(step, forth["cursor"])


class Moving(Making):
    """A switch: who may look may step back, unless it committed what was typed."""

    permission: ClassVar[Permission] = Permission.LOOM_AWARE
    access: ClassVar[MemberRole] = MemberRole.READER
    though_archived: ClassVar[bool] = True

    def undo(self, step: Step) -> JsonObject:
        self._require_right(step)
        return super().undo(step)

    def redo(self, step: Step, forth: dict[str, Any]) -> None:
        self._require_right(step)
        super().redo(step, forth)

    def _require_right(self, step: Step) -> None:
        if not step.inverse["hide"]:
            return
        scope = step.scope
        require_permission(scope.transaction, scope.actor, Making.permission, "step over a commit")
        require_access(scope.transaction, scope.actor, Making.access, step.tree.key)
        if step.tree.archived_at is not None:
            raise ConflictError("the tree is archived", hint="unarchive it first")


class Typing:
    """Uncommitted text, as it was before and after it was typed over."""

    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR
    though_archived: ClassVar[bool] = False

    def undo(self, step: Step) -> JsonObject:
        text = _typed(step).undone(working_buffer(step.scope, step.tree))
        self._put(step, text)
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the change says it all
        text = _typed(step).done(working_buffer(step.scope, step.tree))
        self._put(step, text)

    def _put(self, step: Step, text: str | None) -> None:
        if text is None:
            refuse(step, "the uncommitted text is not the one that was typed")
        set_working_buffer(step.scope, step.tree, text)


def _typed(step: Step) -> Change:
    typings = schema.typings
    row = step.scope.transaction.execute(
        select(typings.c.kept, typings.c.removed, typings.c.added).where(
            typings.c.tree == step.tree.key, typings.c.ordinal == step.event.ordinal
        )
    ).one_or_none()
    if row is None:
        raise too_old(step.event.kind)
    return Change(*row)


def _selections(inverse: dict[str, Any]) -> list[Any]:
    """One, several or none, however the operation says it; the last one chosen first."""
    one = inverse.get("selection")
    return list(reversed(inverse.get("selections", [] if one is None else [one])))


def _put_selections(step: Step, wanted: list[Any]) -> list[JsonValue]:
    """Look at these versions; return what was looked at instead, in the order to put it back."""
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


def _give_back(step: Step, committed: NodeRow) -> None:
    """What was committed is uncommitted again; text typed since is never overwritten."""
    if working_buffer(step.scope, step.tree):
        raise ConflictError(
            "there is uncommitted text where the committed text would go back to",
            hint="commit it, or clear it, first",
        )
    set_working_buffer(step.scope, step.tree, _text(step, committed))


def _take_again(step: Step, committed: NodeRow) -> None:
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
    counting = Counting(step.scope, step.tree, rows)
    if by is None:
        counting.before_showing()
    transaction.execute(
        update(_nodes)
        .where(
            _nodes.c.tree == step.tree.key,
            transaction.dialect.among(_nodes.c.key, [row.key for row in rows]),
        )
        .values(hidden=by)
    )
    transaction.forget_nodes()
    counting.finish(shown=by is None)
    step.nodes.extend(row.ulid for row in rows)
