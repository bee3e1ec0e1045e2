"""Keep every tool call next to its results, whatever was cut before."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weft.context.filters.base import FilterContext, Options, flag, text
from weft.context.filters.trace import Trace
from weft.context.javascript import fields_of, is_truthy, items_of, same_value_key
from weft.errors import LimitExceededError

__all__ = ["MISSING", "backfill_tool_calls"]

MISSING = "Tool call failed to respond"
_MOST = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Backfill:
    missing_content: str
    role: str
    orphan_role: str
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
        missing_content=text(options, "missingContent", MISSING),
        role=text(options, "role", "tool"),
        orphan_role=text(options, "orphanRole", "system"),
        strip_orphan_id=flag(options, "stripOrphanToolId", default=True),
    )
    called = Counter(same_value_key(call) for message in messages for call in _calls(message))
    results = _results_by_call(messages)
    _check_size(len(messages), called, results)
    account = _Account(context.trace)
    found: list[object] = []
    for position, message in enumerate(messages):
        if not _is_result(message):
            found.append(message)
            account.caller = account.last = position
            for call in _calls(message):
                found += _answers(call, results.get(same_value_key(call), ()), rules, account)
        elif same_value_key(_call_id(message)) not in called:
            found.append(_orphaned(message, rules))
            why = f"became {rules.orphan_role}: nothing called for it"
            context.trace.kept(position, message, found[-1], why)
    return found


def _check_size(given: int, called: Counter[object], results: Mapping[object, Sequence[object]]) -> None:
    """One id in many calls with many results would fill the memory; ids of their own never do."""
    answers = sum(times * max(1, len(results.get(key, ()))) for key, times in called.items())
    moved = sum(len(many) for key, many in results.items() if key in called)
    made = given - moved + answers
    if made > max(_MOST, given + called.total()):
        raise LimitExceededError(
            f"toolCallBackfill would make {made:,} messages of {given:,}, because call ids are repeated",
            hint="give every tool call an id of its own",
        )


def _calls(message: object) -> Iterator[object]:
    """The ids of an assistant's calls."""
    fields = fields_of(message)
    if fields.get("role") == "assistant":
        ids = (fields_of(call).get("id") for call in items_of(fields.get("tool_calls")))
        yield from (each for each in ids if is_truthy(each))


def _is_result(message: object) -> bool:
    return fields_of(message).get("role") == "tool"


def _call_id(message: object) -> object:
    return fields_of(message).get("tool_call_id")


def _results_by_call(messages: Sequence[object]) -> dict[object, list[tuple[int, object]]]:
    found: dict[object, list[tuple[int, object]]] = {}
    for position, message in enumerate(messages):
        if _is_result(message):
            found.setdefault(same_value_key(_call_id(message)), []).append((position, message))
    return found


def _answers(
    call: object, results: Sequence[tuple[int, object]], rules: _Backfill, account: _Account
) -> Iterator[object]:
    caller, trace = account.caller, account.trace
    if not results:
        synthetic = {"role": rules.role, "tool_call_id": call, "content": rules.missing_content}
        trace.added(synthetic, f"messages[{caller}] called and nobody answered")
        yield synthetic
    for position, result in results:
        if position in account.used:
            trace.added(result, f"answers messages[{caller}] as well")
        elif position != account.last + 1:
            trace.kept(position, result, result, f"moved to messages[{caller}], which called for it")
        account.used.add(position)
        account.last = position
        yield result


def _orphaned(message: object, rules: _Backfill) -> Mapping[str, object]:
    fields = {**fields_of(message), "role": rules.orphan_role}
    if rules.strip_orphan_id:
        fields.pop("tool_call_id", None)
    return fields
