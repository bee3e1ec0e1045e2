"""What happened: recorded operations, and steps back and forth through them."""

from dataclasses import dataclass
from datetime import datetime

from weft.tree.content import JsonObject

__all__ = ["Happening", "Stepped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """One step of an undo or a redo."""

    direction: str
    """`undo` or `redo`."""
    kind: str
    """Of the operation that was taken back or done again."""
    ordinal: int
    """Of that operation's event."""
    event: int
    """The ordinal of the event that records this step."""
    tree_id: str | None
    """None: in the grove itself."""
    nodes: tuple[str, ...]
    """Ids of nodes that it hid or showed."""
    run: str | None = None
    """The generation it is a part of: its continuations are stepped over together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
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
    """Whether an undo has taken it back, and no redo done it again."""
