"""Opening a tree: all that a first screen shows, in one read."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, func, select

from weft.runtime.views.reader import Opened, Reader
from weft.store import schema
from weft.store.drafts import draft_at
from weft.store.rows import EDGE_TYPES, NodeRow
from weft.store.tree_statements import LIVE
from weft.tree.edge import EdgeType
from weft.tree.node import Node
from weft.tree.tree import Cursor, Tree

_nodes = schema.nodes
_CONTINUATION = EDGE_TYPES.index(EdgeType.CONTINUATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlace:
    """Where a node of the path is among its siblings, and what hangs from it."""

    node: str
    depth: int
    sibling: int
    """Its number among its siblings, from 1."""
    siblings: int
    children: int
    annotations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedTree:
    """A tree as it is first shown."""

    tree: Tree
    cursor: Cursor
    nodes: tuple[Node, ...]
    """The end of the path, with texts; the first is not the root if the path is longer."""
    places: tuple[NodePlace, ...]
    """Of each of these nodes."""
    draft: str
    """What you are typing at the last of them."""


@dataclass(frozen=True, slots=True)
class TreeOpener(Reader):
    """Reads what a first screen shows."""

    def open(self, tree: str, node: str | None = None, *, tail: int = 60) -> OpenedTree:
        """The path to a node, by default to the cursor, with its surroundings counted."""
        value, cursor = self.tree(tree), self.cursor(tree)
        with self._tree(value.id) as opened:
            rows = self._path_rows(opened, node, None, tail)
            typed = self._typed(opened) if not opened.is_dialogue else ""
            if opened.is_dialogue and rows:
                typed = draft_at(opened.session, opened.key, self.actor.agent, rows[-1].key)
            return OpenedTree(
                tree=value,
                cursor=cursor,
                nodes=tuple(self._nodes(opened, rows)),
                places=tuple(_places(opened, rows)),
                draft=typed,
            )


def _places(opened: Opened, rows: Sequence[NodeRow]) -> list[NodePlace]:
    session, key = opened.session, opened.key
    positions = [row.position for row in rows]
    here = _nodes.c.tree == key, LIVE
    below = session.execute(
        select(_nodes.c.parent, _nodes.c.edge_type, func.count(_nodes.c.position.distinct()).label("many"))
        .where(*here, session.dialect.among(_nodes.c.parent, positions))
        .group_by(_nodes.c.parent, _nodes.c.edge_type)
    )
    counts: dict[tuple[int, int], int] = {(row.parent, row.edge_type): row.many for row in below}
    mine, beside = _nodes.alias("mine"), _nodes.alias("beside")
    same = and_(
        beside.c.tree == key,
        beside.c.parent == mine.c.parent,
        beside.c.edge_type == mine.c.edge_type,
        beside.c.pruned.is_(None),
        beside.c.hidden.is_(None),
    )
    before = func.count(beside.c.position.distinct()).filter(beside.c.position <= mine.c.position)
    among = session.execute(
        select(mine.c.key, before.label("number"), func.count(beside.c.position.distinct()).label("all"))
        .select_from(mine)
        .join(beside, same)
        .where(mine.c.tree == key, session.dialect.among(mine.c.key, [row.key for row in rows]))
        .group_by(mine.c.key)
    )
    siblings = {row.key: (row.number, row.all) for row in among}
    annotation = EDGE_TYPES.index(EdgeType.ANNOTATION)
    return [
        NodePlace(
            node=row.ulid,
            depth=row.depth,
            sibling=max(1, siblings.get(row.key, (1, 1))[0]),
            siblings=max(1, siblings.get(row.key, (1, 1))[1]),
            children=counts.get((row.position, _CONTINUATION), 0),
            annotations=counts.get((row.position, annotation), 0),
        )
        for row in rows
    ]
