"""The peer of the writers: the same rows by plain SQL, one commit for each node."""

import contextlib
import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import psycopg
from sqlalchemy import Column, Table, select

from weft.store import schema
from weft.store.base import Store
from weft.store.rows import NodeRow
from weft.store.session import grouped

__all__ = ["Change", "Writer", "changes_of", "moved", "postgres_writer", "sqlite_writer"]

Row: TypeAlias = Mapping[str, Any]


class Change(NamedTuple):
    """All that one acknowledged node left in the tables."""

    node: Row
    text: Row
    event: Row
    jobs: tuple[Row, ...]
    """What is due because of it: its summary, if it has enough to say."""


Writer: TypeAlias = Callable[[Change], None]


def changes_of(store: Store, tree: int, count: int, skip: int = 0) -> list[Change]:
    """The nodes that were said in a tree, after its root and some more."""
    with store.read() as session:

        def rows(table: Table, order: str) -> list[Row]:
            statement = select(table).where(table.c.tree == tree).order_by(table.c[order])
            return [dict(row) for row in session.execute(statement.offset(1 + skip).limit(count)).mappings()]

        nodes, texts = rows(schema.nodes, "key"), rows(schema.texts, "node")
        events = rows(schema.events, "ordinal")
        due = select(*_JOB_COLUMNS).where(schema.jobs.c.tree == tree)
        jobs = grouped((dict(row) for row in session.execute(due).mappings()), lambda row: row["target"])
    return [
        Change(node, text, event, tuple(jobs.get(node["key"], ())))
        for node, text, event in zip(nodes, texts, events, strict=True)
    ]


def moved(changes: Sequence[Change], tree: int) -> list[Change]:
    """The same for another tree."""
    return [
        Change(
            {**change.node, "tree": tree},
            {**change.text, "tree": tree},
            {**change.event, "tree": tree},
            tuple({**row, "tree": tree} for row in change.jobs),
        )
        for change in changes
    ]


@contextlib.contextmanager
def sqlite_writer(path: str) -> Generator[Writer]:
    """One connection, as durable as the store's."""
    connection = sqlite3.connect(
        path, isolation_level=None, timeout=60, cached_statements=256, check_same_thread=False
    )
    for pragma in ("synchronous = FULL", "foreign_keys = ON", "cache_size = -65536"):
        connection.execute(f"PRAGMA {pragma}")
    statements = [(sql.replace("%s", "?"), values) for sql, values in _statements()]
    queue = _JOB.replace("%s", "?")

    def write(change: Change) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for sql, values in statements:
            connection.execute(sql, values(change))
        for job in change.jobs:
            connection.execute(queue, tuple(job.values()))
        connection.execute("COMMIT")

    with contextlib.closing(connection):
        yield write


@contextlib.contextmanager
def postgres_writer(address: str) -> Generator[Writer]:
    connection = psycopg.connect(address, prepare_threshold=0)
    statements = _statements()

    def write(change: Change) -> None:
        for sql, values in statements:
            connection.execute(sql.encode(), values(change))
        for job in change.jobs:
            connection.execute(_JOB.encode(), tuple(job.values()))
        connection.commit()

    with contextlib.closing(connection):
        yield write


Values: TypeAlias = Callable[[Change], tuple[Any, ...]]


def _statements() -> list[tuple[str, Values]]:
    """What a node needs: its rows, its event, the cursor, the tree's counters."""
    return [
        (_insert(schema.nodes), lambda change: tuple(change.node.values())),
        (_insert(schema.texts), lambda change: tuple(change.text.values())),
        (_insert(schema.events), lambda change: tuple(change.event.values())),
        (_CURSOR, _cursor),
        (_COUNTERS, _counters),
    ]


def _insert(table: Table, columns: Sequence[Column[Any]] = ()) -> str:
    wanted = [column.name for column in columns or table.columns]
    names = ", ".join(f'"{name}"' for name in wanted)
    return f'INSERT INTO "{table.name}" ({names}) VALUES ({", ".join(["%s"] * len(wanted))})'


_JOB_COLUMNS = [column for column in schema.jobs.columns if not column.primary_key]
_JOB = _insert(schema.jobs, _JOB_COLUMNS)

_CURSOR = (
    "INSERT INTO cursors (tree, agent, node, updated_at) VALUES (%s, %s, %s, %s) "
    "ON CONFLICT (tree, agent) DO UPDATE SET node = excluded.node, updated_at = excluded.updated_at"
)
_COUNTERS = (
    "UPDATE trees SET next_key = %s, nodes = %s, depth = %s, events = %s, head = %s, updated_at = %s "
    "WHERE key = %s"
)


def _cursor(change: Change) -> tuple[Any, ...]:
    node = NodeRow(**change.node)
    return node.tree, node.author, node.key, node.created_at


def _counters(change: Change) -> tuple[Any, ...]:
    node, event = NodeRow(**change.node), change.event
    return (
        node.key + 1,
        node.key,
        node.depth,
        event["ordinal"],
        event["hash"],
        node.created_at,
        node.tree,
    )
