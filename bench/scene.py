"""Where benches take place: groves of their own, on both stores."""

import contextlib
import random
import sqlite3
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from tests import postgres

import weft
from weft.grove.tree import TreeHandle
from weft.store.base import Store
from weft.store.lookup import find_tree
from weft.store.rows import NodeRow
from weft.store.tree_queries import node_row

__all__ = ["STORES", "Scene", "place_of", "sample_texts"]

STORES = ("SQLite", "PostgreSQL")
_WORDS = ("loom", "warp", "weft", "shed", "reed", "heddle", "thread", "cloth", "shuttle", "treadle", "beam")


@dataclass(frozen=True, slots=True)
class Scene:
    """The folder and the server that benches may use, and how large they should be."""

    folder: Path
    server: str
    quick: bool

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def say(self, words: str) -> None:
        print(words, file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def address(self, store: str) -> Generator[str]:
        """A place for a grove that nobody has used."""
        if store == "SQLite":
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                yield str(Path(folder) / "grove.db")
        else:
            with postgres.database(self.server) as address:
                yield address

    @contextlib.contextmanager
    def grove(self, store: str) -> Generator[weft.Grove]:
        with self.address(store) as address, weft.open(address) as grove:
            yield grove

    def versions(self) -> tuple[str, str]:
        with psycopg.connect(self.server) as connection:
            found = connection.execute("SHOW server_version").fetchone()
        return sqlite3.sqlite_version, str(found[0]).split()[0] if found else "unknown"


def place_of(store: Store, tree: TreeHandle) -> tuple[int, NodeRow]:
    """A tree's key and its root's row, for growing."""
    with store.read() as session:
        key = find_tree(session, tree.id)
        return key, node_row(session, key, 1)


def sample_texts(count: int, characters: int = 200) -> list[str]:
    """Different texts of one length, the same in every run."""
    source = random.Random(7)
    return [" ".join(source.choices(_WORDS, k=characters // 4))[:characters] for _ in range(count)]
