"""A path read from both ends, its instructions and its attachments: flat in depth, on any shape of tree."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    and_,
    bindparam,
    case,
    literal_column,
    or_,
    select,
)

from weft.store import schema
from weft.store.rows import EDGE_TYPES, SOURCE_ROLES, NodeRow
from weft.store.session import Dialect, Session
from weft.store.tree_statements import tail_while
from weft.tree.edge import EdgeType, SourceRole

_nodes = schema.nodes
_tree: BindParameter[Any] = bindparam("in_tree")


def _first_beyond() -> Select[Any]:
    """The position nearest to the root whose ruler is beyond `amount`, in O(log depth) steps."""
    columns = ("tree", "key", "depth", "parent", "jump", "ruler")
    start = select(*(_nodes.c[name] for name in columns)).where(
        _nodes.c.tree == _tree, _nodes.c.key == bindparam("at_position")
    )
    climb = start.cte("climb", recursive=True)
    far, near = _nodes.alias("far"), _nodes.alias("near")
    amount: BindParameter[Any] = bindparam("amount")
    step = (
        select(*(near.c[name] for name in columns))
        .select_from(climb)
        .join(far, and_(far.c.tree == climb.c.tree, far.c.key == climb.c.jump))
        .join(
            near,
            and_(
                near.c.tree == climb.c.tree,
                near.c.key == case((far.c.ruler > amount, climb.c.jump), else_=climb.c.parent),
            ),
        )
        .where(climb.c.ruler > amount, climb.c.parent.is_not(None))
    )
    climb = climb.union_all(step)
    return select(climb.c.key).where(climb.c.ruler > amount).order_by(climb.c.depth).limit(1)


def _instructing() -> Select[Any]:
    """Every position on a path that instructs, over the list that their pointers make."""
    start = select(_nodes.c.tree, _nodes.c.near_instruction.label("key")).where(
        _nodes.c.tree == _tree,
        _nodes.c.key == bindparam("at_position"),
        _nodes.c.near_instruction.is_not(None),
    )
    chain = start.cte("chain", recursive=True)
    here, above = _nodes.alias("here"), _nodes.alias("above")
    step = (
        select(chain.c.tree, above.c.near_instruction)
        .select_from(chain)
        .join(here, and_(here.c.tree == chain.c.tree, here.c.key == chain.c.key))
        .join(above, and_(above.c.tree == here.c.tree, above.c.key == here.c.parent))
        .where(above.c.near_instruction.is_not(None))
    )
    chain = chain.union_all(step)
    return (
        select(_nodes)
        .select_from(chain)
        .join(_nodes, and_(_nodes.c.tree == chain.c.tree, _nodes.c.key == chain.c.key))
        .order_by(_nodes.c.depth)
    )


_TAIL_TO = tail_while(lambda tail: or_(tail.c.ruler > bindparam("floor"), tail.c.step < bindparam("least")))
_FIRST_BEYOND = _first_beyond()
_INSTRUCTING = _instructing()
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


def notes_on(session: Session, tree: int, positions: Sequence[int]) -> dict[int, list[NodeRow]]:
    """The annotations on many places, oldest first."""
    found: dict[int, list[NodeRow]] = {}
    values = {"in_tree": tree, "wanted": session.dialect.keys(positions)}
    for record in session.rows(_notes(session.dialect), values):
        row = NodeRow._make(record)
        found.setdefault(row.parent or 0, []).append(row)
    return found


def tail_to(
    session: Session, tree: int, position: int, *, floor: int, least: int, limit: int
) -> list[NodeRow]:
    """The end of a path, root side first, in one query: until the ruler is at `floor`, `least` of them at least."""
    values = {"in_tree": tree, "at_position": position, "floor": floor, "least": least, "limit": limit}
    return [NodeRow._make(row) for row in session.rows(_TAIL_TO, values)]


def first_beyond(session: Session, tree: int, position: int, amount: int) -> int | None:
    """Where the ruler first passes an amount on the way to a position; None if it nowhere does."""
    values = {"in_tree": tree, "at_position": position, "amount": amount}
    found = session.rows(_FIRST_BEYOND, values)
    return int(found[0][0]) if found else None


def instructing(session: Session, tree: int, position: int) -> list[NodeRow]:
    """The places on a path that have instructions by their first version, in path order."""
    values = {"in_tree": tree, "at_position": position}
    return [NodeRow._make(row) for row in session.rows(_INSTRUCTING, values)]


def instructing_versions(session: Session, tree: int) -> Sequence[tuple[int, int]]:
    """(position, depth) wherever in a tree a later version brought instructions: few, if any."""
    return [
        (int(position), int(depth))
        for position, depth in session.rows(_INSTRUCTING_VERSIONS, {"in_tree": tree})
    ]


_items = schema.attachments


def _attaching() -> Select[Any]:
    """Every position on a path that has had items, over the list that their pointers make."""
    start = select(_nodes.c.tree, _nodes.c.near_attachments.label("key")).where(
        _nodes.c.tree == bindparam("in_tree"),
        _nodes.c.key == bindparam("at_position"),
        _nodes.c.near_attachments.is_not(None),
    )
    chain = start.cte("chain", recursive=True)
    here, above = _nodes.alias("here"), _nodes.alias("above")
    step = (
        select(chain.c.tree, above.c.near_attachments)
        .select_from(chain)
        .join(here, and_(here.c.tree == chain.c.tree, here.c.key == chain.c.key))
        .join(above, and_(above.c.tree == here.c.tree, above.c.key == here.c.parent))
        .where(above.c.near_attachments.is_not(None))
    )
    chain = chain.union_all(step)
    return (
        select(_nodes)
        .select_from(chain)
        .join(_nodes, and_(_nodes.c.tree == chain.c.tree, _nodes.c.key == chain.c.key))
        .order_by(_nodes.c.depth)
    )


_ATTACHING = _attaching()


def attaching(session: Session, tree: int, position: int) -> list[NodeRow]:
    """The places on the path to a position that items hang on, or have hung on, in path order."""
    values = {"in_tree": tree, "at_position": position}
    return [NodeRow._make(row) for row in session.rows(_ATTACHING, values)]


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
    found: dict[int, list[Any]] = {}
    for row in session.execute(there):
        found.setdefault(row.node, []).append(row)
    return found
