"""Keep every tool call next to its results, whatever was cut before."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weft.context.filters.base import FilterContext, Options, flag
from weft.context.filters.trace import Trace
from weft.context.js_compat import fields_of, items_of
from weft.errors import LimitExceededError

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
    calls = {place: each for place, message in enumerate(messages) if (each := _calls(message))}
    called = Counter(call for each in calls.values() for call in each)
    answering = _results(messages)
    results: dict[str, list[int]] = {}
    for place, key in answering.items():
        results.setdefault(key, []).append(place)
    _check_size(len(messages), called, results)
    account = _Account(context.trace)
    found: list[object] = []
    for place, message in enumerate(messages):
        if place not in answering:
            found.append(message)
            account.caller = account.last = place
            for call in calls.get(place, ()):
                found += _answers(call, messages, results.get(call, ()), rules, account)
        elif answering[place] not in called:
            found.append(_orphaned(message, rules))
            why = f"became {rules.orphan_role}: nothing called for it"
            context.trace.kept(place, message, found[-1], why)
    return found


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


def _calls(message: object) -> list[str]:
    """The ids of an assistant's calls; what is no text is no id, and such a call is left as it is."""
    fields = fields_of(message)
    if "tool_calls" not in fields or fields.get("role") != "assistant":
        return []
    ids = (fields_of(call).get("id") for call in items_of(fields["tool_calls"]))
    return [each for each in ids if isinstance(each, str)]


def _results(messages: Sequence[object]) -> dict[int, str]:
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
        trace.added(synthetic, f"messages[{caller}] called and nobody answered")
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
