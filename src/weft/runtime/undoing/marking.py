"""Back and forth over marks on nodes, prunes, and items."""

from typing import Any, ClassVar, cast

from sqlalchemy import select, update

from weft.runtime.operations.attachments import open_turn
from weft.runtime.operations.metadata import prune_from, restore_pruned
from weft.runtime.undoing.step import Step, cursor_now, node_named, put_cursor, refuse, visible_node
from weft.store import schema
from weft.store.rows import Flag
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import JsonObject

__all__ = ["Bookmarking", "Excluding", "Itemising", "Pruning", "Restoring"]

_nodes = schema.nodes
_attachments = schema.attachments


class _Marking:
    permission: ClassVar[Permission] = Permission.LOOM_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR
    though_archived: ClassVar[bool] = False


class Excluding(_Marking):
    """The flag is turned over, unless somebody has done so already."""

    def undo(self, step: Step) -> JsonObject:
        self._turn(step, present=step.event.kind == "exclude")
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the kind says it all
        self._turn(step, present=step.event.kind != "exclude")

    def _turn(self, step: Step, *, present: bool) -> None:
        row = visible_node(step, step.payload["node"])
        if bool(row.flags & Flag.EXCLUDED) != present:
            done = "included" if present else "excluded"
            refuse(step, f"[{row.local_id}] was {done} again", needle=row.ulid)
        step.scope.transaction.update_node(row, flags=row.flags ^ Flag.EXCLUDED)


class Bookmarking(_Marking):
    """Mark and label as they were."""

    def undo(self, step: Step) -> JsonObject:
        self._put(step, self._done(step), self._before(step))
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        self._put(step, self._before(step), self._done(step))

    def _before(self, step: Step) -> tuple[bool, str | None]:
        return step.inverse["bookmarked"], step.inverse["label"]

    def _done(self, step: Step) -> tuple[bool, str | None]:
        return (True, step.payload["label"]) if step.event.kind == "bookmark" else (False, None)

    def _put(self, step: Step, present: tuple[bool, str | None], wanted: tuple[bool, str | None]) -> None:
        row = visible_node(step, step.payload["node"])
        if (bool(row.flags & Flag.BOOKMARKED), row.bookmark_label) != present:
            refuse(step, f"the bookmark on [{row.local_id}] was changed", needle=row.ulid)
        marked, label = wanted
        flags = row.flags | Flag.BOOKMARKED if marked else row.flags & ~Flag.BOOKMARKED
        step.scope.transaction.update_node(row, flags=flags, bookmark_label=label)


class Pruning(_Marking):
    """What one prune hid, all of it and nothing else."""

    def undo(self, step: Step) -> JsonObject:
        forth: JsonObject = {"cursor": cursor_now(step)}
        _restore(step, step.inverse["restore"])
        put_cursor(step, step.inverse["cursor"])
        return forth

    def redo(self, step: Step, forth: dict[str, Any]) -> None:
        _prune(step, step.inverse["restore"])
        put_cursor(step, forth["cursor"])


class Restoring(_Marking):
    """The same, the other way round."""

    def undo(self, step: Step) -> JsonObject:
        _prune(step, step.payload["prune"])
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the event says it all
        _restore(step, step.payload["prune"])


def _restore(step: Step, number: int) -> None:
    top = visible_node(step, step.payload["node"])
    if top.pruned != number:
        refuse(step, f"[{top.local_id}] was restored", needle=top.ulid)
    restore_pruned(step.scope, step.tree, number)


def _prune(step: Step, number: int) -> None:
    """Mark exactly the nodes that it was; others' work since then is not hidden along with them."""
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
        refuse(step, f"what hangs below [{top.local_id}] is not what it was", needle="prune")


class Itemising(_Marking):
    """Items hang or do not hang; while a model's answer has them in it, they stay as they are."""

    def undo(self, step: Step) -> JsonObject:
        self._hang(step, hanging=step.event.kind == "detach")
        return {}

    def redo(self, step: Step, forth: dict[str, Any]) -> None:  # noqa: ARG002 - the kind says it all
        self._hang(step, hanging=step.event.kind == "attach")

    def _hang(self, step: Step, *, hanging: bool) -> None:
        scope, tree = step.scope, step.tree
        row = node_named(step, step.payload["node"])
        visible_node(step, row.ulid)
        open_turn(scope, tree, row.ulid)
        here = (
            _attachments.c.tree == tree.key,
            _attachments.c.node == row.key,
            _attachments.c.ordinal == step.payload["ordinal"],
        )
        item = scope.transaction.execute(select(_attachments).where(*here)).one()
        if (item.detached_by is None) == hanging:
            done = "attached" if hanging else "detached"
            refuse(step, f"{item.id} was {done} at [{row.local_id}]", needle=row.ulid)
        if hanging:
            self._require_free(step, row.key, cast("str", item.id))
        taken = None if hanging else step.ordinal
        scope.transaction.execute(update(_attachments).where(*here).values(detached_by=taken))

    def _require_free(self, step: Step, node: int, name: str) -> None:
        same = select(_attachments.c.ordinal).where(
            _attachments.c.tree == step.tree.key,
            _attachments.c.node == node,
            _attachments.c.id == name,
            _attachments.c.detached_by.is_(None),
        )
        if step.scope.transaction.execute(same).first() is not None:
            refuse(step, f"another {name} was attached", needle=step.payload["node"])
