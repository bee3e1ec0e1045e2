"""Spend caps: how many dollars a grove, a tree or an agent may cost, in all or in a day."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Any

from weft.errors import InvalidInputError, LimitExceededError
from weft.providers.base import Prices, Profile
from weft.runtime.generating.settings import kept_settings
from weft.store.session import Session
from weft.store.spending import MICROS, Spent, spent_by
from weft.tree.attempt import Usage
from weft.tree.json import JsonObject

__all__ = [
    "CAPS",
    "Cap",
    "Period",
    "Spender",
    "caps_for",
    "caps_of",
    "changed_caps",
    "expected_micros",
    "is_paid",
    "micros_of",
    "period_room",
    "require_room",
]

CAPS = "spendCaps"
"""The key under which the grove's preferences hold them: `grove`, `tree:ULID` or `agent:ULID`."""
_GUESS = 4_096
"""Tokens of an answer of which nobody says how long it may be."""


class Period(StrEnum):
    TOTAL = "total"
    DAY = "day"
    """In UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """So many dollars, and no more."""

    whose: str
    """`grove`, `tree:ULID` or `agent:ULID`."""
    period: Period
    dollars: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Spender:
    """A tree and an agent, by key and by id."""

    tree: int
    tree_id: str
    agent: int
    agent_id: str
    agent_name: str


def caps_of(settings: Mapping[str, Any]) -> list[Cap]:
    kept: Mapping[str, Mapping[str, Any]] = settings.get(CAPS, {})
    return [
        Cap(whose=whose, period=Period(period), dollars=Decimal(str(dollars)))
        for whose, periods in sorted(kept.items())
        for period, dollars in sorted(periods.items())
    ]


def changed_caps(
    settings: Mapping[str, Any], whose: str, period: Period, dollars: Decimal | None
) -> JsonObject:
    """The caps with one set, or (None) taken away."""
    if dollars is not None and not (dollars.is_finite() and dollars >= 0):
        raise InvalidInputError(f"a cap of {dollars} dollars makes no sense", hint="0 or more")
    kept: dict[str, dict[str, Any]] = {
        name: dict(periods) for name, periods in settings.get(CAPS, {}).items()
    }
    mine = kept.setdefault(whose, {})
    if dollars is None:
        mine.pop(period.value, None)
    else:
        mine[period.value] = str(dollars)
    return {name: periods for name, periods in kept.items() if periods}


def caps_for(caps: list[Cap], spender: Spender) -> list[Cap]:
    """Those that stand over a call."""
    theirs = {"grove", f"tree:{spender.tree_id}", f"agent:{spender.agent_id}"}
    return [cap for cap in caps if cap.whose in theirs]


def is_paid(profile: Profile) -> bool:
    """Whether a call may cost something; a price that nobody knows may be any."""
    if profile.local:
        return False
    prices = profile.prices
    return prices is None or bool(prices.input or prices.output)


def micros_of(dollars: Decimal) -> int:
    return int((dollars * MICROS).to_integral_value(rounding=ROUND_CEILING))


def expected_micros(profile: Profile, *, prompt: int, cached: int, answer: int | None, n: int) -> int:
    """What a call may cost at most: its prompt, and n answers as long as they may be."""
    prices: Prices | None = profile.prices
    if profile.local or prices is None:
        return 0
    longest = answer or profile.output_limit or _GUESS
    usage = Usage(prompt=prompt, completion=longest * n, cached_read=cached)
    return micros_of(prices.cost(usage))


def require_room(session: Session, spender: Spender, *, now: int, more: int, mine: int) -> None:
    """Refuse what would go over a cap: `more` by all that are asked, `mine` by this agent, in millionths."""
    for cap in caps_for(caps_of(kept_settings(session)), spender):
        wanted = mine if cap.whose.startswith("agent:") else more
        period_room(session, cap, now=now, more=wanted, spender=spender)


def period_room(session: Session, cap: Cap, *, now: int, more: int, spender: Spender | None = None) -> None:
    """Refuse what would go over this cap."""
    spent = _spent(session, cap, spender, now)
    limit = micros_of(cap.dollars)
    if spent + more > limit or (not more and spent >= limit):
        raise LimitExceededError(
            f"this may cost ${_shown(more)}, and {_told(cap, spender)} has spent ${_shown(spent)} "
            f"of ${cap.dollars:f}{' today' if cap.period is Period.DAY else ''}",
            hint="set max_tokens, raise the cap (weft spend cap), or choose a cheaper model",
        )


def _spent(session: Session, cap: Cap, spender: Spender | None, now: int) -> int:
    if spender is None or cap.whose == "grove":
        found: Spent = spent_by(session, now)
    elif cap.whose.startswith("tree:"):
        found = spent_by(session, now, tree=spender.tree)
    else:
        found = spent_by(session, now, agent=spender.agent)
    return found.today if cap.period is Period.DAY else found.total


def _told(cap: Cap, spender: Spender | None) -> str:
    if spender is None or cap.whose == "grove":
        return "the grove"
    return "the tree" if cap.whose.startswith("tree:") else repr(spender.agent_name)


def _shown(micros: int) -> str:
    return f"{Decimal(micros) / MICROS:.4f}"
