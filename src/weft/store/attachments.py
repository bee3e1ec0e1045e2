"""Where items hang along a path, and what they are; a body that many turns share is read once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Select, and_, bindparam, select

from weft.errors import StorageError
from weft.store import schema
from weft.store.packing import PackingError, unpack
from weft.store.rows import NodeRow
from weft.store.session import Session

__all__ = ["attaching", "attachments_on", "bodies_of"]

_nodes = schema.nodes
_items = schema.attachments
_bodies = schema.bodies
_AT_ONCE = 200


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


def bodies_of(session: Session, tree: int, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
    """Bodies by their hashes, a few hundred at a time; one that is not there is not in the result."""
    wanted = list(dict.fromkeys(digests))
    found: dict[bytes, bytes] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        rows = session.execute(
            select(_bodies.c.sha256, _bodies.c.gzip).where(_bodies.c.tree == tree, _bodies.c.sha256.in_(some))
        )
        for row in rows:
            try:
                found[bytes(row.sha256)] = unpack(row.gzip)
            except PackingError as error:
                raise StorageError(f"the body {row.sha256.hex()[:12]}… is damaged: {error}") from error
    return found
