"""What every context of a tree begins with, read by one statement: the tree, its grove, who asks, and where."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import orjson
from sqlalchemy import and_, bindparam, literal_column, select, true

from weft.runtime.operations.settings import load_settings
from weft.runtime.views.reader import AT_CURSOR, Opened
from weft.store import schema
from weft.store.rows import EDGE_TYPES, MODES, AgentRow
from weft.store.session import Session
from weft.tree.edge import EdgeType

_trees, _groups, _envelopes, _nodes = schema.trees, schema.groups, schema.envelopes, schema.nodes
_grove, _agents, _cursors, _place = schema.grove, schema.agents, schema.cursors, schema.nodes.alias("place")
_ANNOTATION = EDGE_TYPES.index(EdgeType.ANNOTATION)
_FACTS = (
    _grove.c.preferences,
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
    _grove.c.head,
    _grove.c.ulid,
)
_OPENING = (
    select(_trees.c.key, _trees.c.ulid, _trees.c.mode, _trees.c.root, *_FACTS, _agents, _place)
    .select_from(_trees)
    .join(_grove, true())
    .outerjoin(_agents, _agents.c.key == bindparam("the_agent"))
    .outerjoin(_cursors, and_(_cursors.c.tree == _trees.c.key, _cursors.c.agent == _agents.c.key))
    .outerjoin(_place, and_(_place.c.tree == _cursors.c.tree, _place.c.key == _cursors.c.node))
    .where(_trees.c.ulid == bindparam("the_ulid"))
)
_BY_ID = _OPENING.where(_trees.c.hidden.is_(None))
_IDENTITY = 4
_AGENT = _IDENTITY + len(_FACTS)
_CURSOR = _AGENT + len(_agents.c)


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
        (row,) = opened.session.rows(_OPENING, {"the_ulid": opened.ulid, "the_agent": None})
        return cls._of_row(opened.session, row)

    @classmethod
    def _of_row(cls, session: Session, row: tuple[Any, ...]) -> "TreeFacts":
        grove, tree, system_context, *has, events, head, grove_head, grove_id = row[_IDENTITY:_AGENT]
        preferences = session.once(load_settings, lambda: orjson.loads(grove))
        known = preferences, orjson.loads(tree), system_context, *map(bool, has)
        return cls._make((*known, events, head, grove_head, grove_id))

    @classmethod
    def opening(cls, session: Session, ulid: str, agent: int) -> Opened | None:
        """Open a tree by its id for an agent: its facts, the agent and the agent's cursor are known afterwards."""
        rows = session.rows(_BY_ID, {"the_ulid": ulid, "the_agent": agent})
        if not rows:
            return None
        row = rows[0]
        key, ulid, mode, root = row[:_IDENTITY]
        known: dict[Hashable, object] = {
            (cls, key): cls._of_row(session, row),
            (Opened, ulid): [row[:_IDENTITY]],
        }
        if row[_AGENT] is not None:
            known[AgentRow, agent] = AgentRow._make(row[_AGENT:_CURSOR])
            known[AT_CURSOR, key, agent] = [row[_CURSOR:]] if row[_CURSOR] is not None else []
        session.know(known)
        return Opened(session, key, ulid, MODES[mode], root)
