"""What an edit in the middle of a text costs, with little and with much below it."""

import contextlib
from collections.abc import Generator
from typing import Any

from sqlalchemy import Engine, event
from tests.growing import grow

import weft
from bench.report import Bar, Section, Table, number
from bench.scene import STORES, Scene, place_of
from bench.timing import medians
from weft.grove.node import NodeHandle
from weft.store.base import Store
from weft.store.tree_queries import node_row

__all__ = ["run"]

_FEW = 10
_LEAST = 4
"""Node, text, event and the tree's counters: a count below this has missed something."""


def run(scene: Scene) -> Section:
    many = scene.size(10_000, 1_000)
    section = Section(
        "An edit in a buffer",
        f"The second node of a text is edited in place, with {_FEW} and with {many:,} nodes below it. Rows are "
        "what the database reports as inserted or changed. A layout that copies what lies below writes as many "
        "rows as there are nodes.",
    )
    rows: list[tuple[str, ...]] = []
    for store in STORES:
        scene.say(f"  {store}")
        # With nobody in the background whose rows would be counted, too.
        with scene.address(store) as address, weft.open(address, background=False) as grove:
            small, large = _document(grove, _FEW), _document(grove, many)
            counts = [_rows_written(grove, node) for node in (small, large)]
            few, lots = medians(
                [lambda node=small: node.edit("said anew"), lambda node=large: node.edit("said anew")],
                budget=scene.size(2, 1),
                most=30,
            )
        equal = counts[0] == counts[1]
        verdict = "met" if equal else f"not met: {counts[1] - counts[0]:+} rows"
        bar = section.hold(
            Bar(
                f"{store}: rows written by an edit, {_FEW} and {many:,} nodes below",
                f"{counts[0]} and {counts[1]}",
                "equal",
                equal,
                verdict,
            )
        )
        rows.append((f"{store}: rows written", *map(str, counts), bar.bar, bar.verdict))
        rows.append((f"{store}: ms", number((few or 0) * 1000), number((lots or 0) * 1000), "—", "—"))
    section.tables.append(
        Table("One edit", ("what", f"{_FEW} below", f"{many:,} below", "bar", "verdict"), rows)
    )
    return section


def _document(grove: weft.Grove, below: int) -> NodeHandle:
    tree = grove.plant(f"Text with {below}", "Once", mode="buffer")
    node = tree.say(" upon")
    store = grove.read.store
    key, _ = place_of(store, tree)
    with store.read() as session:
        row = node_row(session, key, 2)
    grow(store, key, row, below)
    return node


def _rows_written(grove: weft.Grove, node: NodeHandle) -> int:
    # The first edit in a grove also fills the writer's caches; those are reads, but let it not matter.
    with _counting(grove.read.store) as counts:
        node.edit("below")
    written = sum(counts)
    if written < _LEAST:
        raise RuntimeError(f"an edit of {grove.name} wrote {written} rows: the count misses some")
    return written


@contextlib.contextmanager
def _counting(store: Store) -> Generator[list[int]]:
    """Rows that statements of this process insert or change, whichever way they are sent."""
    counts: list[int] = []
    with store.read() as session:
        dialect: Any = type(session.dialect)
    send = dialect.send

    def sent(self: Any, driver: Any, sql: str, rows: Any) -> None:
        counts.append(len(rows))
        send(self, driver, sql, rows)

    def note(_connection: Any, cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.lstrip()[:6].upper() in {"INSERT", "UPDATE", "DELETE"}:
            counts.append(max(0, cursor.rowcount))

    event.listen(Engine, "after_cursor_execute", note)
    dialect.send = sent
    try:
        yield counts
    finally:
        dialect.send = send
        event.remove(Engine, "after_cursor_execute", note)
