"""What a place comes from, over parents and further sources, and whose words a text is made of.

Each question is one recursive statement, whatever the depth; the recursion carries the tree
along for the reason given in `statements`.
"""

import json
from collections.abc import Iterable, Sequence

from sqlalchemy import and_, func, select

from weft.store import schema
from weft.store.rows import Flag, NodeRow
from weft.store.session import Session

__all__ = ["comes_from", "origins_of"]

_nodes = schema.nodes


def comes_from(session: Session, tree: int, positions: Iterable[int], goal: int) -> bool:
    """Whether one of the positions is the goal, or comes from it over any chain of sources.

    A position comes from its parent's and from those of every source of every version at it:
    which version is seen may change, so each of them counts.
    """
    start = select(_nodes.c.tree, _nodes.c.position).where(
        _nodes.c.tree == tree, session.dialect.among(_nodes.c.key, list(positions))
    )
    above = start.cte("above", recursive=True)
    first, later, source = _nodes.alias("first"), _nodes.alias("later"), _nodes.alias("source")
    written = schema.sources
    # Where several sources were written the parent is among them; else there is the parent only.
    step = (
        select(source.c.tree, source.c.position)
        .select_from(above)
        .join(first, and_(first.c.tree == above.c.tree, first.c.key == above.c.position))
        .outerjoin(
            later,
            and_(
                later.c.tree == above.c.tree,
                later.c.position == above.c.position,
                later.c.key != later.c.position,
            ),
        )
        .outerjoin(
            written,
            and_(written.c.tree == above.c.tree, written.c.target.in_([first.c.key, later.c.key])),
        )
        .join(
            source,
            and_(
                source.c.tree == above.c.tree,
                source.c.key == func.coalesce(written.c.source, first.c.parent),
            ),
        )
    )
    # Not UNION ALL: places that several ways lead to are looked at once.
    above = above.union(step)
    found = session.execute(select(above.c.position).where(above.c.position == goal).limit(1))
    return found.first() is not None


def origins_of(session: Session, tree: int, key: int) -> list[tuple[NodeRow, tuple[int, ...]]]:
    """A node and all whose text it was made from, oldest first, each with the keys it came from.

    An edit comes from one node, a joined node from two, in the order of its text. Two queries
    for each level of joining what had been joined before.
    """
    found: dict[int, tuple[NodeRow, tuple[int, ...]]] = {}
    wanted = {key}
    while wanted:
        rows = [row for row in _lineages(session, tree, sorted(wanted)) if row.key not in found]
        halves = _second_halves(session, tree, [row for row in rows if row.flags & Flag.JOINED])
        for row in rows:
            first = () if row.edited_from is None else (row.edited_from,)
            found[row.key] = row, (*first, *halves.get(row.key, ()))
        wanted = {origin for row in rows for origin in found[row.key][1]} - found.keys()
    return [found[each] for each in sorted(found)]


def _lineages(session: Session, tree: int, keys: Sequence[int]) -> list[NodeRow]:
    """Nodes and what each was edited from."""
    start = select(_nodes).where(_nodes.c.tree == tree, session.dialect.among(_nodes.c.key, keys))
    line = start.cte("line", recursive=True)
    line = line.union(
        select(_nodes)
        .select_from(line)
        .join(_nodes, and_(_nodes.c.tree == line.c.tree, _nodes.c.key == line.c.edited_from))
    )
    return [NodeRow._make(row) for row in session.execute(select(line))]


def _second_halves(session: Session, tree: int, joined: Sequence[NodeRow]) -> dict[int, tuple[int, ...]]:
    """What each joined node was continued with, as the events say that made them."""
    if not joined:
        return {}
    events = schema.events
    moments = [row.created_at for row in joined]
    made = session.execute(
        select(events.c.payload).where(
            events.c.tree == tree,
            events.c.kind == "join",
            events.c.created_at.between(min(moments), max(moments)),
        )
    ).scalars()
    seconds: dict[str, str] = {}
    for payload in made:
        told = json.loads(payload)
        seconds[told["nodes"][-1]] = told["of"][1]
    wanted = sorted({seconds[row.ulid] for row in joined if row.ulid in seconds})
    names = session.execute(
        select(_nodes.c.ulid, _nodes.c.key).where(_nodes.c.tree == tree, _nodes.c.ulid.in_(wanted))
    )
    keys = {row.ulid: row.key for row in names}
    return {row.key: (keys[seconds[row.ulid]],) for row in joined if seconds.get(row.ulid) in keys}
