"""Answers that are given again to a repeated idempotency key; they go with the tree that they tell of."""

from sqlalchemy import delete, select

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import Transaction

_answers = schema.kept_answers


def keep_answer(
    transaction: Transaction, *, tree: int, scope: str, key: str, status: int, body: bytes, expires_at: int
) -> None:
    row = {
        "tree": tree,
        "scope": scope,
        "key": key,
        "status": status,
        "body": body,
        "expires_at": expires_at,
    }
    transaction.replace(_answers, ("tree", "scope", "key"), row)


def kept_answer(session: Session, *, tree: int, scope: str, key: str) -> tuple[int, bytes] | None:
    here = _answers.c.tree == tree, _answers.c.scope == scope, _answers.c.key == key
    row = session.execute(select(_answers.c.status, _answers.c.body).where(*here)).one_or_none()
    return None if row is None else (row.status, row.body)


def forget_answers(transaction: Transaction, tree: int) -> None:
    """Something is deleted: no answer may still tell of it."""
    transaction.execute(delete(_answers).where(_answers.c.tree == tree))


def sweep_answers(transaction: Transaction, now: int) -> None:
    transaction.execute(delete(_answers).where(_answers.c.expires_at <= now))
