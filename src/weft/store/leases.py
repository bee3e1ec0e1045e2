"""Leases on positions, with a fencing token and an expiry, and claims on idempotency keys.

The tree's row is locked whenever a lease changes and whenever a node is written, so
a writer sees either the lease or what came after it. Tokens are drawn from the tree's
own count of keys, which never goes back: each is higher than every one before it.
"""

from enum import IntEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, delete, func, select, update

from weft.errors import ConflictError
from weft.store import schema
from weft.store.kept_answers import sweep_answers
from weft.store.rows import TreeState
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.json_names import iso_moment

_leases = schema.leases


_LEASE_AT = select(_leases).where(
    _leases.c.tree == bindparam("in_tree"),
    _leases.c.position == bindparam("at_position"),
    _leases.c.expires_at > bindparam("now"),
)


class LeaseRow(NamedTuple):
    tree: int
    position: int
    run: str
    agent: int
    token: int
    expires_at: int


def lease_at(session: Session, tree: int, position: int, now: int) -> LeaseRow | None:
    """The lease that holds on a position at this moment."""
    rows = session.rows(_LEASE_AT, {"in_tree": tree, "at_position": position, "now": now})
    return LeaseRow._make(rows[0]) if rows else None


def leases_in(session: Session, tree: int, now: int) -> list[LeaseRow]:
    """All leases that hold in a tree at this moment."""
    rows = session.execute(select(_leases).where(_leases.c.tree == tree, _leases.c.expires_at > now))
    return [LeaseRow._make(row) for row in rows]


def check_fencing_token(
    transaction: Transaction, tree: int, position: int, now: int, holder: tuple[str, int]
) -> None:
    """Refuse unless the run still holds the position by its token: now, in the transaction that writes."""
    held = lease_at(transaction, tree, position, now)
    if held is None:
        raise ConflictError("the lease has run out", hint="take it again before writing")
    if (held.run, held.token) != holder:
        raise lease_taken(transaction, held)


def lease_taken(transaction: Transaction, held: LeaseRow) -> ConflictError:
    node = transaction.node(held.tree, held.position)
    return ConflictError(
        f"{transaction.agent(held.agent).name!r} is extending [{node.local_id}] until {iso_moment(held.expires_at)}",
        hint="wait for it, or go on from another node",
    )


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
        transaction.writes += 1
        tree.leased_until = until
        tree.changed = True


_claims = schema.idempotency


class ClaimState(IntEnum):
    """Stored as it is: append only."""

    CLAIMED = 0
    """The work is under way."""
    DONE = 1
    REFUSED = 2
    """It failed, and would fail again: the error is the answer."""
    RELEASED = 3
    """It failed in a way that may pass: the next caller tries again."""
    INTERRUPTED = 4
    """Its process died; how far it came is unknown."""


class ClaimRow(NamedTuple):
    scope: str
    key: str
    body: bytes
    state: ClaimState
    result: str | None
    holder: str | None
    created_at: int
    expires_at: int
    held_until: int | None


def claim_row(session: Session, scope: str, key: str, *, lock: bool = False) -> ClaimRow | None:
    statement = select(_claims).where(_claims.c.scope == scope, _claims.c.key == key)
    row = session.one(statement.with_for_update() if lock else statement, ClaimRow._make)
    return None if row is None else row._replace(state=ClaimState(row.state))


def claim(transaction: Transaction, wanted: ClaimRow, now: int) -> ClaimRow:
    """Put a claim where there is none (any more); return the claim that is valid."""
    key = ("scope", "key")
    transaction.add_missing(_claims, key, wanted._asdict())
    present = claim_row(transaction, wanted.scope, wanted.key, lock=True)
    if present is None or present.holder == wanted.holder:
        return wanted
    if present.expires_at <= now or (present.state is ClaimState.RELEASED and present.body == wanted.body):
        transaction.replace(_claims, key, wanted._asdict())
        return wanted
    if present.state is ClaimState.CLAIMED and (present.held_until or 0) <= now:
        transaction.execute(update(_claims).where(_is(present)).values(state=ClaimState.INTERRUPTED))
        return present._replace(state=ClaimState.INTERRUPTED)
    return present


def _is(row: ClaimRow) -> ColumnElement[bool]:
    return and_(_claims.c.scope == row.scope, _claims.c.key == row.key, _claims.c.holder == row.holder)


def hold_claim(transaction: Transaction, row: ClaimRow, held_until: int) -> bool:
    """Say that the work goes on. Who was taken for dead is back by this."""
    values: dict[str, Any] = {"held_until": held_until, "state": ClaimState.CLAIMED}
    return transaction.execute(update(_claims).where(_is(row)).values(**values)).rowcount > 0


def settle_claim(transaction: Transaction, row: ClaimRow, state: ClaimState, result: str | None) -> None:
    values: dict[str, Any] = {"state": state, "result": result, "held_until": None}
    transaction.execute(update(_claims).where(_is(row)).values(**values))


def sweep_claims(transaction: Transaction, now: int) -> int:
    """Forget what has expired."""
    sweep_answers(transaction, now)
    return transaction.execute(delete(_claims).where(_claims.c.expires_at <= now)).rowcount
