"""Spend caps: how many dollars a grove, a tree or an agent may cost, in all or in a day."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import select

from weft.argument_checks import shown
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, LimitExceededError
from weft.providers.base import ModelPrices, ModelProfile
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import ChangeSettings, load_settings
from weft.store import schema
from weft.store.lookup import find_agent, find_tree
from weft.store.model_calls import MICROS, spent_by
from weft.store.rows import AgentRow
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.json import JsonObject

CAPS = "spendCaps"
"""The grove setting with the caps: `grove`, `tree:ULID` or `agent:ULID`."""
_MOST_DOLLARS = 1_000_000_000
_GUESS = 4_096
"""Tokens of an answer without a limit."""


class SpendingPeriod(StrEnum):
    TOTAL = "total"
    DAY = "day"
    """In UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """So many dollars, and no more."""

    whose: str
    """`grove`, `tree:ULID` or `agent:ULID`."""
    period: SpendingPeriod
    dollars: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Spender:
    """A tree and an agent, by key and by id."""

    tree: int
    tree_id: str
    agent: int
    agent_id: str
    agent_name: str

    @classmethod
    def of(cls, tree: int, tree_id: str, agent: AgentRow) -> "Spender":
        return cls(tree=tree, tree_id=tree_id, agent=agent.key, agent_id=agent.ulid, agent_name=agent.name)


def caps_of(settings: Mapping[str, Any]) -> list[Cap]:
    caps: Mapping[str, Mapping[str, Any]] = settings.get(CAPS, {})
    return [
        Cap(whose=whose, period=SpendingPeriod(period), dollars=Decimal(str(dollars)))
        for whose, periods in sorted(caps.items())
        for period, dollars in sorted(periods.items())
    ]


def changed_caps(
    settings: Mapping[str, Any], whose: str, period: SpendingPeriod, dollars: Decimal | None
) -> JsonObject:
    """The caps with one set, or (None) taken away."""
    caps: dict[str, Any] = dict(settings.get(CAPS, {}))
    of_one = {name: amount for name, amount in caps.pop(whose, {}).items() if name != period.value}
    if dollars is not None:
        of_one[period.value] = str(dollars)
    return {**caps, whose: of_one} if of_one else caps


def caps_for(caps: list[Cap], spender: Spender) -> list[Cap]:
    """The caps on a call."""
    theirs = {"grove", f"tree:{spender.tree_id}", f"agent:{spender.agent_id}"}
    return [cap for cap in caps if cap.whose in theirs]


def is_paid(profile: ModelProfile) -> bool:
    """Whether a call may cost something; an unknown price may be any."""
    if profile.local:
        return False
    prices = profile.prices
    return prices is None or bool(prices.input or prices.output)


def micros_of(dollars: Decimal) -> int:
    return int((dollars * MICROS).to_integral_value(rounding=ROUND_CEILING))


def expected_micros(profile: ModelProfile, *, prompt: int, answer: int | None, n: int) -> int:
    """What a call with so long a prompt may cost at most, with n answers as long as they may be.

    A cache may have forgotten what it is expected to hold, and writing to it may cost more than
    reading: every token of the prompt counts at its highest price.
    """
    prices: ModelPrices | None = profile.prices
    if profile.local or prices is None:
        return 0
    longest = answer or profile.output_limit or max(_GUESS, (profile.window or 0) - prompt)
    reached = [prices, *(dearer for start, dearer in prices.above if prompt > start)]
    asked = max(_dearest(each) for each in reached) * prompt
    said = max(each.output for each in reached) * longest * n
    return micros_of((asked + said) / MICROS)


def _dearest(prices: ModelPrices) -> Decimal:
    """The most that a token of a prompt may cost."""
    return max(prices.input, prices.cached_read or prices.input, prices.cached_write or prices.input)


