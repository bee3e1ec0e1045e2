"""Leases: who may extend a position just now, as rows with a fencing token and an expiry.

The tree's row is locked whenever a lease changes and whenever a node is written, so
a writer sees either the lease or what came after it. Tokens are drawn from the tree's
own count of keys, which never goes back: each is higher than every one before it.
"""

from typing import NamedTuple

from sqlalchemy import delete, func, select, update

from weft.store import schema
from weft.store.rows import TreeState
from weft.store.session import Session
from weft.store.transaction import Transaction

_leases = schema.leases
_trees = schema.trees


class LeaseRow(NamedTuple):
    tree: int
    position: int
    run: str
    agent: int
    token: int
    expires_at: int


def lease_at(session: Session, tree: int, position: int, now: int) -> LeaseRow | None:
    """The lease that holds on a position at this moment."""
    found = session.execute(
        select(_leases).where(
            _leases.c.tree == tree, _leases.c.position == position, _leases.c.expires_at > now
        )
    ).one_or_none()
    return None if found is None else LeaseRow._make(found)


def put_lease(transaction: Transaction, tree: TreeState, lease: LeaseRow) -> None:
    """Take, renew or take over; the caller has looked who held it."""
    transaction.replace(_leases, ("tree", "position"), lease._asdict())
    if tree.leased_until is None or tree.leased_until < lease.expires_at:
        _note(transaction, tree, lease.expires_at)


def drop_lease(transaction: Transaction, tree: TreeState, position: int) -> None:
    transaction.execute(delete(_leases).where(_leases.c.tree == tree.key, _leases.c.position == position))
    _note_latest(transaction, tree)


def sweep_leases(transaction: Transaction, tree: TreeState, now: int) -> None:
    """Clear away what has run out."""
    if tree.leased_until is not None:
        transaction.execute(delete(_leases).where(_leases.c.tree == tree.key, _leases.c.expires_at <= now))
        _note_latest(transaction, tree)


def _note_latest(transaction: Transaction, tree: TreeState) -> None:
    latest = select(func.max(_leases.c.expires_at)).where(_leases.c.tree == tree.key)
    _note(transaction, tree, transaction.execute(latest).scalar())


def _note(transaction: Transaction, tree: TreeState, until: int | None) -> None:
    """Keep with the tree until when a writer has to look; without leases it costs a writer nothing."""
    if tree.leased_until != until:
        transaction.execute(update(_trees).where(_trees.c.key == tree.key).values(leased_until=until))
        tree.leased_until = until
