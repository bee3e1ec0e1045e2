"""A node and everything it was written from, over all its sources, up to the root."""

from weft.provenance.damaged_rows import fetch, is_readable
from weft.provenance.node_columns import readable_nodes
from weft.provenance.report import Findings
from weft.store import schema
from weft.store.rows import NodeRow
from weft.store.session import Session
from weft.store.tree_queries import walk_up

_STRIDE = 2_000


def ancestry(session: Session, tree: int, key: int) -> list[int]:
    """Keys of the node and of all it comes from, ascending: one query for every two thousand of them.

    The keys of nodes that are missing or damaged are among them; nothing is known above those.
    """
    known: dict[int, NodeRow | None] = {}
    sources: dict[int, list[int]] = {}
    found: set[int] = set()
    waiting = [key]
    while waiting:
        lacking: list[int] = []
        while waiting:
            each = waiting.pop()
            if each in found:
                continue
            if each not in known:
                lacking.append(each)
                continue
            found.add(each)
            row = known[each]
            if row is not None:
                waiting.extend(sources.get(each) or ([] if row.parent_node is None else [row.parent_node]))
        if lacking:
            _learn(session, tree, lacking, known, sources)
            waiting = lacking
    return sorted(found)


def _learn(
    session: Session,
    tree: int,
    keys: list[int],
    known: dict[int, NodeRow | None],
    sources: dict[int, list[int]],
) -> None:
    """Fetch these nodes, and the stretch of path above each that is not known yet."""
    fresh = readable_nodes(session, Findings(), tree, keys)
    for row in list(fresh.values()):
        if row.parent is not None and row.parent not in known and row.parent not in fresh:
            fresh.update((above.key, above) for above in _path_above(session, tree, row.parent))
    known.update(dict.fromkeys(keys))
    known.update(fresh)
    table = schema.sources
    listed = list(fresh)
    for start in range(0, len(listed), _STRIDE):
        some = session.dialect.among(table.c.target, listed[start : start + _STRIDE])
        for row in fetch(session, Findings(), table, table.c.tree == tree, some):
            sources.setdefault(row.target, []).append(row.source)


def _path_above(session: Session, tree: int, position: int) -> list[NodeRow]:
    """Readable nodes of the path, many at once; none where one of them cannot be decoded."""
    try:
        rows = walk_up(session, tree, position, _STRIDE)
    except Exception as error:
        # The driver's own error: each database has another class for it.
        if not session.dialect.is_unreadable_text(error):
            raise
        return []
    return [row for row in rows if is_readable(schema.nodes, row)]
