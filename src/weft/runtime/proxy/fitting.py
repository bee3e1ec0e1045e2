"""Fit a request to its window: repaired, masked, cut and laid out for the cache by the engine."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

from weft.context.cache.list_marks import has_marks, marked_messages, marked_system
from weft.context.manifest import Facts, Manifest
from weft.context.message_dict import PlainMessage
from weft.context.messages import ListContext, fit_messages
from weft.context.recipes.filters.fit_and_repair import pair_messages
from weft.context.recipes.filters.trace import Trace
from weft.context.tokens import NO_LIMIT
from weft.interop.loose_json import first_text, mapping, sequence
from weft.providers.base import ModelProfile
from weft.runtime.proxy.wires import Wire
from weft.tree.cache_profile import CacheKind
from weft.tree.json import JsonObject, JsonValue

_STEP = 0.4
"""Of the window: the cut moves by so much at a time, so that the prefix stays between.

Agents add much with every request, so it is more than for a chat: each move costs a part of the cache.
"""
_WHOLE_RESULTS = 10
"""The newest results of tools stay whole; older long ones are masked before anything is cut."""
_LONG_RESULT, _LONG_SHARE = 1_000, 50
"""A result is long if it has so many tokens, and more than this part of the window: masking moves the prefix too."""
_MOST_OUTPUT = 0.25
"""The share of the window that is kept free for the answer, at most."""
_USUAL_WINDOW = 128_000


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """What is sent instead of what came."""

    body: bytes
    manifest: bytes
    changes: tuple[str, ...]
    """In words; empty: the bytes that came are sent."""


def plain_manifest(data: bytes, changed: str = "") -> bytes:
    """The manifest of a request that was forwarded as it came."""
    settings: dict[str, JsonValue] = {"proxy": changed or "unchanged"}
    facts = Facts(budget=NO_LIMIT, settings=settings, hash=hashlib.sha256(data).hexdigest())
    return orjson.dumps(Manifest(facts, []).stored())


def prompt_limit(profile: ModelProfile, body: JsonObject, window: int | None) -> int:
    """Tokens that a prompt may have: those of the policy, else the model's window without room for the answer."""
    if window is not None:
        return window
    whole = profile.window or _USUAL_WINDOW
    named = (body.get(name) for name in ("max_completion_tokens", "max_output_tokens", "max_tokens"))
    wanted = next((each for each in named if isinstance(each, int) and each > 0), profile.output_limit or 0)
    return whole - min(wanted, int(whole * _MOST_OUTPUT))


def fit_request(
    wire: Wire, body: JsonObject, data: bytes, profile: ModelProfile, *, limit: int, cache_key: str
) -> FittedRequest:
    """The request as it is to be sent. Raises `ContextLimitError` where the system alone is over the limit."""
    field = "input" if wire is Wire.RESPONSES else "messages"
    given = body.get(field)
    if wire in {Wire.COMPLETIONS, Wire.COUNT} or isinstance(given, str) or not sequence(given):
        return FittedRequest(data, plain_manifest(data), ())
    listed = _Items(sequence(given)) if wire is Wire.RESPONSES else _Messages(sequence(given))
    trace = Trace()
    paired = pair_messages(listed.messages, trace)
    system = body.get("system") if wire.is_anthropic else body.get("instructions")
    tools = [tool for tool in sequence(body.get("tools")) if isinstance(tool, Mapping)]
    fitted = _fitted(paired, limit, system=system or None, tools=cast("Sequence[PlainMessage]", tools))
    changes = _changes(trace, fitted)
    messages = listed.restored(fitted.messages if changes else listed.messages)
    value: dict[str, Any] = dict(body)
    if changes:
        value[field] = messages
    cache_change = _lay_out(wire, value, messages, profile, cache_key)
    changes = (*changes, *cache_change)
    if not changes:
        return FittedRequest(data, plain_manifest(data), ())
    sent = orjson.dumps(value)
    return FittedRequest(sent, _manifest(fitted, sent, changes), changes)


