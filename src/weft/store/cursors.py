"""Where agents are: their cursors as signs of life."""

from sqlalchemy import update

from weft.store import schema
from weft.store.transaction import Transaction


def touch_cursor(transaction: Transaction, tree: int, agent: int, now: int) -> None:
    """Renew an agent's presence, which others see. Nothing, where it has no place yet."""
    cursors = schema.cursors
    here = cursors.c.tree == tree, cursors.c.agent == agent, cursors.c.updated_at < now
    transaction.execute(update(cursors).where(*here).values(updated_at=now))
