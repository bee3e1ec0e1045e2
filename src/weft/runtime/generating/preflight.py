"""What a generation would mean, before anything is spent."""

from dataclasses import dataclass
from decimal import Decimal

__all__ = ["AgentPreflight", "Preflight"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPreflight:
    """What asking one agent would mean."""

    agent: str
    model: str
    n: int
    requests: int
    tokens: int
    """Of each request, by the estimator."""
    window: int | None
    cached: int | None
    """How many of these tokens the provider will find in its cache, where that can be told."""
    dollars: Decimal | None
    """For all of it at most, if nothing is cached; None if nobody knows the price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What a generation would mean, before anything is spent."""

    agents: tuple[AgentPreflight, ...]

    @property
    def tokens(self) -> int:
        return sum(each.tokens * each.requests for each in self.agents)

    @property
    def cached_share(self) -> float | None:
        """Of all tokens that would be sent; None where it cannot be told."""
        if any(each.cached is None for each in self.agents) or not self.tokens:
            return None
        return sum((each.cached or 0) * each.requests for each in self.agents) / self.tokens

    @property
    def dollars(self) -> Decimal | None:
        """At most; None if the price of one is not known."""
        known = [each.dollars for each in self.agents if each.dollars is not None]
        return sum(known, Decimal(0)) if len(known) == len(self.agents) else None
