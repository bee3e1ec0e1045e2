"""What agents are typing at nodes, as rows."""

from sqlalchemy import bindparam, delete, select

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import Transaction

_drafts = schema.drafts
_AT_NODE = select(_drafts.c.text).where(
    _drafts.c.tree == bindparam("in_tree"),
    _drafts.c.agent == bindparam("by_agent"),
    _drafts.c.node == bindparam("at_node"),
)


def draft_at(session: Session, tree: int, agent: int, node: int) -> str:
    """What an agent types at a node of a conversation; empty: nothing."""
    rows = session.rows(_AT_NODE, {"in_tree": tree, "by_agent": agent, "at_node": node})
    return str(rows[0][0]) if rows else ""


def drop_draft(transaction: Transaction, tree: int, agent: int, node: int) -> None:
    here = _drafts.c.tree == tree, _drafts.c.agent == agent, _drafts.c.node == node
    transaction.execute(delete(_drafts).where(*here))
