"""Context items of a turn that no model has answered yet: attach, detach."""

from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import and_, bindparam, func, literal, select, update

from weft.errors import ConflictError, NotFoundError
from weft.provenance.facts import item_fact
from weft.runtime.drafting import attachment_row
from weft.runtime.operations.base import Editing
from weft.runtime.scope import Scope
from weft.runtime.values import items_of
from weft.store import schema
from weft.store.bodies import add_body
from weft.store.rows import AGENT_TYPES, Flag, NodeRow, TreeState
from weft.store.statements import keys_below
from weft.tree.agent import AgentType
from weft.tree.item import Item, check_item

__all__ = ["Attach", "Detach"]

_attachments = schema.attachments
_nodes = schema.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Attach(Editing):
    """Hang an item on a node of the current turn."""

    verb: ClassVar[str] = "attach"
    tree: str
    node: str
    item: Item

    def apply(self, scope: Scope) -> tuple[Item, ...]:
        tree = scope.open_tree(self.tree)
        item = check_item(self.item)
        row = _open_turn(scope, tree, self.node)
        if any(
            there.id == item.id for there in items_of(scope.transaction, tree.key, [row]).get(row.key, ())
        ):
            raise ConflictError(f"{item.id} is attached already", hint="detach it first to replace it")
        transaction = scope.transaction
        add_body(transaction, tree.key, bytes.fromhex(item.sha256), item.content.encode())
        last = transaction.execute(
            select(func.max(_attachments.c.ordinal)).where(
                _attachments.c.tree == tree.key, _attachments.c.node == row.key
            )
        ).scalar()
        ordinal = 0 if last is None else last + 1
        attachment = attachment_row(row, ordinal, item, tree.events + 1)
        transaction.add(_attachments, attachment)
        scope.note(item_fact(row.ulid, attachment))
        row = transaction.update_node(row, flags=row.flags | Flag.HAS_ATTACHMENTS)
        _point_here(scope, tree, row)
        scope.record(
            tree,
            self.verb,
            {"node": row.ulid, "ordinal": ordinal, "sha256": item.sha256},
            {"node": row.ulid, "detach": ordinal},
        )
        return tuple(items_of(transaction, tree.key, [row]).get(row.key, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Detach(Editing):
    """Take an item off a node of the current turn."""

    verb: ClassVar[str] = "detach"
    tree: str
    node: str
    item_id: str

    def apply(self, scope: Scope) -> tuple[Item, ...]:
        tree = scope.open_tree(self.tree)
        row = _open_turn(scope, tree, self.node)
        transaction = scope.transaction
        ordinal = transaction.execute(
            select(_attachments.c.ordinal).where(
                _attachments.c.tree == tree.key,
                _attachments.c.node == row.key,
                _attachments.c.id == self.item_id,
                _attachments.c.detached_by.is_(None),
            )
        ).scalar_one_or_none()
        if ordinal is None:
            raise NotFoundError(f"{self.item_id!r} is not attached to [{row.local_id}]")
        transaction.execute(
            update(_attachments)
            .where(
                _attachments.c.tree == tree.key,
                _attachments.c.node == row.key,
                _attachments.c.ordinal == ordinal,
            )
            .values(detached_by=tree.events + 1)
        )
        scope.record(
            tree, self.verb, {"node": row.ulid, "ordinal": ordinal}, {"node": row.ulid, "attach": ordinal}
        )
        return tuple(items_of(transaction, tree.key, [row]).get(row.key, ()))


def _open_turn(scope: Scope, tree: TreeState, reference: str) -> NodeRow:
    """A human node below which no model has spoken."""
    row = scope.live_node(tree, reference, "attach to")
    answered = AGENT_TYPES[row.author_type] is AgentType.MODEL
    if not answered:
        below = keys_below().subquery("below")
        spoken = (
            select(literal(1))
            .select_from(below)
            .join(_nodes, and_(_nodes.c.tree == bindparam("in_tree"), _nodes.c.key == below.c.key))
            .where(_nodes.c.author_type == AGENT_TYPES.index(AgentType.MODEL))
            .limit(1)
        )
        values = {"in_tree": tree.key, "at_position": row.position}
        answered = scope.transaction.execute(spoken, values).first() is not None
    if answered:
        raise ConflictError(
            f"[{row.local_id}] has been generated from: its items are what the model saw",
            hint="attach to a new turn",
        )
    return row


def _point_here(scope: Scope, tree: TreeState, row: NodeRow) -> None:
    """Nodes at and below this position find their nearest items here."""
    if row.near_attachments == row.position:
        return
    versions = scope.transaction.versions(tree.key, row.position)
    here = select(_nodes.c.key).where(_nodes.c.tree == tree.key, _nodes.c.key.in_(versions))
    old = _nodes.c.near_attachments.is_not_distinct_from(row.near_attachments)
    scope.transaction.execute(
        update(_nodes)
        .where(_nodes.c.tree == bindparam("in_tree"), old, _nodes.c.key.in_(here.union_all(keys_below())))
        .values(near_attachments=row.position),
        {"in_tree": tree.key, "at_position": row.position},
    )
    scope.transaction.forget_nodes()
