"""What an assembly gives: the request, and the account of it."""

from dataclasses import dataclass

from weft.context.layers.envelope import Layer, Segment
from weft.context.layers.items import LayerId
from weft.context.manifest import NO_LIMIT, Manifest
from weft.context.manifest_view import Changes
from weft.context.tokens import DEFAULT, Estimator
from weft.tree.content import JsonObject
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role


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
    laid_out: tuple[Layer, ...] = ()
    """The layers that it was made of, where it was made in layers."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """L1 to L5. Where nothing had to be laid out, what is in their places."""
        return self.laid_out or _layers_in(self)

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


def _layers_in(context: AssembledContext) -> tuple[Layer, ...]:
    """What is in each layer's place: nothing was attached, and a document is all history."""
    messages = context.messages
    spoken = bool(messages) and messages[-1].role is Role.USER
    history = messages[:-1] if spoken else messages
    segments = {
        LayerId.SYSTEM: [Segment("system", context.system, stable=True)] if context.system else [],
        LayerId.HISTORY: [
            Segment(str(index), message.text, True, {"role": message.role.value})
            for index, message in enumerate(history)
        ],
        LayerId.USER: [Segment("input", messages[-1].text, stable=False)] if spoken else [],
    }
    if context.document is not None:
        segments[LayerId.HISTORY] = [Segment("document", context.document, stable=True)]
    of_text = context.estimator.of_text
    return tuple(
        Layer(name, tuple(found), sum(of_text(each.content) for each in found))
        for name in LayerId
        for found in [segments.get(name, [])]
    )