def _fitted(
    messages: Sequence[PlainMessage], limit: int, *, system: object, tools: Sequence[PlainMessage]
) -> ListContext:
    """Everything if it fits; else old results of tools are masked, and then the middle is cut."""
    options: dict[str, Any] = {"step": _STEP, "window": limit, "system": system, "tools": tools}
    whole = fit_messages(messages, limit, **options)
    if not whole.truncated:
        return whole
    options |= {"mask_tool_results": _WHOLE_RESULTS, "mask_above": max(_LONG_RESULT, limit // _LONG_SHARE)}
    return fit_messages(messages, limit, **options)


def _changes(trace: Trace, fitted: ListContext) -> tuple[str, ...]:
    """What repairing and fitting changed, in words."""
    changes: list[str] = []
    if trace.marks:
        changes.append(f"repaired {len(trace.marks)}")
    parts = fitted.fitted
    if parts is not None:
        for word, count in (
            ("masked", len(parts.masked())),
            ("cut", parts.removed_nodes() if fitted.truncated else 0),
            ("shortened", len(parts.shortened())),
        ):
            if count:
                changes.append(f"{word} {count}")
    return tuple(changes)


def _lay_out(
    wire: Wire, value: dict[str, Any], messages: list[Any], profile: ModelProfile, cache_key: str
) -> tuple[str, ...]:
    """Tell the provider's cache what stays, unless the client did."""
    cache = profile.cache
    if wire is Wire.MESSAGES and cache.kind is CacheKind.MARKS:
        if has_marks(messages, value.get("system"), value.get("tools")):
            return ()
        value["messages"] = marked_messages(cast("Sequence[PlainMessage]", messages), cache)
        if value.get("system"):
            value["system"] = marked_system(value["system"], cache)
        return ("cache marks",)
    keyed = cache.kind is CacheKind.KEY or cache.keyed
    if keyed and not wire.is_anthropic and "prompt_cache_key" not in value:
        value["prompt_cache_key"] = cache_key
        return ("cache key",)
    return ()


def _manifest(fitted: ListContext, sent: bytes, changes: Sequence[str]) -> bytes:
    manifest = fitted.manifest
    facts = Facts(
        budget=manifest.facts.budget,
        settings={**manifest.facts.settings, "proxy": ", ".join(changes)},
        hash=hashlib.sha256(sent).hexdigest(),
    )
    return orjson.dumps(Manifest(facts, manifest.pieces).stored())


class _Messages:
    """Messages in the shapes that the engine reads."""

    def __init__(self, given: Sequence[JsonValue]) -> None:
        self.messages = [cast("PlainMessage", each) for each in given]

    def restored(self, messages: Sequence[PlainMessage]) -> list[Any]:
        return list(messages)


class _Items:
    """Items of the Responses interface as messages, and back.

    Reasoning goes with the item that follows it: neither is taken without the other.
    """

    def __init__(self, given: Sequence[JsonValue]) -> None:
        self.messages: list[PlainMessage] = []
        self._items: dict[int, list[JsonValue]] = {}
        waiting: list[JsonValue] = []
        for each in given:
            item = mapping(each)
            waiting.append(each)
            if first_text(item, "type") == "reasoning":
                continue
            self._add(_as_message(item), waiting)
            waiting = []
        if waiting:
            self._add({"role": "assistant", "content": ""}, waiting)

    def _add(self, message: PlainMessage, items: list[JsonValue]) -> None:
        self.messages.append(message)
        self._items[id(message)] = items

    def restored(self, messages: Sequence[PlainMessage]) -> list[Any]:
        """The items of kept messages as they came; changed messages as new items."""
        items: list[Any] = []
        for message in messages:
            items += self._items.get(id(message)) or [_as_item(message)]
        return items


def _as_message(item: JsonObject) -> PlainMessage:
    kind = first_text(item, "type") or "message"
    name = first_text(item, "call_id")
    if kind == "message":
        return {"role": first_text(item, "role") or "user", "content": _content(item.get("content"))}
    if kind.endswith("_output") and name:
        output = item.get("output")
        words = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return {"role": "tool", "tool_call_id": name, "content": words}
    if kind.endswith("_call") and name:
        given = first_text(item, "arguments", "input") or json.dumps(item.get("action"), ensure_ascii=False)
        function = {"name": first_text(item, "name") or kind, "arguments": given}
        calls = [{"id": name, "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    words = json.dumps(item, ensure_ascii=False)
    return {"role": "user" if kind.endswith("_output") else "assistant", "content": words}


def _content(content: JsonValue) -> Any:
    """A message's blocks as the engine counts them: text as text, pictures as pictures."""
    if isinstance(content, str):
        return content
    blocks: list[Any] = []
    for each in sequence(content):
        block = mapping(each)
        words = first_text(block, "text", "refusal")
        is_picture = first_text(block, "type") == "input_image"
        blocks.append(
            {"type": "image_url", "image_url": {"url": ""}} if is_picture else {"type": "text", "text": words}
        )
    return blocks


def _as_item(message: PlainMessage) -> dict[str, Any]:
    """A message that the engine made or changed: a marker, a masked or a shortened one."""
    fields = cast("Mapping[str, Any]", message)
    content = fields.get("content")
    if fields.get("role") == "tool":
        return {"type": "function_call_output", "call_id": fields["tool_call_id"], "output": content}
    role = str(fields.get("role"))
    kind = "output_text" if role == "assistant" else "input_text"
    words = [content] if isinstance(content, str) else [str(block.get("text", "")) for block in content or ()]
    return {"type": "message", "role": role, "content": [{"type": kind, "text": each} for each in words]}
