"""Context items of a turn that no model has answered yet: attach, detach."""

from sqlalchemy import and_, bindparam, case, func, literal, select, update

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, LimitExceededError, NotFoundError
from weft.provenance.fingerprints import item_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_values import items_of
from weft.runtime.operations.node_writer import attachment_row, check_media, image_refs
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.packed_bodies import add_body
from weft.store.rows import AGENT_TYPES, Flag, NodeRow, TreeState
from weft.store.transaction import Transaction
from weft.store.tree_statements import keys_below
from weft.tree.agent import AgentType
from weft.tree.item import ITEM_LIMIT, Item, check_item

_attachments = schema.attachments
_nodes = schema.nodes
_LAST_ORDINAL = 2**15 - 1
"""What was taken off keeps its number, so numbers may run out before the items do."""


class Attach(Editing, verb="attach"):
    """Hang an item on a node of the current turn."""

    tree: str
    node: str
    item: Item

    def apply(self, scope: Scope) -> tuple[Item, ...]:
        tree = scope.open_tree(self.tree)
        item = check_item(self.item)
        row = open_turn(scope, tree, self.node)
        check_media(scope, image_refs([item]))
        transaction = scope.transaction
        ordinal = _free_ordinal(transaction, tree, row, item)
        add_body(transaction, tree.key, bytes.fromhex(item.sha256), item.content.encode())
        attachment = attachment_row(row, ordinal, item, tree.events + 1)
        transaction.add(_attachments, attachment)
        scope.add_fingerprint(item_fingerprint(row.ulid, attachment))
        row = transaction.update_node(row, flags=row.flags | Flag.HAS_ATTACHMENTS)
        _point_here(scope, tree, row)
        scope.record(
            tree,
            self.verb,
            {"node": row.ulid, "ordinal": ordinal, "sha256": item.sha256},
            {"node": row.ulid, "detach": ordinal},
        )
        return tuple(items_of(transaction, tree.key, [row]).get(row.key, ()))


def _free_ordinal(transaction: Transaction, tree: TreeState, row: NodeRow, item: Item) -> int:
    """The place of one more item; a node takes as many as it could have been made with."""
    there = _attachments.c.detached_by.is_(None)
    counts = transaction.execute(
        select(
            func.max(_attachments.c.ordinal).label("last"),
            func.sum(case((there, 1), else_=0)).label("held"),
            func.sum(case((and_(there, _attachments.c.id == item.id), 1), else_=0)).label("same"),
        ).where(_attachments.c.tree == tree.key, _attachments.c.node == row.key)
    ).one()
    if counts.same:
        raise ConflictError(f"{item.id} is attached already", hint=Hint(HintKind.DETACH_FIRST))
    if (counts.held or 0) >= ITEM_LIMIT:
        raise LimitExceededError(f"a node takes at most {ITEM_LIMIT:,} items", hint=Hint(HintKind.DETACH_ONE))
    if counts.last is None:
        return 0
    if counts.last >= _LAST_ORDINAL:
        raise LimitExceededError(
            f"items of [{row.local_id}] were changed too often", hint="attach to a new turn"
        )
    return counts.last + 1


class Detach(Editing, verb="detach"):
    """Take an item off a node of the current turn."""

    tree: str
    node: str
    item_id: str

    def apply(self, scope: Scope) -> tuple[Item, ...]:
        tree = scope.open_tree(self.tree)
        row = open_turn(scope, tree, self.node)
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


def open_turn(scope: Scope, tree: TreeState, reference: str) -> NodeRow:
    """A human node below which no model has spoken."""
    row = scope.live_node(tree, reference, "attach to")
    answered = AGENT_TYPES[row.author_type] is AgentType.MODEL
    if not answered:
        below = keys_below().subquery("below")
        spoken = (
            select(literal(1))
            .select_from(below)
            .join(_nodes, and_(_nodes.c.tree == bindparam("in_tree"), _nodes.c.key == below.c.key))
            .where(_nodes.c.author_type == AGENT_TYPES.index(AgentType.MODEL), _nodes.c.hidden.is_(None))
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
