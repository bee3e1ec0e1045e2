"""Bytes a node takes on disk, next to a naive table with the same texts."""

import contextlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
from sqlalchemy import select

import weft
from bench.crowd import in_threads
from bench.report import Section, Table, number
from bench.scene import STORES, Scene, place_of, sample_texts
from weft.grove.tree import TreeHandle
from weft.store import schema
from weft.store.rows import ROLES, NodeRow
from weft.tree.json_names import from_microseconds, iso

__all__ = ["run"]

_CHARACTERS = 200
_THREADS = 16
_CORE = ("nodes", "texts")
_NAIVE = (
    "CREATE TABLE naive (id TEXT PRIMARY KEY, tree TEXT NOT NULL, parent TEXT, content TEXT NOT NULL, "
    "metadata TEXT NOT NULL)"
)
NaiveRow: TypeAlias = tuple[str, str, str, str, str]
_NAIVE_INDEXES = ("CREATE INDEX naive_parent ON naive (parent)", "CREATE INDEX naive_tree ON naive (tree)")


def run(scene: Scene) -> Section:
    count = scene.size(3_200, 640)
    section = Section(
        "Bytes on disk",
        f"{count:,} nodes of {_CHARACTERS} characters, said one by one in {_THREADS} trees: what they added to "
        "the tables and their indexes. The naive layout is one table: ULIDs as text keys (id, tree, parent, all "
        "indexed), the content, and the rest of what a node says about itself as JSON. It has no events, so "
        "nothing can be undone or verified, no cursors and no counters.",
    )
    rows: list[tuple[str, ...]] = []
    for store in STORES:
        scene.say(f"  {store}")
        ours, naive, tables = _measure(scene, store, count)
        core = sum(size for name, size in tables.items() if name in _CORE)
        rows.append((f"{store}: nodes and texts", number(core), number(naive), number(core / naive)))
        rows.append((f"{store}: everything", number(ours), number(naive), number(ours / naive)))
        listed = ", ".join(f"{name} {number(size)}" for name, size in tables.items() if size >= 1)
        section.notes.append(f"{store}, a node: {listed}.")
    header = ("bytes a node", "ours", "naive", "ours ÷ naive")
    section.tables.append(Table("Size", header, rows))
    return section


def _measure(scene: Scene, store: str, count: int) -> tuple[float, float, dict[str, float]]:
    """Bytes a node in all, in the naive table, and by table: what the nodes added to an empty grove."""
    sizes = _sqlite_sizes if store == "SQLite" else _postgres_sizes
    with scene.address(store) as address, weft.open(address) as grove:
        trees = [grove.plant(f"Tree {index}") for index in range(_THREADS)]
        before = sizes(address)
        texts = sample_texts(count)
        in_threads([partial(_say, tree, texts[index::_THREADS]) for index, tree in enumerate(trees)])
        rows = [row for tree in trees for row in _naive_rows(grove, tree)]
        after = sizes(address)
        naive = (_sqlite_naive if store == "SQLite" else _postgres_naive)(address, rows)
    each = {name: (size - before[name]) / count for name, size in after.items()}
    return sum(each.values()), naive / count, dict(sorted(each.items(), key=lambda item: -item[1]))


def _say(tree: TreeHandle, texts: list[str]) -> None:
    for text in texts:
        tree.say(text)


def _naive_rows(grove: weft.Grove, tree: TreeHandle) -> list[NaiveRow]:
    nodes, texts = schema.nodes, schema.texts
    store = grove.read.store
    key, root = place_of(store, tree)
    author = grove.me.id
    with store.read() as session:
        rows = [
            NodeRow._make(row)
            for row in session.execute(
                select(nodes).where(nodes.c.tree == key, nodes.c.key != root.key).order_by(nodes.c.key)
            )
        ]
        contents: dict[int, str] = {
            row.node: row.content
            for row in session.execute(select(texts.c.node, texts.c.content).where(texts.c.tree == key))
        }
    names = {root.key: root.ulid} | {row.key: row.ulid for row in rows}
    return [
        (
            row.ulid,
            tree.id,
            names[row.parent or root.key],
            contents[row.key],
            json.dumps(_metadata(row, author)),
        )
        for row in rows
    ]


def _metadata(row: NodeRow, author: str) -> Mapping[str, Any]:
    return {
        "localId": row.local_id,
        "role": ROLES[row.role],
        "authorId": author,
        "authorType": "human",
        "edgeType": "continuation",
        "depth": row.depth,
        "status": "complete",
        "editedFrom": None,
        "excluded": False,
        "pruned": False,
        "bookmarked": False,
        "contentHash": row.hash.hex(),
        "createdAt": iso(from_microseconds(row.created_at)),
    }


def _sqlite_sizes(path: str) -> dict[str, float]:
    """By table; of the whole file where SQLite was built without the dbstat module."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        try:
            found = connection.execute(
                "SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_master USING (name) GROUP BY tbl_name"
            ).fetchall()
        except sqlite3.OperationalError:
            found = [("the file", Path(path).stat().st_size)]
    return dict(found)


def _sqlite_naive(path: str, rows: Sequence[NaiveRow]) -> float:
    naive = Path(path).with_name("naive.db")
    with contextlib.closing(sqlite3.connect(naive, isolation_level=None)) as connection:
        for statement in (_NAIVE, *_NAIVE_INDEXES, "BEGIN"):
            connection.execute(statement)
        connection.executemany("INSERT INTO naive VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
    return naive.stat().st_size


def _postgres_sizes(address: str) -> dict[str, float]:
    with psycopg.connect(address) as connection:
        found = connection.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchall()
    return {str(name): float(size) for name, size in found}


def _postgres_naive(address: str, rows: Sequence[NaiveRow]) -> float:
    with psycopg.connect(address) as connection:
        for statement in (_NAIVE, *_NAIVE_INDEXES):
            connection.execute(statement.encode())
        connection.cursor().executemany("INSERT INTO naive VALUES (%s, %s, %s, %s, %s)", rows)
    return _postgres_sizes(address)["naive"]
