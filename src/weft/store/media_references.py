"""Which media the nodes of a grove, and the items on them, point to."""

import json
from collections.abc import Iterator
from typing import cast

from sqlalchemy import ColumnElement, and_, select, true

from weft.store import schema
from weft.store.rows import KINDS
from weft.store.session import Session
from weft.tree.content import Image, blob_refs, content_from_wire
from weft.tree.item import about_item

_nodes = schema.nodes
_texts = schema.texts
_items = schema.attachments
_KINDS = [KINDS.index(kind) for kind in ("image", "audio", "mixed")]
_AT_ONCE = 500


def media_of_tree(session: Session, tree: int) -> set[str]:
    """Refs that a tree's nodes point to, pruned and undone ones too."""
    return {*_refs(session, _nodes.c.tree == tree), *_of_items(session, _items.c.tree == tree)}


def media_of_grove(session: Session, among: set[str] | None = None) -> set[str]:
    """Refs that any node points to (only those asked about, if some are named)."""
    found = {*_refs(session, true()), *_of_items(session, true())}
    return found if among is None else found & among


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


def _of_items(session: Session, where: ColumnElement[bool]) -> Iterator[str]:
    """Of pictures that an active note came with, detached or not."""
    described = select(_items.c.about).where(where, _items.c.about.is_not(None))
    for kept in session.execute(described.execution_options(yield_per=_AT_ONCE)).scalars():
        for image in cast("tuple[Image, ...]", about_item(kept).get("images", ())):
            yield image.ref
