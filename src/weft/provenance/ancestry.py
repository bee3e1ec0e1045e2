"""A node and everything it was written from, over all its sources, up to the root."""

from sqlalchemy import select

from weft.errors import NotFoundError
from weft.store import schema
from weft.store.rows import NodeRow
from weft.store.session import Session
from weft.store.tree_queries import node_rows, walk_up

__all__ = ["ancestry"]

_STRIDE = 2_000


def ancestry(session: Session, tree: int, key: int) -> list[int]:
    """Keys of the node and of all it comes from, ascending: one query for every two thousand of them."""
    known: dict[int, NodeRow] = {}
    sources: dict[int, list[int]] = {}
    found: set[int] = set()
    waiting = [key]
    while waiting:
        lacking: list[int] = []
        while waiting:
            each = waiting.pop()
            if each in found:
                continue
            row = known.get(each)
            if row is None:
                lacking.append(each)
                continue
            found.add(each)
            waiting.extend(sources.get(each) or ([] if row.parent_node is None else [row.parent_node]))
        if lacking:
            _learn(session, tree, lacking, known, sources)
            waiting = lacking
    return sorted(found)


def _learn(
    session: Session, tree: int, keys: list[int], known: dict[int, NodeRow], sources: dict[int, list[int]]
) -> None:
    """Fetch these nodes, and the stretch of path above each that is not known yet."""
    rows = node_rows(session, tree, keys)
    if len(rows) < len(set(keys)):
        raise NotFoundError("a node that others were written from is not there", hint="verify the tree")
    fresh = dict(rows)
    for row in rows.values():
        if row.parent is not None and row.parent not in known and row.parent not in fresh:
            fresh.update((above.key, above) for above in walk_up(session, tree, row.parent, _STRIDE))
    known.update(fresh)
    table = schema.sources
    listed = list(fresh)
    for start in range(0, len(listed), _STRIDE):
        some = session.dialect.among(table.c.target, listed[start : start + _STRIDE])
        chosen = select(table.c.target, table.c.source).where(table.c.tree == tree, some)
        for row in session.execute(chosen.order_by(table.c.target, table.c.ordinal)):
            sources.setdefault(row.target, []).append(row.source)
