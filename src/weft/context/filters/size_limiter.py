"""Keep the newest messages that a budget has room for."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from weft.context.filters.base import FilterContext, Options, estimator, flag, number
from weft.context.js_compat import compact_json, fields_of, is_truthy, slice_units, utf16_units
from weft.context.tokens import UTF16, counted_by

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


def limit_size(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Take messages newest first while they fit, passing over those that do not.

    A message costs its whole JSON, not just its content, and an overhead. Prioritised roles
    are served first; what is kept stands in its original order.
    """
    rules = _Rules(
        budget=number(options, "maxTokens", MAX_TOKENS),
        overhead=number(options, "perMessageOverhead", _OVERHEAD),
        longest=_longest(options),
        prioritise_system=flag(options, "prioritizeSystem", default=False),
        prioritise_user=flag(options, "prioritizeUser", default=True),
        preserve_system=flag(options, "preserveAtLeastOneSystem", default=True),
    )
    scale = _Scale(
        [_cut(message, rules.longest) for message in messages],
        rules.overhead,
        _counter(options),
    )
    roles = [fields_of(message).get("role") for message in scale.messages]
    chosen = _chosen(roles, scale, rules)
    if rules.preserve_system:
        _preserve(chosen, roles, scale, rules.budget)
    why = f"does not fit {options.get('maxTokens', MAX_TOKENS)} tokens"
    for place, (before, after) in enumerate(zip(messages, scale.messages, strict=True)):
        if place not in chosen:
            context.trace.dropped(place, before, why)
        elif before is not after:
            context.trace.shortened(place, before, after, "its content is over maxContentChars")
    return [message for place, message in enumerate(scale.messages) if place in chosen]


class _Scale:
    """What messages cost. Most are known to be too large before anyone has to write their JSON."""

    def __init__(self, messages: Sequence[object], overhead: float, count: Callable[[str], float]) -> None:
        self.messages = messages
        self.overhead = overhead
        self.count = count
        self.quick = count is UTF16.of_text
        self.known: dict[int, float] = {}

    def cost(self, place: int) -> float:
        found = self.known.get(place)
        if found is None:
            found = self.known[place] = self._tokens(self.messages[place]) + self.overhead
        return found

    def _tokens(self, message: object) -> float:
        """Of its JSON. What is no object is hardly a message: text counts as it is, nothing as no text.

        Only a tokenizer of one's own may find something in nothing.
        """
        if message is None or isinstance(message, str):
            return self.count(message or "")
        return self.count(compact_json(message)) if is_truthy(message) or not self.quick else 0

    def fits(self, place: int, used: float, budget: float) -> bool:
        if self.quick and not used + self._least(place) <= budget:
            return False
        return used + self.cost(place) <= budget

    def _least(self, place: int) -> float:
        """A quarter of the longest text that is in it, and the overhead: it cannot cost less."""
        content = fields_of(self.messages[place]).get("content")
        return (len(content) >> 2) + self.overhead if isinstance(content, str) else self.overhead


def _counter(options: Options) -> Callable[[str], float]:
    """How tokens are counted. What a callable says is not rounded: the budget may be met to a fraction."""
    own = options.get("tokenizer")
    return partial(counted_by, own) if callable(own) else estimator(options, "tokenizer", UTF16).of_text


def _longest(options: Options) -> float:
    """How long a content may be; what is no number above 0 sets no limit."""
    value = options.get("maxContentChars", _MAX_CONTENT)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.inf
    return value if value > 0 else math.inf


def _cut(message: object, longest: float) -> object:
    fields = fields_of(message)
    content = fields.get("content")
    if not isinstance(content, str) or 2 * len(content) <= longest or not utf16_units(content) > longest:
        return message
    return {**fields, "content": slice_units(content, longest)}


def _chosen(roles: Sequence[object], scale: _Scale, rules: _Rules) -> set[int]:
    chosen: set[int] = set()
    used = 0.0
    for place in _by_priority(roles, rules):
        if scale.fits(place, used, rules.budget):
            chosen.add(place)
            used += scale.cost(place)
    return chosen


def _by_priority(roles: Sequence[object], rules: _Rules) -> Iterator[int]:
    """Every place once: newest first within system, user and the rest."""
    first = [
        role for role, on in (("system", rules.prioritise_system), ("user", rules.prioritise_user)) if on
    ]
    newest = range(len(roles) - 1, -1, -1)
    for wanted in first:
        yield from (place for place in newest if roles[place] == wanted)
    yield from (place for place in newest if roles[place] not in first)


def _preserve(chosen: set[int], roles: Sequence[object], scale: _Scale, budget: float) -> None:
    """See that a system message is there: the newest, and the oldest others give way for it."""
    systems = [place for place, role in enumerate(roles) if role == "system"]
    if not systems or not chosen.isdisjoint(systems):
        return
    used = sum(map(scale.cost, chosen)) + scale.cost(systems[-1])
    for place in sorted(chosen):
        if used <= budget:
            break
        chosen.remove(place)
        used -= scale.cost(place)
    chosen.add(systems[-1])
