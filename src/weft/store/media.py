"""Which media the nodes of a grove point to."""

import json
from collections.abc import Iterator

from sqlalchemy import ColumnElement, and_, select, true

from weft.store import schema
from weft.store.rows import KINDS
from weft.store.session import Session
from weft.tree.content import blob_refs, content_from_wire

__all__ = ["media_of_grove", "media_of_tree"]

_nodes = schema.nodes
_texts = schema.texts
_KINDS = [KINDS.index(kind) for kind in ("image", "audio", "mixed")]
_AT_ONCE = 500


def media_of_tree(session: Session, tree: int) -> set[str]:
    """Refs that a tree's nodes point to, pruned and undone ones too."""
    return set(_refs(session, _nodes.c.tree == tree))


def media_of_grove(session: Session, among: set[str] | None = None) -> set[str]:
    """Refs that any node points to (only those asked about, if some are named)."""
    return {ref for ref in _refs(session, true()) if among is None or ref in among}


def _refs(session: Session, where: ColumnElement[bool]) -> Iterator[str]:
    statement = (
        select(_texts.c.content)
        .select_from(_nodes)
        .join(_texts, and_(_texts.c.tree == _nodes.c.tree, _texts.c.node == _nodes.c.key))
        .where(where, _nodes.c.kind.in_(_KINDS))
        .execution_options(yield_per=_AT_ONCE)
    )
    for stored in session.execute(statement).scalars():
        yield from blob_refs(content_from_wire(json.loads(stored)))
