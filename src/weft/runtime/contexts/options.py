"""The options of a context: every keyword with its type, its default and its description."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from weft.argument_checks import LARGEST, Options, option, shown
from weft.errors import InvalidInputError, LimitExceededError
from weft.tree.content import check_text
from weft.tree.item import Item
from weft.tree.json import JsonObject, JsonValue, camel
from weft.tree.json_names import to_microseconds
from weft.tree.node import Identified
from weft.tree.tool_spec import ToolChoice, ToolSpec, check_tools

if TYPE_CHECKING:
    # The engine loads with the first call that needs it.
    from weft.context.fit import Strategy
    from weft.context.items.blocks import ToolOutput
    from weft.context.items.item_types import ContextItem
    from weft.context.settings import Changed, Placement
    from weft.context.tokens import EstimatorLike


_NODES = "a list of nodes or their ids"
_STOPS = 100
MOST_AT_ONCE = 100
"""Continuations of one call, all agents together."""
_LATEST = to_microseconds(datetime(9999, 12, 31, tzinfo=UTC))
_STOP_LIMIT = 1_000


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
    record_payload: bool | None = option(
        None, "Log the request in layers, as it is sent.", setting="recordPayload"
    )

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The preferences, and the options that are short names of settings."""
        settings = dict(self.preferences or {})
        for name, setting in _short_names(type(self)):
            value = getattr(self, name)
            if value is not None:
                settings[setting] = value if isinstance(value, int | float) else str(value)
        return settings


