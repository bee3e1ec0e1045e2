"""What somebody wants generated, as keywords and as a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, TypedDict

from weft.context.layers.blocks import ToolOutput
from weft.context.tokens import EstimatorLike
from weft.errors import InvalidInputError, LimitExceededError
from weft.providers.base import Parameters
from weft.runtime.contexts.option_checks import check_generation, check_known, listed, node_references
from weft.runtime.generation.spending import dollars_from
from weft.tree.agent import Agent
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Identified

if TYPE_CHECKING:
    from weft.runtime.generation.assembly import RequestAssembler

MOST_AT_ONCE = 100
"""Continuations of one call, all agents together."""
_OURS = frozenset({"contextWindow", "crossTree", "inlineTokens", "loomLayout"})
"""Settings of an agent that are ours and no provider's."""


class GenerationKeywords(TypedDict, total=False):
    """How a generation is wanted; what is not said is as the agent, the tree or the grove says."""

    n: int
    agent: str | None
    agents: Sequence[str]
    """Several at once, for comparison: each gives n."""
    context: Sequence[Identified | str]
    instructions: Sequence[Identified | str]
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    stop: Sequence[str]
    seed: int | None
    logprobs: int | None
    timeout: float | None
    limit: int | None
    window: int | None
    preferences: Mapping[str, JsonValue]
    estimator: EstimatorLike | None
    tool_outputs: Sequence[ToolOutput]
    """What tools gave for this turn."""
    idempotency_key: str | None
    max_price: float | Decimal | None
    """Dollars above which nothing is asked at all."""
    unattended: bool
    """In a loop that nobody watches: a paid model then needs a spend cap."""
    assembly: "RequestAssembler"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """The same, checked, with nodes as references."""

    n: int = 1
    agents: tuple[str, ...] = ()
    """Empty: the default one."""
    context: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    logprobs: int | None = None
    timeout: float | None = None
    limit: int | None = None
    window: int | None = None
    preferences: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    estimator: EstimatorLike | None = None
    tool_outputs: tuple[ToolOutput, ...] = ()
    idempotency_key: str | None = None
    max_price: Decimal | None = None
    unattended: bool = False
    chain: tuple[str, ...] = ()
    """Ids of the agents that led here, one through another: none of them is asked again."""
    moves: bool = True
    """Whether whoever asks goes on to what came."""
    as_subjects: bool = False
    """Whether the agents are shown nothing of the loom, whatever they may do elsewhere."""
    assembly: "RequestAssembler | None" = None

    def body(self) -> JsonObject:
        """What makes two calls the same."""
        return {
            "n": self.n,
            "agents": list(self.agents),
            "context": list(self.context),
            "instructions": list(self.instructions),
            "temperature": self.temperature,
            "topP": self.top_p,
            "maxTokens": self.max_tokens,
            "stop": None if self.stop is None else list(self.stop),
            "seed": self.seed,
            "logprobs": self.logprobs,
            "limit": self.limit,
            "window": self.window,
            "preferences": dict(self.preferences),
            **({"toolOutputs": [each.render() for each in self.tool_outputs]} if self.tool_outputs else {}),
        }


def parse_options(given: GenerationKeywords) -> GenerationOptions:
    """Check what can be checked without looking anywhere."""
    check_known(given, GenerationKeywords.__annotations__, "a generation")
    check_generation(given)
    agent = given.get("agent")
    agents = (agent,) if agent is not None else tuple(given.get("agents", ()))
    if agent is not None and given.get("agents"):
        raise InvalidInputError("agent and agents are both given", hint="name them all in agents")
    if len(set(agents)) < len(agents):
        raise InvalidInputError("an agent is named twice", hint="name each once; n says how often it answers")
    n = given.get("n", 1)
    if n * max(1, len(agents)) > MOST_AT_ONCE:
        raise LimitExceededError(
            f"{n * max(1, len(agents)):,} continuations at once; the most is {MOST_AT_ONCE}",
            hint="ask for fewer, and again",
        )
    stop = given.get("stop")
    price = given.get("max_price")
    return GenerationOptions(
        n=n,
        agents=agents,
        context=_references(given.get("context", ()), "context"),
        instructions=_references(given.get("instructions", ()), "instructions"),
        temperature=given.get("temperature"),
        top_p=given.get("top_p"),
        max_tokens=given.get("max_tokens"),
        stop=None if stop is None else tuple(stop),
        seed=given.get("seed"),
        logprobs=given.get("logprobs"),
        timeout=given.get("timeout"),
        limit=given.get("limit"),
        window=given.get("window"),
        preferences=dict(given.get("preferences", {})),
        estimator=given.get("estimator"),
        tool_outputs=tuple(given.get("tool_outputs", ())),
        idempotency_key=given.get("idempotency_key"),
        max_price=None if price is None else dollars_from(price, "a highest price"),
        unattended=given.get("unattended", False),
        assembly=given.get("assembly"),
    )


def _references(nodes: Sequence[Identified | str], name: str) -> tuple[str, ...]:
    return node_references(listed(nodes, name, "nodes or their ids"), name)


def parameters_for(agent: Agent, wishes: GenerationOptions) -> Parameters:
    """What this call says, else what the agent is set to; n is 1, whoever asks says otherwise."""
    settings = agent.configuration
    return Parameters(
        temperature=settings.temperature if wishes.temperature is None else wishes.temperature,
        top_p=wishes.top_p,
        max_tokens=settings.max_tokens if wishes.max_tokens is None else wishes.max_tokens,
        stop=settings.stop_sequences if wishes.stop is None else wishes.stop,
        seed=wishes.seed,
        logprobs=wishes.logprobs,
        timeout=wishes.timeout,
        custom={name: value for name, value in settings.custom.items() if name not in _OURS},
    )
