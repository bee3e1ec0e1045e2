"""What was sent to models, call by call: requests in segments, manifests, envelopes."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Select, and_, bindparam, func, select

from weft.errors import NotFoundError
from weft.store import schema
from weft.store.packed_bodies import add_bodies, load_body, pack, snapshots_of, unpack_checked
from weft.store.session import Dialect, Session
from weft.store.transaction import Transaction
from weft.tree.json import JsonObject

_requests, _manifests = schema.requests, schema.manifests
_envelopes, _nodes = schema.envelopes, schema.nodes
_LAST_ORDINAL = select(func.max(_envelopes.c.ordinal)).where(
    _envelopes.c.tree == bindparam("in_tree"), _envelopes.c.node == bindparam("at_node")
)
_ANY_SENT = (
    select(_envelopes.c.node)
    .where(_envelopes.c.tree == bindparam("in_tree"), _envelopes.c.legacy.is_(False))
    .limit(1)
)
_ANY_SENT_BY = _ANY_SENT.where(_envelopes.c.agent == bindparam("by_agent"))
_PREFIXES = (
    select(_envelopes.c.prefix)
    .where(
        _envelopes.c.tree == bindparam("in_tree"),
        _envelopes.c.created_at >= bindparam("since"),
        _envelopes.c.provider == bindparam("to_provider"),
        _envelopes.c.legacy.is_(False),
    )
    .order_by(_envelopes.c.created_at.desc())
    .limit(bindparam("most"))
)


def save_segments(transaction: Transaction, tree: int, attempt: int, segments: Sequence[bytes]) -> bytes:
    """Keep what was sent, as segments that requests share: joined, they are the body, whose SHA-256 it is."""
    digests = [hashlib.sha256(segment).digest() for segment in segments]
    add_bodies(transaction, tree, dict(zip(digests, segments, strict=True)))
    for ordinal, digest in enumerate(digests):
        transaction.add(_requests, {"tree": tree, "attempt": attempt, "ordinal": ordinal, "segment": digest})
    return hashlib.sha256(b"".join(segments)).digest()


def save_manifest(transaction: Transaction, tree: int, attempt: int, manifest: bytes) -> bytes:
    """Keep what a request is made of, and why; return its SHA-256."""
    digest = hashlib.sha256(manifest).digest()
    transaction.add(_manifests, {"tree": tree, "attempt": attempt, "sha256": digest, "gzip": pack(manifest)})
    return digest


def request_segments(session: Session, tree: int, attempt: int) -> Iterator[bytes]:
    """What was sent, piece by piece: joined, it is the body to the byte."""
    listed = session.execute(
        select(_requests.c.segment)
        .where(_requests.c.tree == tree, _requests.c.attempt == attempt)
        .order_by(_requests.c.ordinal)
    ).scalars()
    for digest in listed.all():
        yield load_body(session, tree, digest)


def manifest_of(session: Session, tree: int, attempt: int) -> bytes | None:
    row = session.execute(
        select(_manifests).where(_manifests.c.tree == tree, _manifests.c.attempt == attempt)
    ).one_or_none()
    return None if row is None else unpack_checked(row.gzip, row.sha256, "the manifest")


def packed_record(record: JsonObject) -> tuple[bytes, bytes]:
    """The record of an envelope as it is kept: its hash, and its bytes."""
    data = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(data).digest(), pack(data)


def record_of(row: Any) -> JsonObject:
    return json.loads(unpack_checked(row.gzip, row.sha256, "a stored envelope"))


def next_ordinal(session: Session, tree: int, node: int) -> int:
    ((highest,),) = session.rows(_LAST_ORDINAL, {"in_tree": tree, "at_node": node})
    return 0 if highest is None else int(highest) + 1


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


class SentEnvelope(NamedTuple):
    """An envelope with the depth of its turn."""

    depth: int
    created_at: int
    sha256: bytes
    gzip: bytes


@cache
def _last_sent(dialect: Dialect, *, by_agent: bool) -> Select[*tuple[Any, ...]]:
    there = (
        select(_nodes.c.depth, _envelopes.c.created_at, _envelopes.c.sha256, _envelopes.c.gzip)
        .join(_nodes, and_(_nodes.c.tree == _envelopes.c.tree, _nodes.c.key == _envelopes.c.node))
        .where(
            _envelopes.c.tree == bindparam("in_tree"),
            dialect.among_given(_envelopes.c.node, "wanted"),
            _envelopes.c.legacy.is_(False),
        )
        .order_by(_nodes.c.depth.desc(), _envelopes.c.created_at.desc(), _envelopes.c.ordinal.desc())
        .limit(1)
    )
    return there.where(_envelopes.c.agent == bindparam("by_agent")) if by_agent else there


def last_sent(session: Session, tree: int, agent: int | None, nodes: Sequence[int]) -> SentEnvelope | None:
    """The last envelope of the deepest of these nodes that has one, for this agent or for any."""
    statement = _last_sent(session.dialect, by_agent=agent is not None)
    values = {"in_tree": tree, "by_agent": agent, "wanted": session.dialect.keys(nodes)}
    return next(map(SentEnvelope._make, session.rows(statement, values)), None)


def was_sent(session: Session, tree: int, agent: int | None) -> bool:
    """Whether any request of a tree was kept, for this agent or for any."""
    statement = _ANY_SENT if agent is None else _ANY_SENT_BY
    return bool(session.rows(statement, {"in_tree": tree, "by_agent": agent}))


def recent_prefixes(session: Session, tree: int, provider: str, since: int, limit: int) -> list[bytes]:
    """What the latest requests to a provider began with, piece by piece."""
    values = {"in_tree": tree, "since": since, "to_provider": provider, "most": limit}
    return [bytes(prefix) for (prefix,) in session.rows(_PREFIXES, values)]


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
