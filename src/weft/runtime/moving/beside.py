"""Reading along: a tree's nodes with what other tables have about them, in as little memory as it takes."""

from collections.abc import Generator, Iterator
from typing import Any

from sqlalchemy import and_, select

from weft.runtime.values import load_content
from weft.store import schema
from weft.store.rows import KINDS
from weft.store.session import Session
from weft.tree.content import blob_refs

__all__ = ["BATCH", "Beside", "Names", "blobs_of"]

BATCH = 500
"""Rows that are read at once."""
_ULID_LENGTH = 26
_WITH_BLOBS = tuple(KINDS.index(kind) for kind in ("image", "audio", "mixed"))


class Names:
    """Ids and hashes of a tree's nodes by key, in as few bytes as they have."""

    def __init__(self) -> None:
        self._places: dict[int, int] | None = None
        self._ulids = bytearray()
        self._hashes = bytearray()
        self._count = 0

    def add(self, key: int, ulid: str, digest: bytes) -> None:
        if self._places is None and key != self._count + 1:
            # Keys are given to responses and attempts too; until one was, no index is needed.
            self._places = {index + 1: index for index in range(self._count)}
        if self._places is not None:
            self._places[key] = self._count
        self._ulids += ulid.encode()
        self._hashes += digest
        self._count += 1

    def ulid(self, key: int) -> str:
        start = self._place(key) * _ULID_LENGTH
        return self._ulids[start : start + _ULID_LENGTH].decode()

    def hash(self, key: int) -> str:
        start = self._place(key) * 32
        return self._hashes[start : start + 32].hex()

    def _place(self, key: int) -> int:
        return key - 1 if self._places is None else self._places[key]


class Beside:
    """Rows of a second table that run along the nodes, in the same order."""

    def __init__(self, rows: Iterator[Any], name: str) -> None:
        self._rows = rows
        self._name = name
        self._next: Any = next(rows, None)

    def of(self, key: int) -> list[Any]:
        found: list[Any] = []
        while self._next is not None and getattr(self._next, self._name) <= key:
            if getattr(self._next, self._name) == key:
                found.append(self._next)
            self._next = next(self._rows, None)
        return found


def blobs_of(session: Session, tree: int | None = None) -> Generator[str]:
    """The blobs that nodes point to, of one tree or of all."""
    nodes, texts = schema.nodes, schema.texts
    statement = (
        select(nodes.c.kind, texts.c.content)
        .join(texts, and_(texts.c.tree == nodes.c.tree, texts.c.node == nodes.c.key))
        .where(nodes.c.kind.in_(_WITH_BLOBS))
        .execution_options(yield_per=BATCH)
    )
    if tree is not None:
        statement = statement.where(nodes.c.tree == tree)
    for row in session.execute(statement):
        yield from blob_refs(load_content(row.kind, row.content))
