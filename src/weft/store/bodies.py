"""Bytes kept by their hash, once a tree: raw responses, items, and what requests were made of.

They are kept as gzip that any tool can open, with every byte of it accounted for. Gzip checks what
comes out, not what is stored: header fields and the bits that pad a block may change unseen. So the
header is fixed, and carries a digest of what follows it. Envelopes, the records of layered requests,
are kept in the same way.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import and_, func, select

from weft.errors import LimitExceededError, NotFoundError, StorageError
from weft.store import schema
from weft.store.session import Session, in_batches
from weft.store.transaction import Transaction
from weft.tree.json import JsonObject

_bodies, _requests, _manifests = schema.bodies, schema.requests, schema.manifests
_envelopes, _nodes = schema.envelopes, schema.nodes
_LIGHT = tuple(column for column in _envelopes.c if column.name not in {"gzip", "prefix"})


def add_body(transaction: Transaction, tree: int, digest: bytes, body: bytes) -> None:
    """Keep bytes by their hash, once a tree."""
    transaction.add_missing(_bodies, ("tree", "sha256"), {"tree": tree, "sha256": digest, "gzip": pack(body)})


def load_body(session: Session, tree: int, digest: bytes) -> bytes:
    """The bytes with that hash; never others."""
    packed = session.execute(
        select(_bodies.c.gzip).where(_bodies.c.tree == tree, _bodies.c.sha256 == digest)
    ).scalar_one_or_none()
    if packed is None:
        raise NotFoundError(f"{_named(digest)} is not there any more")
    return _checked(packed, digest, _named(digest))


def bodies_of(session: Session, tree: int, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
    """Bodies by their hashes, a few hundred at a time; one that is not there is not in the result."""
    bodies: dict[bytes, bytes] = {}
    for some in in_batches(dict.fromkeys(digests)):
        rows = session.execute(
            select(_bodies.c.sha256, _bodies.c.gzip).where(_bodies.c.tree == tree, _bodies.c.sha256.in_(some))
        )
        bodies.update((bytes(row.sha256), _unpacked(row.gzip, _named(row.sha256))) for row in rows)
    return bodies


def _named(digest: bytes) -> str:
    return f"the body {digest.hex()[:12]}…"


def _unpacked(packed: bytes, name: str) -> bytes:
    try:
        return unpack(packed)
    except PackingError as error:
        raise StorageError(f"{name} is damaged: {error}", hint="restore it from a backup") from error


def _checked(packed: bytes, digest: bytes, name: str) -> bytes:
    body = _unpacked(packed, name)
    if hashlib.sha256(body).digest() != digest:
        raise StorageError(f"{name} is damaged", hint="restore it from a backup")
    return body


def save_segments(transaction: Transaction, tree: int, attempt: int, segments: Sequence[bytes]) -> bytes:
    """Keep what was sent, as segments that requests share: joined, they are the body, whose SHA-256 it is."""
    digests = [hashlib.sha256(segment).digest() for segment in segments]
    _add_bodies(transaction, tree, dict(zip(digests, segments, strict=True)))
    for ordinal, digest in enumerate(digests):
        transaction.add(_requests, {"tree": tree, "attempt": attempt, "ordinal": ordinal, "segment": digest})
    return hashlib.sha256(b"".join(segments)).digest()


def add_snapshots(transaction: Transaction, tree: int, snapshots: Mapping[str, str]) -> None:
    """Keep texts by their hash."""
    texts = {bytes.fromhex(digest): _encoded(text) for digest, text in snapshots.items()}
    _add_bodies(transaction, tree, texts)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _add_bodies(transaction: Transaction, tree: int, bodies: Mapping[bytes, bytes]) -> None:
    """Of a long conversation nearly all is there: what is, is not packed again."""
    missing = dict(bodies)
    for some in in_batches(bodies):
        there = select(_bodies.c.sha256).where(_bodies.c.tree == tree, _bodies.c.sha256.in_(some))
        for digest in transaction.execute(there).scalars():
            missing.pop(bytes(digest), None)
    for digest, body in missing.items():
        add_body(transaction, tree, digest, body)


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
    return None if row is None else _checked(row.gzip, row.sha256, "the manifest")


def packed_record(record: JsonObject) -> tuple[bytes, bytes]:
    """The record of an envelope as it is kept: its hash, and its bytes."""
    data = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(data).digest(), pack(data)


def record_of(row: Any) -> JsonObject:
    return json.loads(_checked(row.gzip, row.sha256, "a stored envelope"))


def snapshots_of(session: Session, tree: int, digests: Sequence[str]) -> dict[str, str]:
    bodies = bodies_of(session, tree, [bytes.fromhex(digest) for digest in digests])
    return {digest.hex(): body.decode("utf-8", "surrogatepass") for digest, body in bodies.items()}


def next_ordinal(session: Session, tree: int, node: int) -> int:
    last = select(func.max(_envelopes.c.ordinal)).where(_envelopes.c.tree == tree, _envelopes.c.node == node)
    highest = session.execute(last).scalar()
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


BODY_LIMIT = 1024 * 1024 * 1024
"""A stored value that unpacks to more is refused."""
_PLAIN = bytes.fromhex("1f8b0800000000000003")
_MARKED = bytes.fromhex("1f8b0804000000000003" + "1400" + "5766" + "1000")
"""The same header with one extra field, "Wf": the first half of the SHA-256 of the rest."""
_DIGEST = 16
_TRAILER = 8
_LEVEL = 6


class PackingError(ValueError):
    """Stored bytes that are not what was stored."""


def pack(body: bytes) -> bytes:
    """Compress; the same bytes in give a value that `unpack` accepts byte for byte, or not at all."""
    stream = zlib.compress(body, level=_LEVEL, wbits=31)[len(_PLAIN) :]
    return _MARKED + hashlib.sha256(stream).digest()[:_DIGEST] + stream


def unpack(packed: bytes, limit: int = BODY_LIMIT) -> bytes:
    """What was packed. Raises where a single byte of the value is not as it was written."""
    if packed.startswith(_MARKED):
        start = len(_MARKED) + _DIGEST
        digest, stream = packed[len(_MARKED) : start], packed[start:]
        if hashlib.sha256(stream).digest()[:_DIGEST] != digest:
            raise PackingError("the compressed bytes differ from their digest")
    elif packed.startswith(_PLAIN):
        stream = packed[len(_PLAIN) :]
    else:
        raise PackingError("the gzip header differs")
    return _inflate(stream, limit)


def _inflate(stream: bytes, limit: int) -> bytes:
    engine = zlib.decompressobj(wbits=-15)
    try:
        body = engine.decompress(stream, limit + 1)
    except zlib.error as error:
        raise PackingError("the compressed bytes cannot be read") from error
    if len(body) > limit:
        raise LimitExceededError(f"a stored body unpacks to more than {limit:,} bytes")
    if not engine.eof or len(engine.unused_data) != _TRAILER:
        raise PackingError("the compressed bytes do not end where they should")
    size = len(body).to_bytes(8, "little")[:4]
    if zlib.crc32(body).to_bytes(4, "little") + size != engine.unused_data:
        raise PackingError("the gzip checksum differs")
    return body