@cache
def _short_names(options: type[Options]) -> list[tuple[str, str]]:
    """The options that are short names of settings, each with its setting."""
    return [(name, spec.setting) for name, spec in options.specs().items() if spec.setting]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions(FitOptions):
    """How a model samples its answer. What is left out follows from the agent."""

    temperature: float | None = option(None, "The sampling temperature.", least=0, most=10)
    max_tokens: int | None = option(
        None, "The longest answer, in tokens: the part of the window that is reserved for it.", least=0
    )
    seed: int | None = option(None, "Makes sampling repeatable, where the provider can.", least=-LARGEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions(SamplingOptions):
    """Everything that decides what is sent to a model. What is left out follows from the agent, the tree or the grove."""

    n: int = option(1, "How many continuations, by each agent.", least=1)
    agent: str | None = option(
        None,
        "The agent that answers; default: the default agent.",
        least=1,
        wanted="the name or id of an agent",
    )
    as_of: datetime | str | None = option(
        None, "The moment that relative times are told from; default: now.", wanted="a date and time"
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
    tool_calling: bool | None = option(
        None, "Whether the model has tool calling; default: what it says. Without it, calls are words."
    )
    system_anywhere: bool | None = option(
        None, "Whether system messages may stand in mid-conversation; default: what the provider takes."
    )
    annotations: bool | Collection[Identified | str] = option(
        False, "True includes the annotations on the path's nodes, a list those of these nodes."
    )
    text: str | None = option(
        None, "Input that is not a node yet; in a buffer it replaces the working buffer."
    )
    context: Collection[Identified | str] = option(
        (), "Further nodes that the answer draws on.", wanted=_NODES
    )
    instructions: Collection[Identified | str] = option(
        (), "Further nodes that are instructions.", wanted=_NODES
    )
    tool_outputs: "Sequence[ToolOutput]" = option((), "Outputs of tools for this turn: `grove.tools.run(…)`.")
    items: "Sequence[Item | ContextItem]" = option(
        (), "Items of input that is not a node yet: `grove.vaults.items(…)`."
    )
    tools: Sequence[ToolSpec] = option(
        (),
        "Tools that the model may call: by its provider's own tool calling, else in words.",
        wanted="a list of tools: ToolSpec(name=…, description=…, schema=…)",
    )
    tool_choice: str = option("auto", "Whether the model may call its tools: auto, none or required.")
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
    top_p: float | None = option(None, "Sample from this share of the likeliest tokens.", least=0, most=1)
    stop: Sequence[str] | None = option(
        None,
        "Texts that end the answer.",
        most=_STOPS,
        wanted=f"a list of at most {_STOPS} texts, none empty",
    )
    logprobs: int | None = option(
        None, "How many likeliest tokens to record at each place.", least=0, most=100
    )

    def __post_init__(self) -> None:
        # Without arguments `super` looks for the class that slots replaced.
        super(ContextOptions, self).__post_init__()
        for each in self.stop or ():
            if not 0 < len(each) <= _STOP_LIMIT:
                raise InvalidInputError(
                    f"stop must be texts of 1 to {_STOP_LIMIT:,} characters, got {shown(each)}",
                    hint="leave it out for none",
                    path="stop",
                )
            check_text(each, what="a stop sequence")
        check_count(self.n)
        check_tools(self.tools)
        if self.tool_choice not in set(ToolChoice):
            raise InvalidInputError(
                f"tool_choice must be {', '.join(ToolChoice)}, got {shown(self.tool_choice)}",
                path="tool_choice",
            )
        _ = self.moment

    @property
    def moment(self) -> int | None:
        """`as_of` as it is stored: microseconds since 1970."""
        given = self.as_of
        if isinstance(given, str):
            try:
                given = datetime.fromisoformat(given.strip())
            except ValueError:
                raise InvalidInputError(
                    f"as_of must be a date and time, got {shown(given)}",
                    hint="write it as 2026-01-31T18:30:00Z",
                    path="as_of",
                ) from None
        if given is None:
            return None
        moment = to_microseconds(given if given.tzinfo is not None else given.replace(tzinfo=UTC))
        if not 0 <= moment <= _LATEST:
            raise InvalidInputError(
                f"as_of must be between 1970 and 9999, got {shown(given.isoformat())}",
                hint="leave it out for now",
                path="as_of",
            )
        return moment

    def further(self) -> JsonObject:
        """The options beside settings, sources and sampling that were given, by their names on the wire."""
        given = {name: getattr(self, name) for name in _FURTHER}
        if not isinstance(self.annotations, bool):
            given["annotations"] = list(ids_of(self.annotations))
        usual = {each.name: each.default for each in fields(ContextOptions)}
        further = {camel(name): value for name, value in given.items() if value != usual[name]}
        if self.tools:
            # As texts: what is kept has its keys sorted, and what is sent has them in their own order.
            further["tools"] = [tool.json for tool in self.tools]
        if self.tool_choice != ToolChoice.AUTO:
            further["toolChoice"] = str(self.tool_choice)
        return further

    @classmethod
    def from_further(cls, kept: Mapping[str, Any]) -> dict[str, Any]:
        """What `further` gave, as keywords."""
        names = {camel(each.name): each.name for each in fields(cls)}
        keywords = {names[name]: value for name, value in kept.items()}
        if "tools" in keywords:
            keywords["tools"] = tuple(ToolSpec.from_wire(json.loads(each)) for each in keywords["tools"])
        return keywords


def check_count(count: int) -> None:
    """Raise if so many continuations are more than one call may ask for."""
    if count > MOST_AT_ONCE:
        raise LimitExceededError(
            f"{count:,} continuations at once; the most is {MOST_AT_ONCE}", hint="ask for fewer at a time"
        )


_FURTHER = (
    *(
        "prefix_cache",
        "prefill",
        "completion",
        "tool_calling",
        "system_anywhere",
        "annotations",
        "tool_descriptions",
        "memory_block",
        "loom_context",
    ),
    *("addendum", "summary", "fresh"),
)


def ids_of(nodes: Iterable[Identified | str]) -> tuple[str, ...]:
    """Nodes by their ids; what already is an id or a reference stays."""
    return tuple(node if isinstance(node, str) else node.id for node in nodes)
