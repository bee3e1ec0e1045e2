"""Nodes of a tree: paths, versions, children, counts, origins, and the node that a reference names.

Each question is one statement, recursive where it follows a path; the recursion carries the tree
along for the reason given in `tree_statements`.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, select

from weft.errors import InvalidInputError, NotFoundError
from weft.ids import PRIME, is_ulid, normalise_reference
from weft.store import schema
from weft.store.rows import EDGE_TYPES, Flag, LightRow, NodeRow
from weft.store.session import Session, grouped
from weft.store.tree_statements import (
    ALL_CHILDREN,
    CONTINUATION,
    LIVE,
    LIVE_CHILDREN,
    NODE_BY_KEY,
    SELECTIONS,
    newest_leaf,
    nodes_by_keys,
    versions_by_positions,
)
from weft.tree.edge import EdgeType

R = TypeVar("R", bound=LightRow)
Selections = Mapping[int, int]
"""Position → the version an agent looks at."""

_nodes = schema.nodes
_CANDIDATES = 6
_SEEN = _nodes.c.hidden.is_(None)
_HERE = select(_nodes).where(_nodes.c.tree == bindparam("in_tree"), _SEEN)
_BY_ULID = _HERE.where(_nodes.c.ulid == bindparam("wanted"))
_BY_LOCAL_ID = _HERE.where(_nodes.c.local_id == bindparam("wanted"))


def node_row(session: Session, tree: int, key: int) -> NodeRow:
    (row,) = session.rows(NODE_BY_KEY, {"in_tree": tree, "the_node": key})
    return NodeRow._make(row)


def node_rows(session: Session, tree: int, keys: Iterable[int]) -> dict[int, NodeRow]:
    """Many nodes at once."""
    wanted = list(dict.fromkeys(keys))
    if not wanted:
        return {}
    values = {"in_tree": tree, "wanted": session.dialect.keys(wanted)}
    rows = map(NodeRow._make, session.rows(nodes_by_keys(session.dialect), values))
    return {row.key: row for row in rows}


def leaf_below(session: Session, tree: int, position: int) -> int:
    """The leaf reached by always taking the newest live continuation."""
    return int(session.rows(newest_leaf(), {"in_tree": tree, "at_position": position})[0][0])


def children(
    session: Session, tree: int, position: int, *, edge_type: int = CONTINUATION, live: bool = True
) -> list[NodeRow]:
    """All nodes that hang from a position, versions included, oldest first."""
    statement = LIVE_CHILDREN if live else ALL_CHILDREN
    values = {"in_tree": tree, "at_position": position, "by_edge": edge_type}
    return [NodeRow._make(row) for row in session.rows(statement, values)]


def versions_at(
    session: Session, tree: int, positions: Sequence[int], *, hidden: bool = False
) -> dict[int, list[NodeRow]]:
    """Later versions at each position (not the first node itself), oldest first; undone ones if asked."""
    if not positions:
        return {}
    values = {"in_tree": tree, "wanted": session.dialect.keys(positions)}
    rows = session.rows(versions_by_positions(session.dialect, hidden=hidden), values)
    return grouped(map(NodeRow._make, rows), lambda row: row.position)


def selections_of(session: Session, tree: int, agent: int) -> Selections:
    return dict(session.rows(SELECTIONS, {"in_tree": tree, "by_agent": agent}))


def resolve(session: Session, tree: int, rows: Sequence[R], selections: Selections) -> list[NodeRow | R]:
    """Each position as its selected version, else the latest that is live, else the latest."""
    later = versions_at(session, tree, [row.position for row in rows])
    resolved: list[NodeRow | R] = []
    for row in rows:
        versions: list[NodeRow | R] = [row, *later.get(row.position, ())]
        live = [version for version in versions if version.live]
        chosen = selections.get(row.position)
        picked = next((version for version in live if version.key == chosen), None)
        resolved.append(picked or (live or versions)[-1])
    return resolved


def find_node(session: Session, tree: int, reference: str, *, hidden: bool = False) -> NodeRow:
    """The node that a local id, ULID or unambiguous prefix of four names in a tree; undone ones if asked."""
    wanted = normalise_reference(reference)
    named = _named(session, tree, wanted)
    if len(named) == 1:
        return named[0]
    here = select(_nodes).where(_nodes.c.tree == tree)
    nodes = _matches(session, wanted, here if hidden else here.where(_SEEN))
    if not nodes:
        _refuse_hidden(session, wanted, here)
    return _only(nodes, wanted)


def _named(session: Session, tree: int, wanted: str) -> list[NodeRow]:
    """The node of exactly this name, as faces give it: one query that is ready."""
    whole = wanted.upper()
    values = {"in_tree": tree, "wanted": whole if is_ulid(whole) else wanted}
    rows = session.rows(_BY_ULID if is_ulid(whole) else _BY_LOCAL_ID, values)
    return [NodeRow._make(row) for row in rows]


def find_nodes_anywhere(session: Session, reference: str, among: Collection[int] | None = None) -> NodeRow:
    """The same across the trees with these keys; None: across all of the grove."""
    wanted = normalise_reference(reference)
    trees = schema.trees
    anywhere = select(_nodes).select_from(trees).join(_nodes, _nodes.c.tree == trees.c.key)
    if among is not None:
        anywhere = anywhere.where(session.dialect.among(trees.c.key, sorted(among)))
    return _only(_matches(session, wanted, anywhere.where(trees.c.hidden.is_(None), _SEEN)), wanted)


def _refuse_hidden(session: Session, wanted: str, source: Select[Any]) -> None:
    """Say of a node that was undone that it was: it is not nowhere."""
    row = session.execute(source.where(_exact(wanted))).first()
    if row is not None:
        raise NotFoundError(f"node [{row.local_id}] was undone", hint="redo brings it back")


def _exact(wanted: str) -> ColumnElement[bool]:
    return _nodes.c.ulid == wanted.upper() if is_ulid(wanted.upper()) else _nodes.c.local_id == wanted


def _matches(session: Session, wanted: str, source: Select[Any]) -> list[NodeRow]:
    """Exact matches, else those that begin so. Primes are never guessed."""
    exact = source.where(_exact(wanted)).limit(_CANDIDATES)
    nodes = [NodeRow._make(row) for row in session.execute(exact)]
    if nodes or PRIME in wanted:
        return nodes
    by_local = and_(_nodes.c.local_id > wanted, _nodes.c.local_id < wanted + "~")
    by_ulid = and_(_nodes.c.ulid >= wanted.upper(), _nodes.c.ulid < wanted.upper() + "~")
    rows = [
        *session.execute(source.where(by_local, _nodes.c.local_id.not_like("%'%")).limit(_CANDIDATES)),
        *session.execute(source.where(by_ulid).limit(_CANDIDATES)),
    ]
    return list({(row.tree, row.key): NodeRow._make(row) for row in rows}.values())


def _only(nodes: Sequence[NodeRow], wanted: str) -> NodeRow:
    if not nodes:
        raise NotFoundError(f"node [{wanted}] does not exist in this tree")
    if len(nodes) > 1:
        names = ", ".join(sorted(row.local_id for row in nodes)[:_CANDIDATES])
        trees = len({row.tree for row in nodes})
        raise InvalidInputError(
            f"[{wanted}] is ambiguous",
            hint=f"it could be {names}" if trees == 1 else f"{trees} trees have it: name the tree too",
        )
    return nodes[0]


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
    reached = session.execute(select(above.c.position).where(above.c.position == goal).limit(1))
    return reached.first() is not None


def origins_of(session: Session, tree: int, key: int) -> list[tuple[NodeRow, tuple[int, ...]]]:
    """A node and all whose text it was made from, oldest first, each with the keys it came from.

    An edit comes from one node, a joined node from two, in the order of its text. Two queries
    for each level of joining what had been joined before.
    """
    origins: dict[int, tuple[NodeRow, tuple[int, ...]]] = {}
    wanted = {key}
    while wanted:
        rows = [row for row in _lineages(session, tree, sorted(wanted)) if row.key not in origins]
        halves = _second_halves(session, tree, [row for row in rows if row.flags & Flag.JOINED])
        for row in rows:
            first = () if row.edited_from is None else (row.edited_from,)
            origins[row.key] = row, (*first, *halves.get(row.key, ()))
        wanted = {origin for row in rows for origin in origins[row.key][1]} - origins.keys()
    return [origins[each] for each in sorted(origins)]


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
        joined_nodes = json.loads(payload)
        seconds[joined_nodes["nodes"][-1]] = joined_nodes["of"][1]
    wanted = sorted({seconds[row.ulid] for row in joined if row.ulid in seconds})
    names = session.execute(
        select(_nodes.c.ulid, _nodes.c.key).where(_nodes.c.tree == tree, _nodes.c.ulid.in_(wanted))
    )
    keys = {row.ulid: row.key for row in names}
    return {row.key: (keys[seconds[row.ulid]],) for row in joined if seconds.get(row.ulid) in keys}
