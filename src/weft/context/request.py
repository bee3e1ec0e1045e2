"""What the engine is asked for, and what it decides before any text is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft.context.fit import Marker, Room, Rules, grid_step, head_reach
from weft.context.items.blocks import ToolOutput
from weft.context.items.item_types import LIBRARY_HEADING, ContextItem, LayerId
from weft.context.items.library import Attached, Held
from weft.context.masking import MaskRule
from weft.context.rows import Candidate, ExtraSource, PathOutline
from weft.context.settings import LayerSettings, Preferences
from weft.context.system import (
    Instruction,
    Standing,
    SystemContext,
    SystemParts,
    build_system,
    standing_layer,
)
from weft.context.tokens import DEFAULT, JOINT, NO_LIMIT, Estimator
from weft.tree.content import Content
from weft.tree.message import Message
from weft.tree.tool_spec import ToolSpec
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.context.agent_view.agent_context import LoomAware

INPUT = "input"
"""The id under which a manifest lists text that is not a node yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a provider can do."""

    prefix_cache: bool = False
    prefill: bool = False
    """Whether a request may end with an assistant's message."""
    completion: bool = True
    """Whether an endpoint continues a document as it is; a chat model is sent references before it."""
    tools: bool = True
    """Whether calls and results are sent as such; elsewhere they are words, within tags."""
    system_anywhere: bool = False
    """Whether system messages may follow a user's message in mid-conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What comes with a generation that is not a node yet: its text, and its edge's further sources."""

    text: str = ""
    """In buffer mode the working buffer."""
    sources: tuple[ExtraSource, ...] = ()
    instructions: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """History as a strip: a summary, then the last turns as they were."""

    summary: str = ""
    """Of all turns before those that are kept; where there is none, `lines` are."""
    turns: int
    """How many turns before the current one are kept in any case."""
    through: int | None = None
    """The last level that the summary covers; later ones are kept too, so that nothing is lost between."""
    lines: tuple[tuple[int, str], ...] = ()
    """Level → its own summary: only those of the levels that are replaced are shown."""

    def text_before(self, level: int) -> str:
        """The summary of all levels before this one."""
        return self.summary or "\n".join(line for own, line in self.lines if own < level)


