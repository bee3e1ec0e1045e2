"""Statements that are built once. Every recursion runs in the database, none in Python.

Recursions carry the tree along and join on it. Compared with a constant instead, SQLite
(once it has statistics) builds a filter over the whole table before the first step.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from sqlalchemy import (
    CTE,
    BindParameter,
    ColumnElement,
    FromClause,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal,
    select,
)

from weft.store import schema
from weft.store.rows import EDGE_TYPES, Flag, TreeState
from weft.store.session import Dialect
from weft.tree.edge import EdgeType

CONTINUATION = EDGE_TYPES.index(EdgeType.CONTINUATION)

_nodes = schema.nodes
_tree: BindParameter[Any] = bindparam("in_tree")
LIVE = and_(_nodes.c.pruned.is_(None), _nodes.c.hidden.is_(None))
INCLUDED = _nodes.c.flags.bitwise_and(Flag.EXCLUDED) == 0


NODE_BY_KEY = select(_nodes).where(_nodes.c.tree == _tree, _nodes.c.key == bindparam("the_node"))
_trees = schema.trees
TREE_COLUMNS = tuple(each.name for each in fields(TreeState) if each.name in _trees.c)
TREE_STATE = select(*(_trees.c[name] for name in TREE_COLUMNS))
TREE_FOR_UPDATE = TREE_STATE.where(_trees.c.key == _tree).with_for_update()
_grove = schema.grove
GROVE_EVENTS = select(_grove.c.events)
GROVE_FOR_UPDATE = select(
    _grove.c.ulid, _grove.c.owner, _grove.c.events, _grove.c.head, _grove.c.updated_at
).with_for_update()
AGENT_BY_KEY = select(schema.agents).where(schema.agents.c.key == bindparam("by_agent"))
CURSOR = select(schema.cursors.c.node).where(
    schema.cursors.c.tree == _tree, schema.cursors.c.agent == bindparam("by_agent")
)
LAST_EVENT_NUMBER = (
    select(schema.events.c.number)
    .order_by(schema.events.c.transaction.desc(), schema.events.c.number.desc())
    .limit(1)
)
LATER_VERSIONS = (
    select(_nodes)
    .where(
        _nodes.c.tree == _tree,
        _nodes.c.position == bindparam("at_position"),
        _nodes.c.key != _nodes.c.position,
    )
    .order_by(_nodes.c.position, _nodes.c.key)
)
LOCAL_IDS = select(_nodes.c.local_id).where(
    _nodes.c.tree == _tree,
    _nodes.c.local_id >= bindparam("low"),
    _nodes.c.local_id < bindparam("high"),
)
LAST_LOCAL_ID = LOCAL_IDS.with_only_columns(func.max(_nodes.c.local_id))
HAS_LIVE_CHILD = (
    select(literal(1))
    .where(
        _nodes.c.tree == _tree,
        _nodes.c.parent == bindparam("at_position"),
        _nodes.c.edge_type == CONTINUATION,
        LIVE,
    )
    .limit(1)
)
ALL_CHILDREN = (
    select(_nodes)
    .where(
        _nodes.c.tree == _tree,
        _nodes.c.parent == bindparam("at_position"),
        _nodes.c.edge_type == bindparam("by_edge"),
    )
    .order_by(_nodes.c.key)
)
LIVE_CHILDREN = ALL_CHILDREN.where(LIVE)
SELECTIONS = select(schema.selections.c.position, schema.selections.c.node).where(
    schema.selections.c.tree == _tree, schema.selections.c.agent == bindparam("by_agent")
)


@cache
def nodes_by_keys(dialect: Dialect) -> Select[Any]:
    return select(_nodes).where(_nodes.c.tree == _tree, dialect.among_given(_nodes.c.key, "wanted"))


@cache
def versions_by_positions(dialect: Dialect, *, hidden: bool) -> Select[Any]:
    """Later versions at many positions, oldest first; undone ones if asked."""
    statement = (
        select(_nodes)
        .where(
            _nodes.c.tree == _tree,
            dialect.among_given(_nodes.c.position, "wanted"),
            _nodes.c.key != _nodes.c.position,
        )
        .order_by(_nodes.c.position, _nodes.c.key)
    )
    return statement if hidden else statement.where(_nodes.c.hidden.is_(None))


@cache
def texts_by_keys(dialect: Dialect) -> Select[*tuple[Any, ...]]:
    texts = schema.texts
    return select(texts.c.node, texts.c.content, texts.c.summary).where(
        texts.c.tree == _tree, dialect.among_given(texts.c.node, "wanted")
    )


@cache
def contents_by_keys(dialect: Dialect) -> Select[*tuple[Any, ...]]:
    """Without the summaries."""
    return texts_by_keys(dialect).with_only_columns(schema.texts.c.node, schema.texts.c.content)


def tail_while(
    *further: Callable[[CTE], ColumnElement[bool]],
    start_at: ColumnElement[Any] | None = None,
    columns: Sequence[str] | None = None,
    texts: bool = False,
) -> Select[*tuple[Any, ...]]:
    """A position and its nearest ancestors, at most `limit` of them and as long as all agree.

    In no order. `columns` are those of `nodes` to read, all if not given; with `texts` the node's content follows.
    """
    end: ColumnElement[Any] = bindparam("at_position") if start_at is None else start_at
    # The recursion carries what it needs, and no more: the rows are looked up once it has ended.
    carried = [_nodes.c[name] for name in ("tree", "key", "parent", "ruler")]
    start = select(*carried, literal(1).label("step")).where(_nodes.c.tree == _tree, _nodes.c.key == end)
    tail = start.cte("tail", recursive=True)
    above = (
        select(*carried, tail.c.step + 1)
        .select_from(tail)
        .join(_nodes, and_(_nodes.c.tree == tail.c.tree, _nodes.c.key == tail.c.parent))
        .where(tail.c.step < bindparam("limit"), *(agrees(tail) for agrees in further))
    )
    tail = tail.union_all(above)
    node, text = _nodes.alias("node"), schema.texts
    read: list[Any] = [node] if columns is None else [node.c[name] for name in columns]
    rows = tail.join(node, and_(node.c.tree == tail.c.tree, node.c.key == tail.c.key))
    if texts:
        read.append(text.c.content)
        rows = rows.join(text, and_(text.c.tree == node.c.tree, text.c.node == node.c.key))
    return select(*read).select_from(rows)


TAIL = tail_while()
UNBOUNDED = 2**31 - 1
"""A limit that no path reaches."""


def climb(
    columns: Sequence[str],
    above: Callable[[FromClause], ColumnElement[bool]],
    may_jump: Callable[[FromClause], ColumnElement[bool]],
) -> CTE:
    """The positions on a way up from `at_position`, in O(log depth) steps: a jump where it does not go too far.

    It goes on `above` a row as long as that holds, and there is a parent.
    """
    names = ("tree", "key", "depth", "parent", "jump", *columns)
    start = select(*(_nodes.c[name] for name in names)).where(
        _nodes.c.tree == _tree, _nodes.c.key == bindparam("at_position")
    )
    way = start.cte("climb", recursive=True)
    near = _nodes.alias("near")
    step = (
        select(*(near.c[name] for name in names))
        .select_from(way)
        .join(near, and_(near.c.tree == way.c.tree, near.c.key == next_above(way, may_jump)))
        .where(above(way), way.c.parent.is_not(None))
    )
    return way.union_all(step)


def next_above(way: FromClause, may_jump: Callable[[FromClause], ColumnElement[bool]]) -> ColumnElement[int]:
    """The next position of a way up: where the jump leads if it may be taken, else the parent.

    Not a join: of a tree that no statistics know yet, PostgreSQL would read all nodes at every step.
    """
    far = _nodes.alias("far")
    taken = select(may_jump(far)).where(far.c.tree == way.c.tree, far.c.key == way.c.jump).scalar_subquery()
    return case((taken, way.c.jump), else_=way.c.parent)


_AT_DEPTH: BindParameter[Any] = bindparam("at_depth")
_ancestors = climb((), lambda row: row.c.depth > _AT_DEPTH, lambda far: far.c.depth >= _AT_DEPTH)
ANCESTOR_AT_DEPTH = select(_ancestors.c.key).order_by(_ancestors.c.depth).limit(1)
"""The position above (or at) `position` with this depth."""


@cache
def newest_leaf() -> Select[Any]:
    """Down from a position, each time to the newest live continuation."""
    start = select(
        bindparam("at_position", type_=_nodes.c.key.type).label("position"), literal(0).label("step")
    )
    down = start.cte("down", recursive=True)
    newest = (
        select(func.max(_nodes.c.position))
        .where(
            _nodes.c.tree == _tree,
            _nodes.c.parent == down.c.position,
            _nodes.c.edge_type == CONTINUATION,
            LIVE,
        )
        .scalar_subquery()
    )
    down = down.union_all(select(newest, down.c.step + 1).where(down.c.position.is_not(None)))
    return select(down.c.position).where(down.c.position.is_not(None)).order_by(down.c.step.desc()).limit(1)


def keys_below() -> Select[Any]:
    """Keys of everything that hangs below `position`, annotations and versions too."""
    start = select(
        bindparam("in_tree", type_=_nodes.c.tree.type).label("tree"),
        bindparam("at_position", type_=_nodes.c.key.type).label("position"),
    )
    # Nested, so that a statement around it still begins with its own verb: drivers count rows by that.
    below = start.cte("below", recursive=True, nesting=True)
    child = _nodes.alias("child")
    below = below.union_all(
        select(child.c.tree, child.c.position)
        .select_from(below)
        .join(child, and_(child.c.tree == below.c.tree, child.c.parent == below.c.position))
        .where(child.c.key == child.c.position)
    )
    hanging = _nodes.alias("hanging")
    return (
        select(hanging.c.key)
        .select_from(below)
        .join(hanging, and_(hanging.c.tree == below.c.tree, hanging.c.parent == below.c.position))
    )


def count_live() -> Select[*tuple[Any, ...]]:
    """Live nodes, leaves and depth of a tree, counted from its nodes."""
    places = (
        select(_nodes.c.position, _nodes.c.parent, _nodes.c.depth)
        .where(_nodes.c.tree == _tree, _nodes.c.edge_type == CONTINUATION, LIVE)
        .distinct()
        .cte("places")
    )
    lower = places.alias("lower")
    inner = (
        select(func.count(lower.c.parent.distinct()))
        .select_from(lower)
        .join(places, places.c.position == lower.c.parent)
        .scalar_subquery()
    )
    return select(
        select(func.count()).where(_nodes.c.tree == _tree, LIVE).scalar_subquery().label("nodes"),
        (select(func.count()).select_from(places).scalar_subquery() - inner).label("branches"),
        func.coalesce(select(func.max(places.c.depth)).scalar_subquery(), 0).label("depth"),
    )
