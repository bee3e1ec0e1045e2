"""Bytes kept by their hash, once a tree: raw responses, items, and what requests were made of."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import select

from weft.errors import NotFoundError, StorageError
from weft.store import schema
from weft.store.packing import PackingError, pack, unpack
from weft.store.session import Session
from weft.store.transaction import Transaction

__all__ = [
    "add_body",
    "load_body",
    "manifest_of",
    "request_segments",
    "save_manifest",
    "save_segments",
]

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
    told = hashlib.sha256(manifest).digest()
    transaction.add(_manifests, {"tree": tree, "attempt": attempt, "sha256": told, "gzip": pack(manifest)})
    return told


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