@dataclass(frozen=True, kw_only=True)
class ContextRequest:
    """A place in a tree, as light rows, everything that its layers are made of, and the settings."""

    mode: Mode
    outline: PathOutline
    budget: int
    window: int | None = None
    """The model's; the budget if not given."""
    system: SystemParts = field(default_factory=SystemParts)
    buffer_system_context: bool = False
    """Whether a document is sent with its system context."""
    preferences: Preferences = field(default_factory=Preferences)
    estimator: Estimator = DEFAULT
    profile: Profile = field(default_factory=Profile)
    pending: Pending = field(default_factory=Pending)
    authors: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names by author id, for `nameAuthors`."""
    headings: Mapping[str, str] = field(default_factory=dict[str, str])
    """By node id, the text before its words: a loom-aware agent's headings, or boundaries in prose."""
    preface: str = ""
    """The text before the current turn, or after a document: a loom-aware agent's context."""
    layered: bool = False
    """Whether a dialogue is laid out in layers: items of its turns, a library, an envelope."""
    loom: "LoomAware | None" = None
    """What a loom-aware agent sees beside the conversation, which is then laid out in layers."""
    warnings: tuple[str, ...] = ()
    """What could not be read of what the turns attached."""
    offset: int = 0
    """Levels of the path before the outline's first: what a summary replaces."""
    folded: int = 0
    """Levels that the outline's first row replaces, where it replaces any."""
    conversation_id: str = ""
    message_id: str = ""
    attached: Sequence[Attached] = ()
    """All items of the path's nodes, in the order of the path."""
    items: Sequence[ContextItem] = ()
    """Those of the input that is not a node yet."""
    fresh: Mapping[str, ContextItem] = field(default_factory=dict[str, ContextItem])
    """Items as they are now, by id, where they were read again; of those in `deleted`, as they were last read."""
    deleted: frozenset[str] = frozenset()
    """Ids of items whose source was deleted."""
    readers: frozenset[str] = frozenset()
    """What the model has to read on where only an outline is shown: names of tools, and `→ view`."""
    standing: Standing = field(default_factory=Standing)
    tool_outputs: Sequence[ToolOutput] = ()
    tools: tuple[ToolSpec, ...] = ()
    """For models with tool calling; fixed for an agent's life."""
    tool_descriptions: str = ""
    """For models that call tools in text; fixed for an agent's life."""
    memory_block: str = ""
    """A loom-aware agent's, which changes too often to be cached."""
    loom_context: str = ""
    strip: Strip | None = None
    run: int = 0
    """Levels at the outline's end that are no nodes: what was said and answered since the turn began."""
    alone: bool = False
    """Whether the input is a turn of its own, even after messages without an answer."""
    unsettled: bool = False
    """Whether the history changes as time passes: headings that say how long ago something was said."""
    settings: LayerSettings = field(default_factory=LayerSettings)
    own: Mapping[str, Content] = field(default_factory=dict[str, Content])
    """Contents of rows that are no nodes, by their ids."""
    shown: Callable[[Content], Content] | None = None
    """How the content of a node is shown, where it is not sent as it is."""
    shown_source: Callable[[Content], Content] | None = None
    """The same for nodes that are sources."""
    after: tuple[Message, ...] = ()
    """Messages after a document: the turns of a run that is going on."""
    held_back: int = 0
    """Tokens of the budget that are not used: an exact count of the whole was larger than of its parts."""

    def changed(self, **values: Any) -> "ContextRequest":
        """The same with other values of some fields: `replace` would set each of the many one by one."""
        copy, own = object.__new__(ContextRequest), self.__dict__
        # Not what was computed from them.
        copy.__dict__.update({name: own[name] for name in ContextRequest.__dataclass_fields__}, **values)
        return copy

    @property
    def dialogue(self) -> bool:
        return self.mode is Mode.DIALOGUE

    @property
    def refers(self) -> bool:
        """Whether sources are sent: to every model but one that only continues a document."""
        return self.dialogue or bool(self.preface) or not self.profile.completion

    @cached_property
    def rules(self) -> Rules:
        preferences = self.preferences
        marker = Marker(preferences.marker(self.mode), self.estimator, joint=JOINT if self.dialogue else "")
        return Rules(
            strategy=preferences.truncation_strategy,
            step=preferences.step(prefix_cache=self.profile.prefix_cache),
            # Where the history is reduced, what is left is shortened, not cut.
            minimum_recent=NO_LIMIT if self.folded else preferences.minimum_recent_nodes,
            marker=marker,
            dialogue=self.dialogue,
        )

    @cached_property
    def masks(self) -> MaskRule | None:
        """Which tool results are masked, where any are: a document has none."""
        newest = self.preferences.mask_tool_results
        if newest is None or not self.dialogue:
            return None
        return MaskRule(
            newest, self.preferences.mask_above, grid_step(self.rules.step, self.budget, self.window)
        )

    @property
    def parts(self) -> SystemParts:
        """What the system context is made of, with what instructs the pending generation."""
        further = self.pending.instructions
        return (
            replace(self.system, instructions=self.system.instructions + further) if further else self.system
        )

    @cached_property
    def system_context(self) -> SystemContext:
        """The system context of a request that is not laid out in layers."""
        parts, wanted, estimator = self.parts, self.preferences.instructions, self.estimator
        if self.dialogue:
            return build_system(parts, wanted, estimator)
        if self.buffer_system_context:
            return standing_layer(parts, self.standing, wanted, estimator)
        # A loom-aware agent is a chat model: it knows its own role in a document's tree too.
        own = SystemParts(agent=parts.agent, memory=parts.memory) if self.preface else SystemParts()
        rest = replace(parts, agent="", memory="") if self.preface else parts
        withheld = standing_layer(rest, self.standing, wanted, estimator)
        system = build_system(own, wanted, estimator)
        return replace(system, pieces=(*system.pieces, *withheld.left_out()))

    def head_reach(self) -> tuple[int, bool]:
        """How far from the root planning has to read, and whether that is on the ruler or in live tokens."""
        room = Room(budget=self.budget, system=self.system_context.tokens, window=self.window)
        return head_reach(room, self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """An attachment as it is shown, with the number of its revision along the path."""

    level: int
    item: ContextItem
    revision: int
    pinned: bool
    left_out: str
    first: bool
    """Whether this revision was not attached before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemLayers:
    """The system message in its parts."""

    standing: SystemContext
    held: tuple[Held, ...] = ()
    texts: tuple[str, ...] = ()
    """Of the held items."""
    sizes: tuple[int, ...] = ()
    """Their tokens."""
    heading: int = 0
    """Tokens of the library's heading."""
    tools: int = 0
    """Tokens of the tools that the provider is given as such."""
    descriptions: str = ""
    memory: str = ""
    summary: str = ""

    @property
    def library_tokens(self) -> int:
        return self.heading + sum(self.sizes)

    def context(self, estimator: Estimator) -> SystemContext:
        """All of it as one text, with the tokens of each part."""
        parts = list(self.standing.sizes)
        if self.held:
            parts.append((LayerId.LIBRARY.value, self.library_tokens))
        further = (
            ("tool descriptions", self.descriptions),
            ("memory block", self.memory),
            ("summary", self.summary),
        )
        parts += [("tools", self.tools)] if self.tools else []
        parts += [(name, estimator.of_text(text) + estimator.joint) for name, text in further if text]
        return SystemContext(self.text, sum(size for _, size in parts), (), sizes=tuple(parts))

    @property
    def library(self) -> str:
        return JOINT.join([LIBRARY_HEADING, *self.texts]) if self.held else ""

    @property
    def text(self) -> str:
        """L1 and L2; descriptions of tools follow where an agent needs them."""
        return JOINT.join(filter(None, [self.standing.text, self.library, self.descriptions]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A path in layers: which levels are the current turn, what each attached, what the system message holds.

    Levels are counted from the outline's first; items of earlier ones have negative levels.
    """

    outline: PathOutline
    """With the input as its last row, without what the strip's summary replaces."""
    offset: int
    turn: int
    """The level at which the current turn begins."""
    spoken: int
    """The level at which the input begins that a model answers: the turn's, unless a run has gone on since."""
    first_live: int | None
    """The level before whose words the turn's context is."""
    exchange: int = 0
    """How many levels at the path's end are tool calls and results: the turn is still being answered."""
    attached: tuple[Attached, ...]
    stripped: tuple[Candidate, ...] = ()
    placed: tuple[Placed, ...] = ()
    system: SystemLayers = field(default_factory=lambda: SystemLayers(standing=SystemContext("", 0, ())))

    goes_on: bool = False
    """Whether a run or tool calls follow the turn's own words."""

    @property
    def input_rows(self) -> list[tuple[int, Candidate]]:
        """The levels of the input, sent or not."""
        end = self.outline.first + len(self.outline.tail) - self.exchange
        rows = self.outline.known(self.spoken)
        return [(level, row) for level, row in rows if level < end and row.left_out is None]
