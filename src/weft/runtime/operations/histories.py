"""Making nodes of what was said elsewhere. For importers and the proxy; no face offers it to people."""

from dataclasses import dataclass

from weft.runtime.operations.nodes import Append
from weft.store.rows import AgentRow

__all__ = ["AppendHistory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendHistory(Append):
    """A new node as an imported or proxied history has it: the role may be system's or a tool's.

    Recorded as any append, so that it is undone like one.
    """

    def _check_role(self, author: AgentRow) -> None:
        """Whatever the history says."""
