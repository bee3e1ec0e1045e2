"""Everything that can be seen of a grove, as plain values to compare.

Rows of every table, without those that are hidden and what every operation moves (chains,
times of change); and through the eyes of each agent what it sees of a tree.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Integer, Table, or_, select

import weft
from weft.store import schema

__all__ = ["snapshot"]

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""In place of times that every operation moves."""
_MOVING = {
    "grove": {"events", "head", "updated_at"},
    "trees": {"events", "head", "updated_at", "next_key"},
    "cursors": {"updated_at"},
    "buffers": {"updated_at"},
    "nodes": {"near_attachments"},
}
"""Columns that may differ though nothing that can be seen does. Pointers to items may lead where none hang."""
_UNSEEN = {
    *("events", "typings", "texts", "bodies", "sources", "attachments", "responses", "node_responses"),
    "jobs",
    "drafts",
}
"""The history, and what hangs on nodes: that is seen with them. And summaries that are due and drafts: no step takes
them back."""
_HAS = 8
"""The flag that says where to look for items; they may all have been taken off."""


def snapshot(grove: weft.Grove, tree: str, *eyes: str) -> dict[str, Any]:
    """All that is there, and what these agents see of a tree."""
    seen: dict[str, Any] = {}
    with grove.read.store.read() as session:
        for table in schema.metadata.sorted_tables:
            if table.name not in _UNSEEN:
                seen[table.name] = sorted(map(repr, _rows(session, table)))
    return seen | {name: _look(grove.acting_as(name), tree) for name in eyes}


def _rows(session: Any, table: Table) -> list[dict[str, Any]]:
    """Rows as they can be seen."""
    visible = select(table)
    for name in ("hidden", "removed"):
        if name in table.c:
            visible = visible.where(table.c[name].is_(None))
    for name, whole in (("tree", schema.trees), ("document", schema.documents), ("project", schema.projects)):
        if name in table.c and isinstance(table.c[name].type, Integer):
            away = select(whole.c.key).where(whole.c.hidden.is_not(None))
            visible = visible.where(or_(table.c[name].is_(None), table.c[name].not_in(away)))
    left_out = _MOVING.get(table.name, set())
    rows = [
        {name: value for name, value in row._mapping.items() if name not in left_out}
        for row in session.execute(visible)
    ]
    if table is schema.nodes:
        for row in rows:
            row["flags"] &= ~_HAS
    return rows


def _look(grove: weft.Grove, tree: str) -> dict[str, Any]:
    """What one agent sees of a tree: values with their sources, items and marks."""
    read = grove.read
    drawn = read.outline(tree)
    return {
        "tree": replace(read.tree(tree), updated_at=_NEVER),
        "cursor": replace(read.cursor(tree), updated_at=_NEVER),
        "path": read.path(tree),
        "buffer": read.working_buffer(tree),
        "outline": drawn,
        "versions": [read.versions(tree, line.node.id) for line in drawn[1:3]],
        "leaves": read.leaves(tree),
        "groups": read.groups(tree),
        "presence": sorted((agent.name, node.id) for agent, node, _ in read.presence(tree)),
    }
