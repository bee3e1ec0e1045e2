"""Bytes kept by their hash, once a tree: raw responses, items, and what requests were made of.

They are kept as gzip that any tool can open, with every byte of it accounted for. Gzip checks what
comes out, not what is stored: header fields and the bits that pad a block may change unseen. So the
header is fixed, and carries a digest of what follows it.
"""

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import select

from weft.errors import LimitExceededError, NotFoundError, StorageError
from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import Transaction

_SOME = 500
_bodies = schema.bodies
_requests = schema.requests
_manifests = schema.manifests


def add_body(transaction: Transaction, tree: int, digest: bytes, body: bytes) -> None:
    """Keep bytes by their hash, once a tree."""
    transaction.add_missing(_bodies, ("tree", "sha256"), {"tree": tree, "sha256": digest, "gzip": pack(body)})


def load_body(session: Session, tree: int, digest: bytes) -> bytes:
    """The bytes with that hash; never others."""
    packed = session.execute(
        select(_bodies.c.gzip).where(_bodies.c.tree == tree, _bodies.c.sha256 == digest)
    ).scalar_one_or_none()
    if packed is None:
        raise NotFoundError(f"the body {digest.hex()[:12]}… is not there any more")
    return _checked(packed, digest)


def _checked(packed: bytes, digest: bytes) -> bytes:
    try:
        body = unpack(packed)
    except PackingError as error:
        raise StorageError(f"the body {digest.hex()[:12]}… is damaged: {error}") from error
    if hashlib.sha256(body).digest() != digest:
        raise StorageError(f"the body {digest.hex()[:12]}… is damaged", hint="restore it from a backup")
    return body


def save_segments(transaction: Transaction, tree: int, attempt: int, segments: Sequence[bytes]) -> bytes:
    """Keep what was sent, as segments that requests share: joined, they are the body, whose SHA-256 it is."""
    whole = hashlib.sha256()
    digests = [hashlib.sha256(segment).digest() for segment in segments]
    _add_bodies(transaction, tree, dict(zip(digests, segments, strict=True)))
    for ordinal, (digest, segment) in enumerate(zip(digests, segments, strict=True)):
        whole.update(segment)
        transaction.add(_requests, {"tree": tree, "attempt": attempt, "ordinal": ordinal, "segment": digest})
    return whole.digest()


def _add_bodies(transaction: Transaction, tree: int, bodies: Mapping[bytes, bytes]) -> None:
    """Of a long conversation nearly all is there: what is, is not packed again."""
    missing = dict(bodies)
    digests = list(bodies)
    for start in range(0, len(digests), _SOME):
        some = digests[start : start + _SOME]
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
    return None if row is None else _checked(row.gzip, row.sha256)


BODY_LIMIT = 1024 * 1024 * 1024
"""More than this never comes out, whatever a stored value claims."""
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
