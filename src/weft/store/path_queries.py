"""A path read from both ends, its instructions and its attachments: flat in depth, on any shape of tree."""

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    union,
)

from weft.store import schema
from weft.store.rows import EDGE_TYPES, SOURCE_ROLES, LightRow, NodeRow, PathRow, tuple_maker
from weft.store.session import Dialect, Session, grouped
from weft.store.tree_statements import ANCESTOR_AT_DEPTH, TAIL, UNBOUNDED, climb, next_above, tail_while
from weft.tree.edge import EdgeType, SourceRole

R = TypeVar("R")
_DEPTH = attrgetter("depth")
_PATH_ROW = tuple_maker(PathRow)
_nodes = schema.nodes
_tree: BindParameter[Any] = bindparam("in_tree")


@cache
def _marked(pointer: str) -> Select[Any]:
    """Every position on a path that has a mark, over the list that their pointers to the nearest make."""
    near = _nodes.c[pointer]
    start = select(_nodes.c.tree, near.label("key")).where(
        _nodes.c.tree == _tree, _nodes.c.key == bindparam("at_position"), near.is_not(None)
    )
    chain = start.cte("chain", recursive=True)
    here, above = _nodes.alias("here"), _nodes.alias("above")
    step = (
        select(chain.c.tree, above.c[pointer])
        .select_from(chain)
        .join(here, and_(here.c.tree == chain.c.tree, here.c.key == chain.c.key))
        .join(above, and_(above.c.tree == here.c.tree, above.c.key == here.c.parent))
        .where(above.c[pointer].is_not(None))
    )
    chain = chain.union_all(step)
    return (
        select(_nodes)
        .select_from(chain)
        .join(_nodes, and_(_nodes.c.tree == chain.c.tree, _nodes.c.key == chain.c.key))
        .order_by(_nodes.c.depth)
    )


_LIGHT = PathRow._fields
_END: BindParameter[Any] = bindparam("at_position", type_=_nodes.c.key.type)


# Made when they are first used: a command that only lists something needs none of them.
@cache
def _grown() -> Select[Any]:
    return tail_while(columns=_LIGHT, texts=True)


@cache
def _tail_to() -> Select[Any]:
    return tail_while(
        lambda tail: or_(tail.c.ruler > bindparam("floor"), tail.c.step < bindparam("least")), columns=_LIGHT
    )


@cache
def _head_to() -> Select[Any]:
    amount: BindParameter[Any] = bindparam("amount")
    beyond = climb(("ruler",), lambda row: row.c.ruler > amount, lambda far: far.c.ruler > amount)
    first = select(beyond.c.key).where(beyond.c.ruler > amount).order_by(beyond.c.depth).limit(1)
    return tail_while(start_at=func.coalesce(first.scalar_subquery(), _END), columns=_LIGHT)


@cache
def _top() -> Select[Any]:
    return tail_while(start_at=ANCESTOR_AT_DEPTH.scalar_subquery(), columns=_LIGHT)


_LEFT_OUT_AT_ONCE = 500
"""So many places that contexts may leave out are looked for at first, on all branches."""
_STEPS = 16
"""To see whether one of them is on a path takes about as many steps: a shorter path is read whole."""


