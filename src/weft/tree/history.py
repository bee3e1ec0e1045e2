"""Recorded operations as a history lists them, and steps of undo and redo."""

from dataclasses import dataclass
from datetime import datetime

from weft.tree.content import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStep:
    """One step of an undo or a redo."""

    direction: str
    """`undo` or `redo`."""
    kind: str
    """Of the operation that was undone or redone."""
    ordinal: int
    """Of that operation's event."""
    event: int
    """The ordinal of the event that records this step."""
    tree_id: str | None
    """None: in the grove itself."""
    nodes: tuple[str, ...]
    """Ids of nodes that it hid or showed."""
    run: str | None = None
    """The generation it is a part of: its continuations are undone together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One recorded operation, as a history lists it."""

    ordinal: int
    kind: str
    agent_id: str
    agent_name: str
    created_at: datetime
    payload: JsonObject
    nodes: tuple[str, ...]
    """Local ids of the nodes it is about."""
    undone: bool
    """True if it was undone and not redone since."""
