"""What an assembly gives: the request, and the account of it."""

from dataclasses import dataclass

from weft.context.manifest import Manifest
from weft.tree.content import JsonObject
from weft.tree.message import Message, message_to_wire

__all__ = ["AssembledContext"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledContext:
    """Exactly what a model will see of a place in a tree."""

    system: str
    messages: tuple[Message, ...]
    """In dialogue mode."""
    document: str | None
    """In buffer mode."""
    manifest: Manifest
    tokens: int
    budget: int
    truncated: bool
    removed_nodes: int
    removed_tokens: int
    """By the ruler: what was cut was never read."""
    shortened: tuple[str, ...]
    """Ids of nodes whose own text had to be shortened."""

    def to_wire(self) -> JsonObject:
        return {
            "system": self.system,
            "messages": [message_to_wire(message) for message in self.messages],
            "document": self.document,
            "tokens": self.tokens,
            "budget": self.budget,
            "truncated": self.truncated,
            "removedNodes": self.removed_nodes,
            "removedTokens": self.removed_tokens,
            "shortened": list(self.shortened),
            "manifest": self.manifest.to_wire(),
        }
