"""What a tree and its grove say about every context of the tree, read by one statement."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from sqlalchemy import bindparam, literal_column, select

from weft.runtime.operations.settings import load_settings
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.rows import EDGE_TYPES
from weft.tree.edge import EdgeType

_trees, _groups, _envelopes, _nodes = schema.trees, schema.groups, schema.envelopes, schema.nodes
_ANNOTATION = EDGE_TYPES.index(EdgeType.ANNOTATION)
_FACTS = select(
    select(schema.grove.c.preferences).scalar_subquery(),
    _trees.c.preferences,
    _trees.c.system_context,
    _trees.c.buffer_mode_system_context,
    _trees.c.project.is_not(None),
    select(_groups.c.name).where(_groups.c.tree == _trees.c.key, _groups.c.expanded.is_(False)).exists(),
    # A literal and an order, because only so does SQLite take the notes' own index.
    select(_nodes.c.parent)
    .where(_nodes.c.tree == _trees.c.key, _nodes.c.edge_type == literal_column(str(_ANNOTATION)))
    .order_by(_nodes.c.parent, _nodes.c.key)
    .limit(1)
    .scalar_subquery()
    .is_not(None),
    select(_envelopes.c.node)
    .where(_envelopes.c.tree == _trees.c.key, _envelopes.c.legacy.is_(True))
    .exists(),
    select(_envelopes.c.node)
    .where(_envelopes.c.tree == _trees.c.key, _envelopes.c.legacy.is_(False))
    .exists(),
    select(schema.vaults.c.key).where(schema.vaults.c.removed.is_(None)).exists(),
    _trees.c.events,
    _trees.c.head,
    select(schema.grove.c.head).scalar_subquery(),
    select(schema.grove.c.ulid).scalar_subquery(),
).where(_trees.c.key == bindparam("the_tree"))


class TreeFacts(NamedTuple):
    """Preferences as they are stored, the system context, and what the tree has any of."""

    grove: Mapping[str, Any]
    tree: Mapping[str, Any]
    system_context: str
    buffer_system_context: bool
    has_project: bool
    has_folds: bool
    has_notes: bool
    has_legacy: bool
    """Whether messages were imported as they had been sent."""
    has_envelopes: bool
    """Whether requests were kept."""
    has_vaults: bool
    """Whether the grove has any."""
    events: int
    head: bytes | None
    """The last event's hash: as long as it is the same, nothing in the tree has changed."""
    grove_head: bytes | None
    grove_id: str

    @classmethod
    def of(cls, opened: Opened) -> "TreeFacts":
        return opened.session.once((cls, opened.key), lambda: cls._read(opened))

    @classmethod
    def _read(cls, opened: Opened) -> "TreeFacts":
        session = opened.session
        (row,) = session.rows(_FACTS, {"the_tree": opened.key})
        grove, tree, system_context, *has, events, head, grove_head, grove_id = row
        preferences = session.once(load_settings, lambda: orjson.loads(grove))
        read = [preferences, orjson.loads(tree), system_context, *map(bool, has)]
        read += [events, head, grove_head, grove_id]
        return cls._make(read)
