"""Bytes stored by their hash, once a tree: raw responses, items, and the segments of requests.

They are stored as gzip that any tool can open, with every byte of it accounted for. Gzip checks what
comes out, not what is stored: header fields and the bits that pad a block may change unseen. So the
header is fixed, and carries a digest of what follows it.
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import select

from weft.errors import LimitExceededError, NotFoundError, StorageError
from weft.store import schema
from weft.store.session import Session, in_batches
from weft.store.transaction import Transaction

_bodies = schema.bodies


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
    return unpack_checked(packed, digest, _named(digest))


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


def unpack_checked(packed: bytes, digest: bytes, name: str) -> bytes:
    """The bytes with that hash; `name` names them in an error."""
    body = _unpacked(packed, name)
    if hashlib.sha256(body).digest() != digest:
        raise StorageError(f"{name} is damaged", hint="restore it from a backup")
    return body


def add_snapshots(transaction: Transaction, tree: int, snapshots: Mapping[str, str]) -> None:
    """Keep texts by their hash."""
    texts = {bytes.fromhex(digest): _encoded(text) for digest, text in snapshots.items()}
    add_bodies(transaction, tree, texts)


def snapshots_of(session: Session, tree: int, digests: Sequence[str]) -> dict[str, str]:
    bodies = bodies_of(session, tree, [bytes.fromhex(digest) for digest in digests])
    return {digest.hex(): body.decode("utf-8", "surrogatepass") for digest, body in bodies.items()}


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def add_bodies(transaction: Transaction, tree: int, bodies: Mapping[bytes, bytes]) -> None:
    """Of a long conversation nearly all is there: what is, is not packed again."""
    missing = dict(bodies)
    for some in in_batches(bodies):
        there = select(_bodies.c.sha256).where(_bodies.c.tree == tree, _bodies.c.sha256.in_(some))
        for digest in transaction.execute(there).scalars():
            missing.pop(bytes(digest), None)
    for digest, body in missing.items():
        add_body(transaction, tree, digest, body)


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
