"""Filters that make a list acceptable: fit it to a budget, mask and pair tools, let users and assistants alternate."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from weft.context.dialogue import CLOSING, OPENING
from weft.context.fit import Strategy
from weft.context.manifest import Manifest
from weft.context.manifest_entries import Outcome
from weft.context.masking import MASK_ABOVE
from weft.context.message_dict import SYSTEM_ROLES, PlainMessage, calls_of, results_of
from weft.context.messages import ListContext, fit_messages
from weft.context.recipes.filters.base import FilterContext, Options, estimator, flag
from weft.context.recipes.filters.option_rules import LIMIT, SWITCH, TEXT, accepts, fitting_rules
from weft.context.recipes.filters.trace import Trace
from weft.context.recipes.js_compat import fields_of, items_of
from weft.context.rows import ToolTraffic
from weft.context.tokens import DEFAULT, JOINT, NO_LIMIT
from weft.context.tool_pairs import PairedPart, in_pairs
from weft.errors import InvalidInputError, LimitExceededError

_RECENT, _NEWEST = 4, 10
_WINDOW = 200_000
"""For the steps of masks, where nothing says how large the model's window is."""


@accepts(fitting_rules(), limit=LIMIT)
def fit_to_budget(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Keep what fits `limit` tokens by one of the strategies; the system and the newest messages always stay.

    Room is left for what repairing may add afterwards.
    """
    plain = plain_messages(messages)
    counting = estimator(options, "estimator", DEFAULT)
    limit = _whole(options, "limit", None)
    reserve = reserve_for(messages, counting.of_text)
    if limit < reserve:
        raise InvalidInputError(
            f"limit must be at least {reserve} for these messages, got {limit}", path="options.limit"
        )
    masks = options.get("maskToolResults")
    fitted = fit_messages(
        plain,
        limit - reserve,
        strategy=str(options.get("truncationStrategy", Strategy.TRUNCATE_MIDDLE)),
        step=_share(options),
        window=_whole(options, "window", limit),
        estimator=counting,
        minimum_recent=_whole(options, "minimumRecentNodes", _RECENT),
        marker=_marker(options),
        mask_tool_results=None if masks in (None, "off") else _whole(options, "maskToolResults", None),
        mask_above=_whole(options, "maskAbove", MASK_ABOVE),
    )
    _account(plain, fitted, context.trace)
    return list(fitted.messages)


@accepts(fitting_rules("maskToolResults", "maskAbove", "truncationStep", "window", "estimator"))
def mask_tool_results(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Keep the newest `maskToolResults` tool results whole; older ones above `maskAbove` tokens become one line."""
    plain = plain_messages(messages)
    masked = fit_messages(
        plain,
        NO_LIMIT,
        step=_share(options),
        window=_whole(options, "window", _WINDOW),
        estimator=estimator(options, "estimator", DEFAULT),
        mask_tool_results=_whole(options, "maskToolResults", _NEWEST),
        mask_above=_whole(options, "maskAbove", MASK_ABOVE),
    )
    _account(plain, masked, context.trace)
    return list(masked.messages)


def _whole(options: Options, name: str, default: int | None) -> int:
    value = options.get(name)
    value = default if value is None else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        path = f"options.{name}"
        raise InvalidInputError(f"{path} must be a whole number of at least 0, got {value!r}", path=path)
    return value


def _share(options: Options) -> float:
    value = options.get("truncationStep", 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        path = "options.truncationStep"
        raise InvalidInputError(f"{path} must be a number, got {value!r}", path=path)
    return value


def _marker(options: Options) -> str | None:
    value = options.get("truncationMarker")
    if value is not None and not isinstance(value, str):
        path = "options.truncationMarker"
        raise InvalidInputError(f"{path} must be a string, got {value!r}", path=path)
    return value


def _account(before: Sequence[PlainMessage], fitted: ListContext, trace: Trace) -> None:
    """Record message by message what the fitting decided, in terms of the lists it was given and gave."""
    if not (fitted.truncated or fitted.shortened or fitted.masked):
        return
    told = {entry.position: entry for entry in fitted.manifest if entry.outcome is Outcome.MASKED}
    gone = _cut(fitted.manifest)
    for position, reason in gone.items():
        trace.cut(position, before[position], reason)
    left, after = [position for position in range(len(before)) if position not in gone], fitted.messages
    place = 0
    for number, message in enumerate(after):
        rest = len(after) - number
        while place < len(left) and len(left) - place > rest:
            trace.merged(left[place], before[left[place]], message, "joined with the next at the cut")
            place += 1
        if place < len(left) and message is before[left[place]]:
            place += 1
        elif place < len(left) and left[place] in told:
            trace.masked(left[place], before[left[place]], message, told[left[place]].reason)
            place += 1
        elif place < len(left) and len(left) - place == rest:
            trace.shortened(left[place], before[left[place]], message, "cut to the room there is, or marked")
            place += 1
        else:
            trace.added(message, "stands for what was left out")


def _cut(manifest: Manifest) -> Mapping[int, str]:
    reasons: dict[int, str] = {}
    for entry in manifest:
        if entry.outcome is Outcome.CUT and entry.position is not None:
            reasons.update(
                (position, entry.reason) for position in range(entry.position, entry.position + entry.count)
            )
    return reasons


_Placed: TypeAlias = tuple[int, PlainMessage]
_USER, _ASSISTANT, _TOOL = "user", "assistant", "tool"


@accepts(prefill=SWITCH)
def repair(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Bring results to their calls, take out what lost its other half, and let users and assistants alternate.

    A request begins with a user and, unless `prefill` is set, does not end with an assistant.
    """
    paired = _paired(plain_messages(messages), context.trace)
    repaired = _alternating(paired, context.trace)
    sides = [_role(message) for _, message in repaired if _role(message) not in SYSTEM_ROLES]
    made = [message for _, message in repaired]
    if sides and sides[0] != _USER:
        place = next(index for index, message in enumerate(made) if _role(message) not in SYSTEM_ROLES)
        made.insert(place, {"role": _USER, "content": OPENING})
        context.trace.added(made[place], "a request starts with a user message")
    if sides and sides[-1] == _ASSISTANT and not flag(options, "prefill", default=False):
        made.append({"role": _USER, "content": CLOSING})
        context.trace.added(made[-1], "a request ends with a user message")
    return list(made)


def pair_messages(messages: Sequence[PlainMessage], trace: Trace) -> list[PlainMessage]:
    """Bring results to their calls, and take out what lost its other half; all else stays as it is."""
    return [message for _, message in _paired(messages, trace)]


def plain_messages(messages: Sequence[object]) -> list[PlainMessage]:
    """The messages, if all of them are objects with a role."""
    for index, message in enumerate(messages):
        if not isinstance(fields_of(message).get("role"), str):
            raise InvalidInputError(f"messages[{index}] must be an object with a role")
    return [fields_of(message) for message in messages]


def reserve_for(messages: Sequence[object], tokens_of: Callable[[str], int]) -> int:
    """How many tokens repairing may add: a first and a last message, and a blank line wherever two are joined."""
    sides = [_role(message) for message in plain_messages(messages) if _role(message) not in SYSTEM_ROLES]
    joints = 1 + sum(1 for one, other in pairwise(sides) if one == other)
    return tokens_of(OPENING) + tokens_of(CLOSING) + joints * tokens_of(JOINT)


def _role(message: PlainMessage) -> object:
    return message.get("role")


def _results(message: PlainMessage) -> list[str]:
    return list(results_of(message))


def _traffic(message: PlainMessage) -> ToolTraffic:
    calls = filter(None, calls_of(message)) if _role(message) == _ASSISTANT else ()
    return ToolTraffic(tuple(calls), tuple(results_of(message)))


def _paired(messages: Sequence[PlainMessage], trace: Trace) -> list[_Placed]:
    in_order: list[_Placed] = []
    traffic = [_traffic(message) for message in messages]
    for paired in in_pairs(traffic):
        index = paired.place
        message = _with_only(messages[index], traffic[index], paired)
        if message is None:
            trace.excluded(index, messages[index], "its other half is not there")
            continue
        if message is not messages[index]:
            trace.shortened(index, messages[index], message, "its other half is not there")
        elif paired.results and index != in_order[-1][0] + 1:
            trace.kept(index, message, message, "moved to its call")
        in_order.append((index, message))
    return in_order


def _with_only(message: PlainMessage, tools: ToolTraffic, paired: PairedPart) -> PlainMessage | None:
    """The message without other calls and results; None if nothing is left of it."""
    if paired.calls.issuperset(tools.calls) and paired.results.issuperset(tools.results) and paired.words:
        return message
    if _role(message) == _TOOL:
        return None
    changed = dict(message)
    if isinstance(message.get("content"), list | tuple):
        changed["content"] = [block for block in items_of(message["content"]) if _stays(block, paired)]
    stay = [
        call
        for call in items_of(changed.pop("tool_calls", None))
        if str(fields_of(call).get("id")) in paired.calls
    ]
    if stay:
        changed["tool_calls"] = stay
    return changed if changed.get("content") or stay else None


def _stays(block: object, paired: PairedPart) -> bool:
    fields = fields_of(block)
    if fields.get("type") == "tool_use":
        return str(fields.get("id")) in paired.calls
    if fields.get("type") == "tool_result":
        return str(fields.get("tool_use_id")) in paired.results
    return paired.words


def _alternating(messages: Sequence[_Placed], trace: Trace) -> list[_Placed]:
    """Join what one side says in a row; a system message between them goes before."""
    in_turn: list[_Placed] = []
    turn: list[_Placed] = []
    side: object = None
    for placed in messages:
        role = _role(placed[1])
        if role not in SYSTEM_ROLES and (role != side or role == _TOOL):
            _add_turn(in_turn, turn, trace)
            turn, side = [], role
        turn.append(placed)
    _add_turn(in_turn, turn, trace)
    return in_turn


def _add_turn(placed: list[_Placed], turn: Sequence[_Placed], trace: Trace) -> None:
    """One side's turn as one message, with the system messages in it."""
    said = [number for number, (_, message) in enumerate(turn) if _role(message) not in SYSTEM_ROLES]
    if len(said) < 2:
        placed += turn
        return
    joined = _joined([turn[number][1] for number in said])
    for number in said:
        trace.merged(*turn[number], joined, "joined with what the same side says in a row")
    last, members = said[-1], set(said)
    place = _call_before(placed) if _results(joined) else len(placed)
    placed[place:place] = [turn[number] for number in range(last) if number not in members]
    placed += [(turn[last][0], joined), *turn[last + 1 :]]


def _call_before(placed: Sequence[_Placed]) -> int:
    """Where the message stands whose call is answered next: nothing comes between it and its results."""
    place = len(placed) - 1
    while place > 0 and _results(placed[place][1]):
        place -= 1
    return max(place, 0)


def _joined(messages: Sequence[PlainMessage]) -> PlainMessage:
    contents = [message.get("content") for message in messages if message.get("content")]
    fields: dict[str, object] = {}
    for message in messages:
        fields |= message
    if all(isinstance(content, str) for content in contents):
        fields["content"] = JOINT.join(map(str, contents)) if contents else messages[-1].get("content")
    else:
        fields["content"] = [block for content in contents for block in _as_blocks(content)]
    return fields


def _as_blocks(content: object) -> Sequence[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return items_of(content) or [content]


MISSING = "Tool call failed to respond"
_MOST = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Backfill:
    missing_content: object
    role: object
    orphan_role: object
    strip_orphan_id: bool


@dataclass(slots=True)
class _Account:
    """What has been answered so far, so that the trace tells moves from copies."""

    trace: Trace
    used: set[int] = field(default_factory=set[int])
    caller: int = 0
    last: int = 0


@accepts(missingContent=TEXT, role=TEXT, orphanRole=TEXT, stripOrphanToolId=SWITCH)
def backfill_tool_calls(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Put each result right after the message that called for it, in the order of the calls.

    A call without a result gets a synthetic one; a result without a call becomes an
    `orphanRole` message, because providers reject it otherwise. One id in several calls
    gets its results after each of them.
    """
    rules = _Backfill(
        missing_content=options.get("missingContent", MISSING),
        role=options.get("role", "tool"),
        orphan_role=options.get("orphanRole", "system"),
        strip_orphan_id=flag(options, "stripOrphanToolId", default=True),
    )
    calls = {place: each for place, message in enumerate(messages) if (each := _calls_in(message))}
    called = Counter(call for each in calls.values() for call in each)
    answering = _results_in(messages)
    results: dict[str, list[int]] = {}
    for place, key in answering.items():
        results.setdefault(key, []).append(place)
    _check_size(len(messages), called, results)
    account = _Account(context.trace)
    filled: list[object] = []
    for place, message in enumerate(messages):
        if place not in answering:
            filled.append(message)
            account.caller = account.last = place
            for call in calls.get(place, ()):
                filled += _answers(call, messages, results.get(call, ()), rules, account)
        elif answering[place] not in called:
            filled.append(_orphaned(message, rules))
            why = f"became {rules.orphan_role}: nothing called for it"
            context.trace.kept(place, message, filled[-1], why)
    return filled


def _check_size(given: int, called: Counter[str], results: Mapping[str, Sequence[object]]) -> None:
    """One id in many calls with many results would fill the memory; ids of their own never do."""
    answers = sum(times * max(1, len(results.get(key, ()))) for key, times in called.items())
    moved = sum(len(many) for key, many in results.items() if key in called)
    made = given - moved + answers
    if made > max(_MOST, given + called.total()):
        raise LimitExceededError(
            f"toolCallBackfill would make {made:,} messages of {given:,}, because call ids are repeated",
            hint="give every tool call an id of its own",
        )


def _calls_in(message: object) -> list[str]:
    """The ids of an assistant's calls; what is no text is no id, and such a call is left as it is."""
    fields = fields_of(message)
    if "tool_calls" not in fields or fields.get("role") != "assistant":
        return []
    ids = (fields_of(call).get("id") for call in items_of(fields["tool_calls"]))
    return [each for each in ids if isinstance(each, str)]


def _results_in(messages: Sequence[object]) -> dict[int, str]:
    """What each result says it answers, by the result's place; one that does not say is no result."""
    fields = enumerate(map(fields_of, messages))
    return {
        place: call
        for place, each in fields
        if each.get("role") == "tool" and isinstance(call := each.get("tool_call_id"), str)
    }


def _answers(
    call: str, messages: Sequence[object], results: Sequence[int], rules: _Backfill, account: _Account
) -> Iterator[object]:
    caller, trace = account.caller, account.trace
    if not results:
        synthetic = {"role": rules.role, "tool_call_id": call, "content": rules.missing_content}
        trace.added(synthetic, f"messages[{caller}] called and has no result")
        yield synthetic
    for place in results:
        if place in account.used:
            trace.added(messages[place], f"answers messages[{caller}] as well")
        elif place != account.last + 1:
            why = f"moved to messages[{caller}], which called for it"
            trace.kept(place, messages[place], messages[place], why)
        account.used.add(place)
        account.last = place
        yield messages[place]


def _orphaned(message: object, rules: _Backfill) -> Mapping[str, object]:
    fields = {**fields_of(message), "role": rules.orphan_role}
    if rules.strip_orphan_id:
        fields.pop("tool_call_id", None)
    return fields
