"""The options of a generation and of a collaborator's run: every keyword with its type, its default and its description."""

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Self

from weft.argument_checks import option, shown
from weft.errors import InvalidInputError
from weft.runtime.contexts.options import ContextOptions, SamplingOptions, check_count, ids_of
from weft.tree.citation import CitedSource
from weft.tree.json import JsonObject

if TYPE_CHECKING:
    # The engine loads with the first call that needs it.
    from weft.context.result import Context

_LONGEST_WAIT = 3_600
_ATTENDED = 120.0
_MOST = 1_000_000
_MOST_DOLLARS = 1_000_000_000
_TIMEOUT = "Seconds without a word after which the call fails."
_UNATTENDED = "In a loop without a person: a paid model then needs a spend cap."
_BESIDE_PREPARED = frozenset({"prepared", "timeout", "unattended", "idempotency_key", "max_price", "citable"})
"""Options that decide nothing about what is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions(ContextOptions):
    """How nodes are generated: what is sent, who answers, and what it may cost."""

    agents: Collection[str] = option(
        (), "Several agents, to compare: each gives n.", wanted="a list of names or ids of agents"
    )
    prepared: "Context | None" = option(
        None, "Send exactly this context: `node.context(…)`.", wanted="a context of this node"
    )
    timeout: float | None = option(None, _TIMEOUT, least=0.001, most=_LONGEST_WAIT)
    unattended: bool = option(False, _UNATTENDED)
    idempotency_key: str | None = option(
        None,
        "Repeating the key returns the first result.",
        least=1,
        most=255,
        wanted="a text of at most 255 characters",
    )
    citable: Sequence[CitedSource] = option(
        (), "Sources that the answer may cite beside those of `tool_outputs`."
    )
    max_price: float | Decimal | str | None = option(None, "Dollars; a call that could cost more is refused.")

    def __post_init__(self) -> None:
        # Without arguments `super` looks for the class that slots replaced.
        super(GenerationOptions, self).__post_init__()
        if self.agent is not None and self.agents:
            raise InvalidInputError("agent and agents are both given", hint="name them all in agents")
        if self.max_tokens == 0:
            raise InvalidInputError(
                "max_tokens must be at least 1, got 0",
                hint=self.specs()["max_tokens"].help,
                path="max_tokens",
            )
        for name in ("text", "items"):
            if getattr(self, name):
                raise InvalidInputError(
                    f"{name} is input that is not a node yet",
                    hint="say it, and generate from there",
                    path=name,
                )
        if self.prepared is not None:
            self._refuse_assembling()
        names = self.agent_names
        if len(set(names)) < len(names):
            raise InvalidInputError(
                "an agent is named twice", hint="name each once; n says how often it answers", path="agents"
            )
        check_count(self.n * max(1, len(names)))
        if self.max_price is not None:
            dollars_from(self.max_price, "max_price")

    def _refuse_assembling(self) -> None:
        """A prepared context is sent as it is."""
        for each in fields(GenerationOptions):
            if each.name not in _BESIDE_PREPARED and getattr(self, each.name) != each.default:
                raise InvalidInputError(
                    f"{each.name} cannot be given with prepared",
                    hint="give it to the context that is prepared",
                    path=each.name,
                )

    @property
    def agent_names(self) -> tuple[str, ...]:
        """The agents that answer; none: the default one."""
        return tuple(self.agents) if self.agent is None else (self.agent,)

    @property
    def highest_price(self) -> Decimal | None:
        return None if self.max_price is None else dollars_from(self.max_price, "max_price")

    def body(self) -> JsonObject:
        """What makes two calls the same."""
        if self.prepared is not None:
            delivery = self.prepared.delivery
            return {"prepared": "" if delivery is None else delivery.fingerprint}
        return {
            **self.further(),
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
class RunOptions(SamplingOptions):
    """How a collaborator's run goes. A reached limit ends it with a note."""

    timeout: float | None = option(None, _TIMEOUT, least=0.001, most=_LONGEST_WAIT)
    unattended: bool = option(False, _UNATTENDED)

    turns: int = option(12, "How often the model may answer.", least=1, most=_MOST)
    tokens: int = option(
        32_000, "Tokens of its answers and of its commands' results, together.", least=1, most=_MOST
    )
    seconds: float = option(300.0, "How long it may take.", least=0.001, most=_MOST)
    dollars: float | Decimal | str | None = option(
        None, "What this run may cost; the grove's spend caps hold as well."
    )
    approval_seconds: float | None = option(
        None,
        "How long it waits for a person's approval on any face, for a tool with effects or a missing permission; "
        "default: refused where the caller cannot ask a person, and over HTTP two minutes.",
        least=0,
        most=86_400,
    )

    def __post_init__(self) -> None:
        # Without arguments `super` looks for the class that slots replaced.
        super(RunOptions, self).__post_init__()
        if self.dollars is not None:
            dollars_from(self.dollars, "dollars")
        _ = self.generation

    @property
    def budget(self) -> Decimal | None:
        """What the run may cost, in dollars."""
        return None if self.dollars is None else dollars_from(self.dollars, "dollars")

    def attended(self) -> Self:
        """The same where people can see what waits for them, as over HTTP: two minutes unless it is set."""
        return replace(self, approval_seconds=_ATTENDED) if self.approval_seconds is None else self

    @property
    def waits_for_approval(self) -> float:
        """Seconds; 0: no person is present."""
        return 0.0 if self.unattended else self.approval_seconds or 0.0

    @property
    def generation(self) -> GenerationOptions:
        """How each turn is generated."""
        names = [*(each.name for each in fields(SamplingOptions)), "timeout", "unattended"]
        return GenerationOptions(**{name: getattr(self, name) for name in names})

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