def require_held(caps: list[Cap], profile: ModelProfile, *, who: str, model: str) -> None:
    """A loop without a person must have a spend cap for models that cost money, and their price must be known."""
    if not caps:
        raise LimitExceededError(
            f"{who} costs money, and no person is present: set a spend cap",
            hint=Hint(HintKind.SET_CAP),
        )
    if profile.prices is None:
        raise LimitExceededError(
            f"the price of {model} is not known, so no cap can limit it",
            hint="watch it, or choose a model whose price is known",
        )


def require_room(session: Session, spender: Spender, *, now: int, more: int, mine: int) -> None:
    """Refuse what would go over a cap: `more` by all that are asked, `mine` by this agent, in millionths."""
    for cap in caps_for(caps_of(load_settings(session)), spender):
        wanted = mine if cap.whose.startswith("agent:") else more
        _require_room_in(session, cap, spender, now=now, more=wanted)


def _require_room_in(session: Session, cap: Cap, spender: Spender, *, now: int, more: int) -> None:
    spent = _spent(session, cap, spender, now)
    limit = micros_of(cap.dollars)
    if spent + more > limit or (not more and spent >= limit):
        raise LimitExceededError(
            f"this may cost ${_shown(more)}, and {_named(cap, spender)} has spent ${_shown(spent)} "
            f"of ${cap.dollars:f}{' today' if cap.period is SpendingPeriod.DAY else ''}",
            hint=Hint(HintKind.LOWER_TOKENS),
        )


def _spent(session: Session, cap: Cap, spender: Spender, now: int) -> int:
    of_tree, of_agent = cap.whose.startswith("tree:"), cap.whose.startswith("agent:")
    spent = spent_by(
        session, now, tree=spender.tree if of_tree else None, agent=spender.agent if of_agent else None
    )
    return spent.today if cap.period is SpendingPeriod.DAY else spent.total


def _named(cap: Cap, spender: Spender) -> str:
    kind = cap.whose.partition(":")[0]
    return repr(spender.agent_name) if kind == "agent" else f"the {kind}"


def _shown(micros: int) -> str:
    return f"{Decimal(micros) / MICROS:.4f}"


def period_from(given: object) -> SpendingPeriod:
    try:
        return SpendingPeriod(given)
    except ValueError:
        names = " or ".join(repr(each.value) for each in SpendingPeriod)
        raise InvalidInputError(f"there is no period {shown(given)}", hint=f"it is {names}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCap(Editing):
    """Set a cap, or (None) take it away. Whose it is, is looked for and written down in one transaction."""

    verb: ClassVar[str] = "set preferences"
    access: ClassVar[MemberRole] = MemberRole.OWNER
    whose: str
    """`grove`, `tree:` or `agent:`, and what names one."""
    period: SpendingPeriod
    dollars: Decimal | None

    def apply(self, scope: Scope) -> None:
        if not isinstance(self.whose, str):  # pyright: ignore[reportUnnecessaryIsInstance] - what callers without types give
            raise _nobody(self.whose)
        # Before they are read: two who set caps at once would each put back what the other changed.
        scope.open_grove()
        kept = load_settings(scope.transaction)
        gone = self.dollars is None and self.whose in kept.get(CAPS, {})
        whose = self.whose if gone else self._found(scope)
        caps = changed_caps(kept, whose, self.period, self.dollars)
        ChangeSettings(settings={CAPS: caps or None}).apply(scope)

    def _found(self, scope: Scope) -> str:
        """By its id, however it was named: names change, and prefixes may come to mean another."""
        kind, _, reference = self.whose.partition(":")
        transaction = scope.transaction
        match kind:
            case "tree":
                key = find_tree(transaction, reference)
                trees = schema.trees
                ulid = transaction.execute(select(trees.c.ulid).where(trees.c.key == key)).scalar_one()
                return f"tree:{ulid}"
            case "agent":
                return f"agent:{transaction.agent(find_agent(transaction, reference)).ulid}"
            case _ if self.whose == "grove":
                return "grove"
            case _:
                raise _nobody(self.whose)


def _nobody(whose: object) -> InvalidInputError:
    return InvalidInputError(
        f"{shown(whose)} cannot have a cap", hint="a cap is on grove, on tree:ID or on agent:ID"
    )
