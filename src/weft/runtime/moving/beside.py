"""Reading along: a tree's nodes with what other tables have about them, in as little memory as it takes."""

from collections.abc import Iterator
from typing import Any

__all__ = ["BATCH", "Beside", "Names"]

BATCH = 500
"""Rows that are read at once."""
_ULID_LENGTH = 26


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
