"""What agents are typing at nodes, as rows."""

from sqlalchemy import delete, select

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import Transaction

_drafts = schema.drafts


def draft_at(session: Session, tree: int, agent: int, node: int) -> str:
    """What an agent types at a node of a conversation; empty: nothing."""
    here = _drafts.c.tree == tree, _drafts.c.agent == agent, _drafts.c.node == node
    return session.execute(select(_drafts.c.text).where(*here)).scalar_one_or_none() or ""


def drop_draft(transaction: Transaction, tree: int, agent: int, node: int) -> None:
    here = _drafts.c.tree == tree, _drafts.c.agent == agent, _drafts.c.node == node
    transaction.execute(delete(_drafts).where(*here))
