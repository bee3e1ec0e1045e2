"""What an assembly gives: the request, and the account of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.context.manifest import NO_LIMIT, Manifest
from weft.context.manifest_diff import Changes
from weft.context.tokens import DEFAULT, Estimator
from weft.tree.json import JsonObject
from weft.tree.message import Message, message_to_wire

if TYPE_CHECKING:
    from weft.context.layers.envelope import Layer


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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
    warnings: tuple[str, ...] = ()
    """What could not be read of what its turns brought along."""
    estimator: Estimator = DEFAULT
    laid_out: "tuple[Layer, ...]" = ()
    """The layers that it was made of, where it was made in layers."""

    @property
    def layers(self) -> "tuple[Layer, ...]":
        """L1 to L5. Where nothing had to be laid out they are what stands in their places."""
        from weft.context.layers.layered_context import (  # noqa: PLC0415 - few who assemble look at layers
            layers_in,
        )

        return self.laid_out or layers_in(self)

    def __repr__(self) -> str:
        cut = f", {self.removed_nodes:,} left out" if self.truncated else ""
        limit = f" of {self.budget:,}" if self.budget < NO_LIMIT else ""
        return f"<Context {self.tokens:,}{limit} tokens{cut}>"

    def _repr_html_(self) -> str:
        return self.manifest._repr_html_()  # pyright: ignore[reportPrivateUsage] - the notebooks' name for it

    def diff(self, other: "AssembledContext") -> Changes:
        """What the other does otherwise."""
        return self.manifest.diff(other.manifest)

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
            "layers": [layer.to_line() for layer in self.layers],
            "warnings": list(self.warnings),
            "manifest": self.manifest.to_wire(),
        }
