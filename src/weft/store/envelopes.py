"""Requests in layers as rows: one for each that was made for a turn."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import and_, func, select

from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, StorageError
from weft.store import schema
from weft.store.bodies import PackingError, pack, unpack
from weft.store.path_queries import bodies_of
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.json import JsonObject

_envelopes = schema.envelopes
_nodes = schema.nodes
_LIGHT = tuple(column for column in _envelopes.c if column.name not in {"gzip", "prefix"})


def packed_record(record: JsonObject) -> tuple[bytes, bytes]:
    """A record as it is kept: its hash, and its bytes."""
    data = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(data).digest(), pack(data)


def record_of(row: Any) -> JsonObject:
    try:
        data = unpack(row.gzip)
    except PackingError as error:
        raise StorageError(f"a stored envelope is damaged: {error}", hint=Hint(HintKind.VERIFY)) from error
    if hashlib.sha256(data).digest() != row.sha256:
        raise StorageError("a stored envelope is damaged", hint="restore a backup")
    return json.loads(data)


def add_snapshots(transaction: Transaction, tree: int, snapshots: Mapping[str, str]) -> None:
    """Texts by their hash; only those that the tree has not are packed and sent."""
    texts = {bytes.fromhex(digest): text for digest, text in snapshots.items()}
    bodies = schema.bodies
    wanted = list(texts)
    for start in range(0, len(wanted), 500):
        some = wanted[start : start + 500]
        there = select(bodies.c.sha256).where(bodies.c.tree == tree, bodies.c.sha256.in_(some))
        known = {bytes(digest) for digest in transaction.execute(there).scalars()}
        for digest in some:
            if digest not in known:
                data = texts[digest].encode("utf-8", "surrogatepass")
                transaction.add_missing(
                    bodies, ("tree", "sha256"), {"tree": tree, "sha256": digest, "gzip": pack(data)}
                )


def snapshots_of(session: Session, tree: int, digests: Sequence[str]) -> dict[str, str]:
    found = bodies_of(session, tree, [bytes.fromhex(digest) for digest in digests])
    return {digest.hex(): body.decode("utf-8", "surrogatepass") for digest, body in found.items()}


def next_ordinal(session: Session, tree: int, node: int) -> int:
    last = select(func.max(_envelopes.c.ordinal)).where(_envelopes.c.tree == tree, _envelopes.c.node == node)
    found = session.execute(last).scalar()
    return 0 if found is None else int(found) + 1


def envelope_row(session: Session, tree: int, node: int, ordinal: int | None = None) -> Any:
    """One of a turn's envelopes whole; the latest, if none is named."""
    here = select(_envelopes).where(_envelopes.c.tree == tree, _envelopes.c.node == node)
    if ordinal is not None:
        here = here.where(_envelopes.c.ordinal == ordinal)
    row = session.execute(here.order_by(_envelopes.c.ordinal.desc()).limit(1)).one_or_none()
    if row is None:
        raise NotFoundError(
            "nothing was sent from here", hint="a turn has an envelope once a model was asked"
        )
    return row


def with_places(session: Session, tree: int, *, agent: int, limit: int) -> list[Any]:
    """The latest envelopes for an agent, without what is in them, with the position and depth of their turns."""
    there = (
        select(*_LIGHT, _nodes.c.position, _nodes.c.depth)
        .join(_nodes, and_(_nodes.c.tree == _envelopes.c.tree, _nodes.c.key == _envelopes.c.node))
        .where(_envelopes.c.tree == tree, _envelopes.c.agent == agent, _envelopes.c.legacy.is_(False))
        .order_by(_envelopes.c.created_at.desc(), _envelopes.c.ordinal.desc())
        .limit(limit)
    )
    return list(session.execute(there))


def recent_prefixes(session: Session, tree: int, provider: str, since: int, limit: int) -> list[bytes]:
    """What the latest requests to a provider began with, piece by piece."""
    there = (
        select(_envelopes.c.prefix)
        .where(
            _envelopes.c.tree == tree,
            _envelopes.c.created_at >= since,
            _envelopes.c.provider == provider,
            _envelopes.c.legacy.is_(False),
        )
        .order_by(_envelopes.c.created_at.desc())
        .limit(limit)
    )
    return [bytes(prefix) for prefix in session.execute(there).scalars()]


def legacy_texts(session: Session, tree: int) -> dict[str, str]:
    """Node's id → what was sent for it, where it was saved elsewhere without an envelope."""
    there = (
        select(_envelopes, _nodes.c.ulid)
        .join(_nodes, and_(_nodes.c.tree == _envelopes.c.tree, _nodes.c.key == _envelopes.c.node))
        .where(_envelopes.c.tree == tree, _envelopes.c.legacy.is_(True))
        .order_by(_envelopes.c.node, _envelopes.c.ordinal)
    )
    named = {row.ulid: str(record_of(row)["processedText"]) for row in session.execute(there)}
    if not named:
        return {}
    texts = snapshots_of(session, tree, list(named.values()))
    return {node: texts[digest] for node, digest in named.items() if digest in texts}
