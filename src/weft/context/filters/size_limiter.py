"""Keep the newest messages that a budget has room for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from weft.context.filters.base import FilterContext, Options, flag, number
from weft.context.javascript import compact_json, fields_of, slice_units, utf16_units
from weft.context.tokens import EstimatorLike, estimator_of
from weft.errors import InvalidInputError

__all__ = ["MAX_TOKENS", "limit_size"]

MAX_TOKENS = 24_000
_OVERHEAD = 8
_MAX_CONTENT = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    budget: float
    overhead: float
    longest: float
    prioritise_system: bool
    prioritise_user: bool
    preserve_system: bool
    count: Callable[[str], float]


def limit_size(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Take messages newest first while they fit, passing over those that do not.

    A message costs its whole JSON, not just its content, and an overhead. Prioritised roles
    are served first; what is kept stands in its original order.
    """
    rules = _Rules(
        budget=number(options, "maxTokens", MAX_TOKENS),
        overhead=number(options, "perMessageOverhead", _OVERHEAD),
        longest=number(options, "maxContentChars", _MAX_CONTENT),
        prioritise_system=flag(options, "prioritizeSystem", default=False),
        prioritise_user=flag(options, "prioritizeUser", default=True),
        preserve_system=flag(options, "preserveAtLeastOneSystem", default=True),
        count=_counter(options.get("tokenizer")),
    )
    cut = [_cut(message, rules.longest) for message in messages]
    costs = [rules.count(compact_json(message)) + rules.overhead for message in cut]
    roles = [_role(message) for message in cut]
    chosen = _chosen(roles, costs, rules)
    if rules.preserve_system:
        _preserve(chosen, roles, costs, rules.budget)
    for position, (before, after) in enumerate(zip(messages, cut, strict=True)):
        if position not in chosen:
            context.trace.dropped(
                position, before, f"does not fit {options.get('maxTokens', MAX_TOKENS)} tokens"
            )
        elif before is not after:
            context.trace.shortened(position, before, after, "its content is over maxContentChars")
    return [message for position, message in enumerate(cut) if position in chosen]


def _quarter(text: str) -> float:
    return (utf16_units(text) + 3) >> 2


def _counter(wanted: object) -> Callable[[str], float]:
    if wanted is None:
        return _quarter
    if callable(wanted) or isinstance(wanted, str):
        return estimator_of(cast("EstimatorLike", wanted)).of_text
    raise InvalidInputError("tokenizer must be the name of an estimator, or a callable")


def _cut(message: object, longest: float) -> object:
    fields = fields_of(message)
    content = fields.get("content")
    if not isinstance(content, str) or not utf16_units(content) > longest:
        return message
    return {**fields, "content": slice_units(content, longest)}


def _role(message: object) -> object:
    return fields_of(message).get("role")


def _chosen(roles: Sequence[object], costs: Sequence[float], rules: _Rules) -> set[int]:
    chosen: set[int] = set()
    used = 0.0
    for position in _by_priority(roles, rules):
        if used + costs[position] <= rules.budget:
            chosen.add(position)
            used += costs[position]
    return chosen


def _by_priority(roles: Sequence[object], rules: _Rules) -> Iterator[int]:
    """Every place once: newest first within system, user and the rest."""
    first = [
        role for role, on in (("system", rules.prioritise_system), ("user", rules.prioritise_user)) if on
    ]
    newest = range(len(roles) - 1, -1, -1)
    for wanted in first:
        yield from (position for position in newest if roles[position] == wanted)
    yield from (position for position in newest if roles[position] not in first)


def _preserve(chosen: set[int], roles: Sequence[object], costs: Sequence[float], budget: float) -> None:
    """See that a system message is there: the newest, and the oldest others give way for it."""
    systems = [position for position, role in enumerate(roles) if role == "system"]
    if not systems or not chosen.isdisjoint(systems):
        return
    used = sum(costs[position] for position in chosen) + costs[systems[-1]]
    for position in sorted(chosen):
        if used <= budget:
            break
        chosen.remove(position)
        used -= costs[position]
    chosen.add(systems[-1])
