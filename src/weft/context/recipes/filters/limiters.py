"""Filters that drop messages: by size, by versions of files, by repeated phrases."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from weft.context.recipes.filters.base import (
    FilterContext,
    Options,
    estimator,
    flag,
    number,
    text,
    unless_false,
    whole,
)
from weft.context.recipes.filters.option_rules import COUNTER, NUMBER, SWITCH, TEXT, VERSIONS, accepts
from weft.context.recipes.js_compat import (
    compact_json,
    fields_of,
    is_truthy,
    items_of,
    parse_json,
    slice_units,
    trim,
    utf16_units,
)
from weft.context.tokens import UTF16, counted_by
from weft.tree.json import JsonObject

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


@accepts(
    maxTokens=NUMBER,
    perMessageOverhead=NUMBER,
    maxContentChars=NUMBER,
    prioritizeSystem=SWITCH,
    prioritizeUser=SWITCH,
    preserveAtLeastOneSystem=SWITCH,
    tokenizer=COUNTER,
)
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
            context.trace.cut(place, before, why)
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
        cost = self.known.get(place)
        if cost is None:
            cost = self.known[place] = self._tokens(self.messages[place]) + self.overhead
        return cost

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


PLACEHOLDER = "(file contents omitted for space)"
_FILES = 7
_VERSIONS = 2


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The files seen so far, newest first, with how many versions of each are kept."""

    files: float
    versions: float
    kept: dict[str, int] = field(default_factory=dict[str, int])

    def takes(self, path: object) -> bool:
        if not isinstance(path, str) or not path:
            # A file without a name is no newest version of anything.
            return False
        if path not in self.kept:
            if len(self.kept) >= self.files:
                return False
            self.kept[path] = 0
        if self.kept[path] >= self.versions:
            return False
        self.kept[path] += 1
        return True


@accepts(
    filesLimit=NUMBER,
    versionsPerFile=VERSIONS,
    placeholder=TEXT,
    detectToolMessages=SWITCH,
    detectAssistantToolCalls=SWITCH,
)
def limit_file_contents(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Go from the newest message to the oldest, and through a message's calls in their order.

    A file is JSON with `filepath` and `content`: a tool's result, or a call's arguments.
    """
    shelf = _Shelf(whole(options, "filesLimit", _FILES), whole(options, "versionsPerFile", _VERSIONS))
    placeholder = text(options, "placeholder", PLACEHOLDER)
    results = unless_false(options, "detectToolMessages")
    calls = unless_false(options, "detectAssistantToolCalls")

    def limited(written: object) -> object:
        file = _file_in(written)
        if file is None or shelf.takes(file["filepath"]):
            return written
        return compact_json({**file, "content": placeholder})

    messages_after = list(messages)
    for position in range(len(messages_after) - 1, -1, -1):
        message = messages_after[position]
        fields = fields_of(message)
        role = fields.get("role")
        if role == "tool" and results and is_truthy(fields.get("tool_call_id")):
            messages_after[position] = _with(fields, "content", limited(fields.get("content")))
        elif role == "assistant" and calls:
            messages_after[position] = _with_calls(fields, limited)
        if messages_after[position] is not message:
            why = "an older version, or a file beyond the limit"
            context.trace.shortened(position, message, messages_after[position], why)
    return messages_after


def _file_in(written: object) -> JsonObject | None:
    if not isinstance(written, str):
        return None
    try:
        value = parse_json(written)
    except ValueError:
        return None
    return value if isinstance(value, Mapping) and "filepath" in value and "content" in value else None


def _with(fields: Mapping[str, object], name: str, value: object) -> Mapping[str, object]:
    """The same object where nothing changes."""
    return fields if name not in fields or value is fields[name] else {**fields, name: value}


def _with_calls(fields: Mapping[str, object], limited: Callable[[object], object]) -> Mapping[str, object]:
    given = items_of(fields.get("tool_calls"))
    made = [_with_arguments(call, limited) for call in given]
    if all(new is old for new, old in zip(made, given, strict=True)):
        return fields
    return {**fields, "tool_calls": made}


def _with_arguments(call: object, limited: Callable[[object], object]) -> object:
    fields = fields_of(call)
    function = fields_of(fields.get("function"))
    made = _with(function, "arguments", limited(function.get("arguments")))
    return call if made is function else {**fields, "function": made}


PHRASE = "Tool calls completed"


@accepts(phrase=TEXT, trim=SWITCH, caseSensitive=SWITCH)
def drop_tool_calls_completed(
    messages: Sequence[object], options: Options, context: FilterContext
) -> list[object]:
    """Drop every user message that equals `phrase`, except the last, and what is not a message.

    Contents are trimmed before they are compared, the phrase is not.
    """
    phrase = text(options, "phrase", PHRASE)
    trimmed = unless_false(options, "trim")
    sensitive = unless_false(options, "caseSensitive")
    wanted = phrase if sensitive else phrase.lower()

    def says_so(message: object) -> bool:
        fields = fields_of(message)
        content = fields.get("content")
        if fields.get("role") != "user" or not isinstance(content, str):
            return False
        content = trim(content) if trimmed else content
        return (content if sensitive else content.lower()) == wanted

    saying = [position for position, message in enumerate(messages) if says_so(message)]
    repeated = set(saying[:-1])
    rest: list[object] = []
    for position, message in enumerate(messages):
        if position in repeated:
            context.trace.excluded(position, message, "said again later")
        elif not is_truthy(message):
            context.trace.excluded(position, message, "not a message")
        else:
            rest.append(message)
    return rest