@cache
def _between() -> Select[*tuple[Any, ...]]:
    """Both ends of a part of a path, and what in it contexts may leave out, with their neighbours on the path.

    Of what is above it the nearest, as many as `limit` says beside its first level. The last column says how many
    places were looked for, on all branches: at `most` of them it stops.
    """
    # In words, not bound: only so is the index of these nodes known to do.
    wanted = (
        select(_nodes.c.tree, _nodes.c.position, _nodes.c.depth)
        .where(
            _nodes.c.tree == _tree,
            _nodes.c.depth > bindparam("above", type_=_nodes.c.depth.type),
            _nodes.c.depth < bindparam("below", type_=_nodes.c.depth.type),
            literal_column(f"({schema.LEFT_OUT})"),
        )
        .distinct()
        .order_by(_nodes.c.depth.desc())
        .limit(bindparam("most"))
        .cte("wanted")
    )
    names = ("tree", "key", "depth", "parent", "jump")
    start = (
        select(
            *(_nodes.c[name] for name in names),
            wanted.c.position.label("place"),
            wanted.c.depth.label("goal"),
        )
        .select_from(wanted)
        .join(
            _nodes,
            and_(
                _nodes.c.tree == wanted.c.tree,
                _nodes.c.key == _END,
            ),
        )
    )
    way = start.cte("way", recursive=True)
    near, goal = _nodes.alias("near"), way.c.goal
    upwards = next_above(way, lambda far: far.c.depth > goal)
    step = (
        select(*(near.c[name] for name in names), way.c.place, way.c.goal)
        .select_from(way)
        .join(near, and_(near.c.tree == way.c.tree, near.c.key == upwards))
        .where(way.c.depth > way.c.goal + 1)
    )
    way = way.union_all(step)
    reached = and_(way.c.depth == way.c.goal + 1, way.c.parent == way.c.place)
    above, start_at = _nodes.alias("above"), ANCESTOR_AT_DEPTH.scalar_subquery()
    top = tail_while(start_at=start_at, columns=("key",))
    keys = union(
        top,
        select(bindparam("the_node", type_=_nodes.c.key.type)),
        select(way.c.place).where(reached),
        select(way.c.key).where(reached),
        select(above.c.parent)
        .select_from(way)
        .join(above, and_(above.c.tree == way.c.tree, above.c.key == way.c.place))
        .where(reached),
    )
    light = [_nodes.c[name] for name in _LIGHT]
    looked_for = select(func.count()).select_from(wanted).scalar_subquery()
    return select(*light, looked_for).where(_nodes.c.tree == _tree, _nodes.c.key.in_(keys))


_sources = schema.sources
_INSTRUCTING_VERSIONS = (
    select(_nodes.c.position, _nodes.c.depth)
    .select_from(_sources)
    .join(_nodes, and_(_nodes.c.tree == _sources.c.tree, _nodes.c.key == _sources.c.target))
    .where(
        _sources.c.tree == _tree,
        _sources.c.role == SOURCE_ROLES.index(SourceRole.INSTRUCTION),
        _nodes.c.key != _nodes.c.position,
    )
    .distinct()
)


@cache
def _notes(dialect: Dialect) -> Select[Any]:
    # In words of its own, not bound: only so does SQLite know that the notes' index will do.
    annotation: ColumnElement[Any] = literal_column(str(EDGE_TYPES.index(EdgeType.ANNOTATION)))
    return (
        select(_nodes)
        .where(
            _nodes.c.tree == _tree,
            dialect.among_given(_nodes.c.parent, "wanted"),
            _nodes.c.edge_type == annotation,
            _nodes.c.hidden.is_(None),
        )
        .order_by(_nodes.c.parent, _nodes.c.key)
    )


def _down(rows: list[tuple[Any, ...]], make: Callable[[tuple[Any, ...]], R]) -> list[R]:
    """Rows of one path, root side first. A database would sort all of their columns."""
    made = list(map(make, rows))
    made.sort(key=_DEPTH)
    return made


def walk_up(session: Session, tree: int, position: int, limit: int | None = None) -> list[NodeRow]:
    """A position and its ancestors, root side first: one query at any depth."""
    values = {"in_tree": tree, "at_position": position, "limit": UNBOUNDED if limit is None else limit}
    return _down(session.rows(TAIL, values), NodeRow._make)


def walk_up_with_texts(session: Session, tree: int, position: int, limit: int) -> list[tuple[PathRow, str]]:
    """A position and its nearest ancestors, root side first, each with its stored content."""
    values = {"in_tree": tree, "at_position": position, "limit": limit}
    rows = session.rows(_grown(), values)
    texts = {row[0]: row[-1] for row in rows}
    return [(row, texts[row.key]) for row in _down(rows, lambda row: _PATH_ROW(row[:-1]))]


