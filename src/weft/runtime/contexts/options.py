"""The options of a context: every keyword with its type, its default and its description."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from weft.argument_checks import Options, option
from weft.tree.item import Item
from weft.tree.json import JsonValue
from weft.tree.node import Identified

if TYPE_CHECKING:
    # The engine loads with the first call that needs it.
    from weft.context.fit import Strategy
    from weft.context.layers.blocks import ToolOutput
    from weft.context.layers.items import ContextItem
    from weft.context.settings import Changed, Placement
    from weft.context.tokens import EstimatorLike


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions(Options):
    """How much fits, and how tokens are counted. What is left out follows from the tree or the grove."""

    limit: int | None = option(
        None, "The budget in tokens; default: what the model's window leaves.", least=0
    )
    window: int | None = option(
        None,
        "The model's window; default: the agent's `contextWindow`, else what its provider says.",
        least=1,
    )
    preferences: Mapping[str, JsonValue] | None = option(
        None, "Settings by name, for this call only.", wanted="settings by their names"
    )
    estimator: "EstimatorLike | None" = option(
        None, "What counts tokens: an estimator, a function, or a name.", wanted="an estimator, or its name"
    )

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The preferences, and the options that are short names of settings."""
        settings = dict(self.preferences or {})
        for name, spec in self.specs().items():
            value = getattr(self, name)
            if spec.setting and value is not None:
                settings[spec.setting] = value if isinstance(value, int | float) else str(value)
        return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions(FitOptions):
    """How a context is assembled. What is left out follows from the tree, the grove or the default."""

    max_tokens: int | None = option(None, "The part of the window that is reserved for the answer.", least=0)
    agent: str | None = option(
        None,
        "The agent that would answer: its system prompt comes first. Default: the acting agent, if a model.",
    )
    strategy: "Strategy | str | None" = option(
        None,
        "What happens to a path that is too long: truncateMiddle, rollingWindow or stopAtLimit.",
        setting="truncationStrategy",
    )
    step: float | None = option(
        None, "The share of the budget by which a cut moves; 0 cuts exactly.", setting="truncationStep"
    )
    prefix_cache: bool | None = option(None, "Whether the provider caches prefixes; default: what it says.")
    prefill: bool | None = option(None, "Whether a request may end with an assistant's message.")
    completion: bool | None = option(
        None, "Whether the model continues a document as it is; references go to chat models only."
    )
    annotations: bool | Collection[Identified | str] = option(
        False, "True includes the annotations on the path's nodes, a list those of these nodes."
    )
    text: str | None = option(
        None, "Input that is not a node yet; in a buffer it replaces the working buffer."
    )
    context: Collection[Identified | str] = option((), "Further nodes that the answer draws on.")
    instructions: Collection[Identified | str] = option((), "Further nodes that are instructions.")
    tool_outputs: "Sequence[ToolOutput]" = option((), "Outputs of tools for this turn: `grove.tools.run(…)`.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerOptions(ContextOptions):
    """How a request in layers is assembled: the options of a context, and those of layers."""

    items: "Sequence[Item | ContextItem]" = option(
        (), "Items of input that is not a node yet: `grove.vaults.items(…)`."
    )
    tool_descriptions: str = option("", "Descriptions of the tools that the model may call.")
    memory_block: str = option("", "A loom-aware agent's memory, which is not cached.")
    loom_context: str = option("", "A loom-aware agent's view of the tree.")
    addendum: str | None = option(None, "Text added to the system prompt.")
    library: "Placement | str | None" = option(
        None, "Where items are placed: system or inline.", setting="library"
    )
    changed: "Changed | str | None" = option(
        None, "What happens to changed items: refresh or append.", setting="changed"
    )
    strip: int | None = option(
        None, "How many turns stay in full, after summaries of the earlier ones.", setting="stripTurns"
    )
    summary: str | None = option(None, "Replaces the turns before the strip; default: the nodes' summaries.")
    fresh: bool = option(True, "False shows notes and documents as they were when they were attached.")

    @classmethod
    def of(cls, options: ContextOptions) -> "LayerOptions":
        """The same options, with the defaults of layers."""
        if isinstance(options, cls):
            return options
        return cls(**{each.name: getattr(options, each.name) for each in fields(options)})


def ids_of(nodes: Iterable[Identified | str]) -> tuple[str, ...]:
    """Nodes by their ids; what already is an id or a reference stays."""
    return tuple(node if isinstance(node, str) else node.id for node in nodes)
