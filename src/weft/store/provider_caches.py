"""Caches that providers hold for conversations: what each holds, until when, and which are to be deleted there."""

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import Row, delete, select, update

from weft.store import schema
from weft.store.jobs import enqueue
from weft.store.session import Session
from weft.store.transaction import Transaction

_caches = schema.provider_caches
CACHE_JOB = "provider caches"
"""The kind of job that deletes retired caches at their providers; one for the whole grove."""


class ProviderCacheRow(NamedTuple):
    key: int
    in_tree: int
    agent: int
    model: str
    """`provider:model`."""
    name: str
    """The provider's own."""
    prefix: bytes
    """SHA-256 of what it holds."""
    messages: int
    tokens: int
    lifetime: int
    """Microseconds that it lives after it was created or renewed."""
    expires_at: int
    retired: bool
    """No request uses it any more: it is to be deleted."""
    attempt: str | None
    """The id of the attempt with the request that created it."""
    created_at: int


def _row(stored: Row[*tuple[Any, ...]]) -> ProviderCacheRow:
    return ProviderCacheRow._make(stored)


def live_caches(session: Session, tree: int, model: str, now: int) -> list[ProviderCacheRow]:
    """The caches of a tree that requests to a model can use, the largest first."""
    there = (
        select(_caches)
        .where(_caches.c.in_tree == tree, _caches.c.model == model)
        .where(_caches.c.retired.is_(False), _caches.c.expires_at > now)
        .order_by(_caches.c.tokens.desc())
    )
    return [_row(each) for each in session.execute(there)]


def cache_named(session: Session, tree: int, name: str) -> ProviderCacheRow | None:
    there = select(_caches).where(_caches.c.in_tree == tree, _caches.c.name == name)
    return session.one(there.order_by(_caches.c.key.desc()).limit(1), _row)


def add_cache(transaction: Transaction, values: dict[str, Any]) -> None:
    transaction.add(_caches, {**values, "retired": False})


def renew_cache(transaction: Transaction, name: str, expires_at: int) -> None:
    transaction.execute(update(_caches).where(_caches.c.name == name).values(expires_at=expires_at))


def retire_caches(
    transaction: Transaction, tree: int, *, now: int, names: Collection[str] | None = None
) -> None:
    """Have caches of a tree deleted at their providers: all of them, or those named."""
    here = (_caches.c.in_tree == tree) & _caches.c.retired.is_(False)
    if names is not None:
        here &= _caches.c.name.in_(list(names))
    if transaction.execute(update(_caches).where(here).values(retired=True)).rowcount:
        enqueue(transaction, CACHE_JOB, now=now)


def forget_caches(transaction: Transaction, tree: int, *, now: int) -> None:
    """The tree is deleted: so are its rows, once their caches are."""
    retire_caches(transaction, tree, now=now)
    transaction.execute(delete(_caches).where(_caches.c.in_tree == tree, _caches.c.expires_at <= now))


def retired_caches(session: Session) -> list[ProviderCacheRow]:
    """Those that are still to be deleted at their providers."""
    there = select(_caches).where(_caches.c.retired.is_(True), _caches.c.expires_at > 0)
    return [_row(each) for each in session.execute(there)]


def end_cache(transaction: Transaction, row: ProviderCacheRow) -> None:
    """It is deleted at the provider. The row stays with its tree: it says which request made the cache."""
    here = _caches.c.key == row.key
    there = select(schema.trees.c.key).where(schema.trees.c.key == row.in_tree)
    if transaction.execute(there).first() is None:
        transaction.execute(delete(_caches).where(here))
    else:
        transaction.execute(update(_caches).where(here).values(expires_at=0))
