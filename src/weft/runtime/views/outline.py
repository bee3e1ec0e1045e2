"""The outline of a tree: its nodes in drawing order, whole levels from the top, and the tree's ends and forks."""

from typing import NamedTuple

from sqlalchemy import and_, func, select, true

from weft.store import schema
from weft.store.rows import NodeRow
from weft.store.session import Session
from weft.store.tree_queries import count_below, node_row
from weft.store.tree_statements import CONTINUATION, LIVE
from weft.tree.node import Node

_nodes = schema.nodes


class OutlineRow(NamedTuple):
    """A node in the outline: its indent, how many branches and annotations it has, and how much is not drawn."""

    node: Node
    indent: int
    branches: int
    annotations: int
    hidden_below: int
    versions: int = 1
    """How many versions there are at its place."""


class Outline(NamedTuple):
    """The levels of a tree below a position."""

    rows: dict[int, NodeRow]
    """By position, from the top down; the first live version of each."""
    children: dict[int, list[int]]
    hidden: dict[int, int]
    """How many nodes below a position are not among the rows."""
    versions: dict[int, int]
    """How many versions a position has, where there are several."""

    def indented(self, top: int) -> list[tuple[int, int]]:
        """Positions in drawing order with their indent: only a fork indents what is below it."""
        drawn: list[tuple[int, int]] = []
        pending = [(top, 0)]
        while pending:
            position, indent = pending.pop()
            drawn.append((position, indent))
            below = self.children.get(position, [])
            step = 1 if len(below) > 1 else 0
            pending.extend((child, indent + step) for child in reversed(below))
        return drawn


def read_outline(session: Session, tree: int, top: int, limit: int, *, everything: bool = False) -> Outline:
    """Whole levels from a position down, until there are `limit` nodes: five queries, however deep the tree is.

    With `everything`, pruned and undone nodes too.
    """
    shown = true() if everything else LIVE
    start = select(_nodes.c.tree, _nodes.c.position, _nodes.c.depth)
    below = start.where(_nodes.c.tree == tree, _nodes.c.key == top).cte("below", recursive=True)
    # Both databases go down level by level, and no further than the limit.
    below = below.union(
        start.select_from(below)
        .join(_nodes, and_(_nodes.c.tree == below.c.tree, _nodes.c.parent == below.c.position))
        .where(_nodes.c.edge_type == CONTINUATION, shown)
    )
    depths = list(session.execute(select(below.c.depth).limit(limit)).scalars())
    first = node_row(session, tree, top)
    deepest = max(depths, default=first.depth)
    within = select(below.c.position).where(below.c.depth < deepest)
    records = session.execute(
        select(_nodes)
        .where(_nodes.c.tree == tree, _nodes.c.parent.in_(within), _nodes.c.edge_type == CONTINUATION, shown)
        .order_by(_nodes.c.depth, _nodes.c.parent, _nodes.c.key)
    )
    at_top = select(func.count()).where(_nodes.c.tree == tree, _nodes.c.position == top, shown)
    rows, children = {top: first}, dict[int, list[int]]()
    versions = {top: session.execute(at_top).scalar_one()}
    for record in records:
        row = NodeRow._make(record)
        if row.position not in rows:
            rows[row.position] = row
            children.setdefault(row.parent or 0, []).append(row.position)
        else:
            versions[row.position] = versions.get(row.position, 1) + 1
            if row.live and not rows[row.position].live:
                rows[row.position] = row
    edge = [row.position for row in rows.values() if row.depth == deepest] if len(depths) == limit else []
    return Outline(rows, children, count_below(session, tree, edge), versions)


def leaf_positions(session: Session, tree: int) -> list[int]:
    """Live positions that nothing continues."""
    child = _nodes.alias("child")
    continued = select(child.c.key).where(
        child.c.tree == tree,
        child.c.parent == _nodes.c.position,
        child.c.edge_type == CONTINUATION,
        child.c.pruned.is_(None),
        child.c.hidden.is_(None),
    )
    here = _nodes.c.tree == tree, _nodes.c.edge_type == CONTINUATION, LIVE
    return list(
        session.execute(select(_nodes.c.position).where(*here, ~continued.exists()).distinct()).scalars()
    )


def branch_positions(session: Session, tree: int) -> list[int]:
    """Positions with two live continuations or more."""
    here = _nodes.c.tree == tree, _nodes.c.edge_type == CONTINUATION, _nodes.c.parent.is_not(None), LIVE
    several = func.count(_nodes.c.position.distinct()) > 1
    forks = select(_nodes.c.parent).where(*here).group_by(_nodes.c.parent).having(several)
    return list(session.execute(forks).scalars())
