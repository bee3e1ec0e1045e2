"""The skeleton of a tree: its shape as compact columns, for clients that draw all of it."""

import base64
import sys
from array import array
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, select

from weft.errors import InvalidInputError
from weft.store import schema
from weft.store.rows import EDGE_TYPES, STATUSES, Flag, NodeRow
from weft.store.session import Session
from weft.tree.edge import EdgeType
from weft.tree.node import Status

_nodes, _trees, _agents = schema.nodes, schema.trees, schema.agents
_RANGE_LIMIT = 1_000
_EXCLUDED, _BOOKMARKED, _PRUNED, _ANNOTATION, _INTERRUPTED, _UNDONE = (1 << bit for bit in range(6))
_COLUMNS = (
    *("key", "local_id", "parent", "position", "author", "kind"),
    *("flags", "pruned", "hidden", "edge_type", "status"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """Columns of nodes by number, the root's first; those of numbers are base64, little-endian."""

    nodes: int
    revision: int
    """The number of the tree's events: the same number means the same skeleton."""
    agents: list[str]
    ids: str
    """The local ids, divided by spaces."""
    numbers: str
    """32 bits, empty if they are 1, 2, 3 …: the number of each node. Attempts and responses take numbers too."""
    parents: str
    """32 bits: the number of the parent's position, 0 for the root."""
    positions: str
    """32 bits, empty in dialogue mode: the number of the position, that of its first version."""
    authors: str
    """16 bits: an index of `agents`."""
    kinds: str
    """8 bits: text, image, audio, tool_call, tool_result, thinking, mixed."""
    flags: str
    """8 bits: 1 excluded, 2 bookmarked, 4 pruned, 8 annotation, 16 interrupted, 32 undone."""


def read_skeleton(session: Session, tree: int, *, versions: bool, first: int = 1) -> Skeleton:
    """The nodes of a tree from a number on, in one query, without texts; positions where versions share them."""
    statement = select(*(_nodes.c[name] for name in _COLUMNS)).where(
        _nodes.c.tree == tree, _nodes.c.key >= first
    )
    rows = session.execute(statement.order_by(_nodes.c.key)).all()
    events = session.execute(select(_trees.c.events).where(_trees.c.key == tree)).scalar_one()
    writers = sorted({row.author for row in rows})
    known = select(_agents.c.key, _agents.c.ulid).where(session.dialect.among(_agents.c.key, writers))
    agents = {row.key: row.ulid for row in session.execute(known)}
    index = {key: number for number, key in enumerate(writers)}
    return Skeleton(
        nodes=len(rows),
        revision=events,
        agents=[agents[key] for key in writers],
        ids=" ".join([row.local_id for row in rows]),
        numbers="" if not rows or rows[-1].key == len(rows) else _packed("i", [row.key for row in rows]),
        parents=_packed("i", [row.parent or 0 for row in rows]),
        positions=_packed("i", [row.position for row in rows]) if versions else "",
        authors=_packed("H", [index[row.author] for row in rows]),
        kinds=_packed("B", [row.kind for row in rows]),
        flags=_packed("B", [_flags(row) for row in rows]),
    )


def rows_in_range(session: Session, tree: int, first: int, last: int) -> list[NodeRow]:
    """The nodes with these numbers of the skeleton, undone ones left out."""
    if not 1 <= first <= last < first + _RANGE_LIMIT:
        message = f"a range has 1 to {_RANGE_LIMIT:,} nodes, got {first:,} to {last:,}"
        raise InvalidInputError(message, path="last")
    here = select(_nodes).where(_nodes.c.tree == tree, _nodes.c.hidden.is_(None))
    rows = session.execute(here.where(_nodes.c.key.between(first, last)).order_by(_nodes.c.key))
    return [NodeRow._make(row) for row in rows]


def _flags(row: Row[Any]) -> int:
    return (
        (_EXCLUDED if row.flags & Flag.EXCLUDED else 0)
        | (_BOOKMARKED if row.flags & Flag.BOOKMARKED else 0)
        | (_PRUNED if row.pruned is not None else 0)
        | (_ANNOTATION if EDGE_TYPES[row.edge_type] is EdgeType.ANNOTATION else 0)
        | (_INTERRUPTED if STATUSES[row.status] is Status.INTERRUPTED else 0)
        | (_UNDONE if row.hidden is not None else 0)
    )


def _packed(kind: str, values: list[int]) -> str:
    column = array(kind, values)
    if sys.byteorder == "big":
        column.byteswap()
    return base64.b64encode(column.tobytes()).decode()
