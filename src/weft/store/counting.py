"""How much hangs from many places at once, each in one query."""

from collections.abc import Sequence

from sqlalchemy import and_, func, select

from weft.store import schema
from weft.store.rows import EDGE_TYPES
from weft.store.session import Session
from weft.store.statements import CONTINUATION, LIVE
from weft.tree.edge import EdgeType

__all__ = ["count_below", "count_continuations", "count_notes"]

_nodes = schema.nodes
_ANNOTATION = EDGE_TYPES.index(EdgeType.ANNOTATION)


def count_notes(session: Session, tree: int, positions: Sequence[int]) -> dict[int, int]:
    """Live annotations on each position; versions of one count once."""
    return _count_hanging(session, tree, positions, _ANNOTATION)


def count_continuations(session: Session, tree: int, positions: Sequence[int]) -> dict[int, int]:
    """Live continuations of each position; versions of one count once."""
    return _count_hanging(session, tree, positions, CONTINUATION)


def _count_hanging(session: Session, tree: int, positions: Sequence[int], edge: int) -> dict[int, int]:
    if not positions:
        return {}
    statement = (
        select(_nodes.c.parent, func.count(_nodes.c.position.distinct()).label("number"))
        .where(
            _nodes.c.tree == tree,
            session.dialect.among(_nodes.c.parent, positions),
            _nodes.c.edge_type == edge,
            LIVE,
        )
        .group_by(_nodes.c.parent)
    )
    return {row.parent: row.number for row in session.execute(statement)}


def count_below(session: Session, tree: int, positions: Sequence[int]) -> dict[int, int]:
    """Live continuations below each position, to the leaves; none of the positions below another."""
    if not positions:
        return {}
    start = select(_nodes.c.tree, _nodes.c.key.label("top"), _nodes.c.position).where(
        _nodes.c.tree == tree, session.dialect.among(_nodes.c.key, positions)
    )
    below = start.cte("below", recursive=True)
    # UNION, so that a place with several live versions is counted once.
    below = below.union(
        select(_nodes.c.tree, below.c.top, _nodes.c.position)
        .select_from(below)
        .join(_nodes, and_(_nodes.c.tree == below.c.tree, _nodes.c.parent == below.c.position))
        .where(_nodes.c.edge_type == CONTINUATION, LIVE)
    )
    counted = select(below.c.top, (func.count() - 1).label("number")).group_by(below.c.top)
    return {row.top: row.number for row in session.execute(counted)}
