"""What an assembly in layers is asked for: a place in a tree, what its turns attached, and how it is wanted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.context.assemble import ContextRequest
from weft.context.layers.blocks import ToolOutput
from weft.context.layers.items import ContextItem
from weft.context.layers.library import Attached
from weft.context.layers.system_blocks import Standing
from weft.context.settings import LayerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """History as a strip: a summary, then the last turns as they were."""

    summary: str
    turns: int
    """How many turns before the current one are kept in any case."""
    through: int | None = None
    """The last level that the summary tells of; later ones are kept too, so that nothing falls between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredRequest:
    """A place in a tree with everything that its layers are made of."""

    context: ContextRequest
    """The path as light rows, the input, the budget, the preferences, and the parts of the system context."""
    conversation_id: str = ""
    message_id: str = ""
    attached: Sequence[Attached] = ()
    """All items of the path's nodes, in the order of the path."""
    items: Sequence[ContextItem] = ()
    """Those of the input that is not a node yet."""
    fresh: Mapping[str, ContextItem] = field(default_factory=dict[str, ContextItem])
    """Items as they are now, by id, where somebody looked."""
    standing: Standing = field(default_factory=Standing)
    tool_outputs: Sequence[ToolOutput] = ()
    tool_descriptions: str = ""
    """For models that call tools in text; fixed for an agent's life."""
    memory_block: str = ""
    """A loom-aware agent's, which changes too often to be cached."""
    loom_context: str = ""
    strip: Strip | None = None
    run: int = 0
    """Levels at the outline's end that are no nodes: what was said and answered since the turn began."""
    alone: bool = False
    """Whether the input is a turn of its own, even after words that nobody answered."""
    folded: int = 0
    """Levels of the path that the outline's first row stands for, where it stands for any."""
    unsettled: bool = False
    """Whether the history changes as time goes by: headings that say how long ago something was said."""
    settings: LayerSettings = field(default_factory=LayerSettings)
    provider: str = ""