def ancestor_at_depth(session: Session, tree: int, position: int, depth: int) -> int:
    """The ancestor's position, in O(log depth) steps of one query."""
    values = {"in_tree": tree, "at_position": position, "at_depth": depth}
    return int(session.rows(ANCESTOR_AT_DEPTH, values)[0][0])


def notes_on(session: Session, tree: int, positions: Sequence[int]) -> dict[int, list[NodeRow]]:
    """The annotations on many places, oldest first."""
    values = {"in_tree": tree, "wanted": session.dialect.keys(positions)}
    rows = session.rows(_notes(session.dialect), values)
    return grouped(map(NodeRow._make, rows), lambda row: row.parent or 0)


def tail_to(
    session: Session, tree: int, position: int, *, floor: int, least: int, limit: int
) -> list[PathRow]:
    """The end of a path, root side first, in one query: until the ruler is at `floor`, `least` of them at least."""
    values = {"in_tree": tree, "at_position": position, "floor": floor, "least": least, "limit": limit}
    return _down(session.rows(_tail_to(), values), _PATH_ROW)


def head_to(session: Session, tree: int, position: int, amount: int) -> list[PathRow]:
    """The beginning of the path to a position, in one query: until the ruler passes an amount, if it does."""
    values = {"in_tree": tree, "at_position": position, "amount": amount, "limit": UNBOUNDED}
    return _down(session.rows(_head_to(), values), _PATH_ROW)


def top_to(session: Session, tree: int, position: int, depth: int) -> list[PathRow]:
    """The beginning of the path to a position, in one query: to a depth."""
    values = {"in_tree": tree, "at_position": position, "at_depth": depth, "limit": UNBOUNDED}
    return _down(session.rows(_top(), values), _PATH_ROW)


def rows_between(
    session: Session, tree: int, position: int, *, above: int, last: LightRow, top: bool = False
) -> list[PathRow]:
    """A part of the path to a position, below a depth and down to a node's parent.

    Of it both ends, and all that contexts may leave out there, with what is before and after it; all of it, where
    a tree has so many of those that looking for each would take longer. With `top`, all that is above it, too.
    """
    values = {
        "in_tree": tree,
        "at_position": position,
        "at_depth": above + 1,
        "the_node": last.parent,
        "above": above,
        "below": last.depth,
        "limit": above + 2 if top else 1,
    }
    most = _LEFT_OUT_AT_ONCE
    while True:
        rows = session.rows(_between(), {**values, "most": most})
        if not rows or rows[0][-1] < most:
            return _down(rows, lambda row: _PATH_ROW(row[:-1]))
        levels = last.depth if top else last.depth - above - 1
        most *= _STEPS
        if levels <= most:
            return tail_to(session, tree, last.parent or last.position, floor=-1, least=0, limit=levels)


def instructing(session: Session, tree: int, position: int) -> list[NodeRow]:
    """The places on a path that have instructions by their first version, in path order."""
    values = {"in_tree": tree, "at_position": position}
    return [NodeRow._make(row) for row in session.rows(_marked("near_instruction"), values)]


def instructing_versions(session: Session, tree: int) -> Sequence[tuple[int, int]]:
    """(position, depth) wherever in a tree a later version brought instructions: few, if any."""
    return [
        (int(position), int(depth))
        for position, depth in session.rows(_INSTRUCTING_VERSIONS, {"in_tree": tree})
    ]


_items = schema.attachments


def attaching(session: Session, tree: int, position: int) -> list[NodeRow]:
    """The places on the path to a position that items hang on, or have hung on, in path order."""
    values = {"in_tree": tree, "at_position": position}
    return [NodeRow._make(row) for row in session.rows(_marked("near_attachments"), values)]


def attachments_on(session: Session, tree: int, keys: Sequence[int]) -> dict[int, list[Any]]:
    """What hangs on many nodes now, in order, without the bodies."""
    if not keys:
        return {}
    there = (
        select(_items)
        .where(
            _items.c.tree == tree, session.dialect.among(_items.c.node, keys), _items.c.detached_by.is_(None)
        )
        .order_by(_items.c.node, _items.c.ordinal)
    )
    return grouped(session.execute(there), lambda row: row.node)
