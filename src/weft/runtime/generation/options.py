"""The options of a generation and of a collaborator's run: every keyword with its type, its default and its description."""

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from weft.argument_checks import LARGEST, option, shown
from weft.errors import InvalidInputError, LimitExceededError
from weft.runtime.contexts.options import FitOptions, ids_of
from weft.tree.content import check_text
from weft.tree.json import JsonObject
from weft.tree.node import Identified

if TYPE_CHECKING:
    # The engine loads with the first call that needs it.
    from weft.context.layers.blocks import ToolOutput
    from weft.runtime.generation.assembly import RequestAssembler

MOST_AT_ONCE = 100
"""Continuations of one call, all agents together."""
_LONGEST_WAIT = 3_600
_MOST = 1_000_000
_MOST_DOLLARS = 1_000_000_000
_STOPS = 100
_STOP_LIMIT = 1_000
_NODES = "a list of nodes or their ids"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions(FitOptions):
    """How a model is called. What is left out follows from the agent, the tree or the grove."""

    temperature: float | None = option(None, "The sampling temperature.", least=0, most=10)
    max_tokens: int | None = option(None, "The longest answer, in tokens.", least=1)
    seed: int | None = option(None, "Makes sampling repeatable, where the provider can.", least=-LARGEST)
    timeout: float | None = option(
        None, "Seconds without a word after which the call fails.", least=0.001, most=_LONGEST_WAIT
    )
    unattended: bool = option(False, "In a loop without a person: a paid model then needs a spend cap.")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions(CallOptions):
    """How nodes are generated."""

    n: int = option(1, "How many continuations, by each agent.", least=1)
    agent: str | None = option(
        None,
        "The agent that answers; default: the default agent.",
        least=1,
        wanted="the name or id of an agent",
    )
    agents: Collection[str] = option(
        (), "Several agents, to compare: each gives n.", wanted="a list of names or ids of agents"
    )
    context: Collection[Identified | str] = option(
        (), "Further nodes that the answer draws on.", wanted=_NODES
    )
    instructions: Collection[Identified | str] = option(
        (), "Further nodes that are instructions.", wanted=_NODES
    )
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
    tool_outputs: "Sequence[ToolOutput]" = option((), "Outputs of tools for this turn: `grove.tools.run(…)`.")
    idempotency_key: str | None = option(
        None,
        "Repeating the key returns the first result.",
        least=1,
        most=255,
        wanted="a text of at most 255 characters",
    )
    max_price: float | Decimal | str | None = option(None, "Dollars; a call that could cost more is refused.")

    assembly: "RequestAssembler | None" = option(
        None, "Assembles the request instead of Weft.", wanted="a function that assembles a request"
    )

    def __post_init__(self) -> None:
        # Without arguments `super` looks for the class that slots replaced.
        super(GenerationOptions, self).__post_init__()
        for each in self.stop or ():
            if not 0 < len(each) <= _STOP_LIMIT:
                raise InvalidInputError(
                    f"stop must be texts of 1 to {_STOP_LIMIT:,} characters, got {shown(each)}",
                    hint="leave it out for none",
                    path="stop",
                )
            check_text(each, what="a stop sequence")
        if self.agent is not None and self.agents:
            raise InvalidInputError("agent and agents are both given", hint="name them all in agents")
        names = self.agent_names
        if len(set(names)) < len(names):
            raise InvalidInputError(
                "an agent is named twice", hint="name each once; n says how often it answers", path="agents"
            )
        if (count := self.n * max(1, len(names))) > MOST_AT_ONCE:
            raise LimitExceededError(
                f"{count:,} continuations at once; the most is {MOST_AT_ONCE}",
                hint="ask for fewer, and again",
            )
        if self.max_price is not None:
            dollars_from(self.max_price, "max_price")

    @property
    def agent_names(self) -> tuple[str, ...]:
        """The agents that answer; none: the default one."""
        return tuple(self.agents) if self.agent is None else (self.agent,)

    @property
    def highest_price(self) -> Decimal | None:
        return None if self.max_price is None else dollars_from(self.max_price, "max_price")

    def body(self) -> JsonObject:
        """What makes two calls the same."""
        return {
            "n": self.n,
            "agents": list(self.agent_names),
            "context": list(ids_of(self.context)),
            "instructions": list(ids_of(self.instructions)),
            "temperature": self.temperature,
            "topP": self.top_p,
            "maxTokens": self.max_tokens,
            "stop": None if self.stop is None else list(self.stop),
            "seed": self.seed,
            "logprobs": self.logprobs,
            "limit": self.limit,
            "window": self.window,
            "preferences": self.settings,
            **({"toolOutputs": [each.render() for each in self.tool_outputs]} if self.tool_outputs else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(CallOptions):
    """How a collaborator's run goes. A reached limit ends it with a note."""

    turns: int = option(12, "How often the model may answer.", least=1, most=_MOST)
    tokens: int = option(
        32_000, "Tokens of its answers and of its commands' results, together.", least=1, most=_MOST
    )
    seconds: float = option(300.0, "How long it may take.", least=0.001, most=_MOST)
    dollars: float | Decimal | str | None = option(
        None, "What this run may cost; the grove's spend caps hold as well."
    )

    def __post_init__(self) -> None:
        # Without arguments `super` looks for the class that slots replaced.
        super(RunOptions, self).__post_init__()
        if self.dollars is not None:
            dollars_from(self.dollars, "dollars")

    @property
    def budget(self) -> Decimal | None:
        """What the run may cost, in dollars."""
        return None if self.dollars is None else dollars_from(self.dollars, "dollars")

    @property
    def generation(self) -> GenerationOptions:
        """How each turn is generated."""
        return GenerationOptions(**{each.name: getattr(self, each.name) for each in fields(CallOptions)})

    def reached(self, *, turns: int, tokens: int, seconds: float) -> str | None:
        """Why the run ends, if a limit is reached."""
        if turns >= self.turns:
            return f"ended after {self.turns:,} turn{'' if self.turns == 1 else 's'}"
        if tokens >= self.tokens:
            return f"ended after {tokens:,} tokens, of {self.tokens:,}"
        if seconds >= self.seconds:
            return f"ended after {self.seconds:g} seconds"
        return None


def dollars_from(given: object, name: str) -> Decimal:
    """An amount of money from a number or a text."""
    amount = None
    if isinstance(given, int | float | str | Decimal) and not isinstance(given, bool):
        with contextlib.suppress(InvalidOperation, ValueError):
            amount = Decimal(str(given).strip())
    if amount is None or not amount.is_finite() or not 0 <= amount <= _MOST_DOLLARS:
        raise InvalidInputError(
            f"{name} must be an amount of dollars, got {shown(given)}",
            hint="a number: 0 or more, such as 2.50",
            path=name,
        )
    # As many digits as the context of decimals computes with.
    return +amount
