"""Histories in one form, whatever wire they came by: parts in order, each with its key.

The key of a part is what clients leave as it is from request to request. What they move, rewrite or drop (cache
marks, reminders, thinking, arguments, ids of items) is not in it. Keys are for finding only: nodes keep what came.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby

from weft.interop.conversation import Part, UnpairedResult
from weft.interop.loose_json import first_text, mapping, sequence, text
from weft.interop.message_parts import content_parts, openai_parts, responses_parts
from weft.runtime.proxy.wires import Wire
from weft.tree.content import Text, Thinking, ToolCall, ToolResult
from weft.tree.json import JsonObject, JsonValue

_TAGS = (
    *("system-reminder", "environment_context", "command-name", "command-message", "command-args"),
    *("turn_aborted", "subagent_notification"),
)
_NOTE = re.compile(
    r"\s*(?:<(?P<tag>" + "|".join(_TAGS) + r"|local-command-[\w-]+)(?:\s[^<>]*)?>.*?</(?P=tag)>\s*)+\Z",
    re.DOTALL,
)
"""Text that is wholly inside context tags: a note of the client's on the turn."""
_SYSTEM = frozenset({"system", "developer"})
_TOOL = frozenset({"tool", "function"})
_SAID = {
    *("message", "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "reasoning"),
    *("file_search_call", "computer_call", "code_interpreter_call", "image_generation_call", "mcp_call"),
    *("compaction", "item_reference"),
}


class Side(StrEnum):
    """Who speaks: the client with its tools, or the model."""

    CLIENT = "client"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPart:
    """One block of a history."""

    side: Side
    message: int
    """Where it was in the request."""
    content: Part | None = None
    """What a node keeps of it; None: nothing but its place."""
    key: bytes = b""
    """Empty: clients drop or rewrite it, so it is no part of the history's key."""
    call: str = ""
    """The id of the call that it is."""
    result: str = ""
    """The id of the call that it answers."""
    text: str = ""
    """Its words, trimmed."""
    note: str = ""
    """What the client added for the model, and no turn of anyone's."""
    item: str = ""
    """The id of the item that it is, or refers to."""
    is_reference: bool = False
    is_compaction: bool = False
    """A sealed item in the place of a history."""
    is_system: bool = False
    """A system message within the history."""


def digest_of(*values: str | bytes) -> bytes:
    """SHA-256 over values that cannot run into each other."""
    running = hashlib.sha256()
    for value in values:
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        running.update(b"%d:" % len(data))
        running.update(data)
    return running.digest()


def read_history(wire: Wire, body: JsonObject) -> tuple[HistoryPart, ...]:
    """The history of a request, in the order of its key."""
    match wire:
        case Wire.MESSAGES | Wire.COUNT:
            parts = _messages(sequence(body.get("messages")))
        case Wire.CHAT:
            parts = _chat(sequence(body.get("messages")))
        case Wire.RESPONSES:
            parts = _items(body.get("input"))
        case Wire.COMPLETIONS:
            parts = _prompts(body.get("prompt"))
    return tuple(ordered(_without_prompt(parts)))


def _without_prompt(parts: Iterator[HistoryPart]) -> list[HistoryPart]:
    """Without the system messages that a history begins with: they are its system prompt."""
    listed = list(parts)
    first = next((at for at, part in enumerate(listed) if not part.is_system), len(listed))
    return listed[first:]


def read_reply(wire: Wire, said: JsonValue, message: int = 0) -> tuple[HistoryPart, ...]:
    """The parts of one answer: a message, a choice's message, output items or a text."""
    match wire:
        case Wire.MESSAGES | Wire.COUNT:
            parts = _messages([{"role": "assistant", "content": said}])
        case Wire.CHAT:
            parts = _chat([{**mapping(said), "role": "assistant"}])
        case Wire.RESPONSES:
            parts = _items(said)
        case Wire.COMPLETIONS:
            parts = iter([history_part(Side.MODEL, 0, Text(text(said)))])
    return tuple(replace(part, side=Side.MODEL, message=message) for part in parts if not part.note)


def ordered(parts: Sequence[HistoryPart]) -> Iterator[HistoryPart]:
    """In the order of the key: results that arrived together are sorted, and come before the words with them."""
    for side, run in groupby(parts, key=lambda part: part.side):
        if side is Side.MODEL:
            yield from run
            continue
        turn = list(run)
        yield from sorted((part for part in turn if part.result), key=lambda part: part.result)
        yield from (part for part in turn if not part.result)


def _messages(messages: Sequence[JsonValue]) -> Iterator[HistoryPart]:
    """Anthropic's: blocks, system messages among them."""
    for number, each in enumerate(messages):
        message = mapping(each)
        role, content = first_text(message, "role"), message.get("content")
        if role in _SYSTEM:
            yield _note(number, content)
            continue
        side = Side.MODEL if role == "assistant" else Side.CLIENT
        for block in [content] if isinstance(content, str) else sequence(content):
            yield from _blocks(side, number, block)


def _chat(messages: Sequence[JsonValue]) -> Iterator[HistoryPart]:
    for number, each in enumerate(messages):
        message = mapping(each)
        role, content = first_text(message, "role"), message.get("content")
        if role in _SYSTEM:
            yield _note(number, content)
        elif role in _TOOL:
            yield from (history_part(Side.CLIENT, number, part) for part in openai_parts(message))
        elif role == "assistant":
            yield from (history_part(Side.MODEL, number, part) for part in openai_parts(message))
        else:
            for block in [content] if isinstance(content, str) else sequence(content):
                yield from _blocks(Side.CLIENT, number, block)


def _items(given: JsonValue) -> Iterator[HistoryPart]:
    """Items of the Responses interface; a plain string is one user message."""
    if isinstance(given, str):
        yield history_part(Side.CLIENT, 0, Text(given))
        return
    for number, each in enumerate(sequence(given)):
        item = mapping(each)
        parts = _message_item(number, item) if _kind_of(item) == "message" else _other_item(number, item)
        yield from (replace(part, item=first_text(item, "id")) for part in parts)


def _kind_of(item: JsonObject) -> str:
    return first_text(item, "type") or "message"


def _message_item(number: int, item: JsonObject) -> Iterator[HistoryPart]:
    role, content = first_text(item, "role"), item.get("content")
    if role in _SYSTEM:
        yield _note(number, content)
        return
    side = Side.MODEL if role == "assistant" else Side.CLIENT
    for block in [content] if isinstance(content, str) else sequence(content):
        yield from _blocks(side, number, block)


def _other_item(number: int, item: JsonObject) -> Iterator[HistoryPart]:
    kind, name = _kind_of(item), first_text(item, "id")
    side = Side.MODEL if kind in _SAID else Side.CLIENT
    match kind:
        case "compaction_trigger":
            return
        case "item_reference":
            yield HistoryPart(side=side, message=number, is_reference=True, key=_opaque(item))
        case "compaction":
            key = digest_of("compaction", first_text(item, "encrypted_content") or name)
            shown = Thinking(text="", opaque=dict(item))
            yield HistoryPart(side=side, message=number, content=shown, key=key, is_compaction=True)
        case _:
            parts = responses_parts(item)
            yield from (history_part(side, number, part) for part in parts)
            if not parts and kind != "reasoning":
                # An item without a form of its own: its name, so that its place is seen.
                yield HistoryPart(side=side, message=number, content=Text(f"[{kind}]"), key=_opaque(item))


def _prompts(given: JsonValue) -> Iterator[HistoryPart]:
    for number, each in enumerate([given] if isinstance(given, str) else sequence(given)):
        if isinstance(each, str):
            yield history_part(Side.CLIENT, number, Text(each))


def _blocks(side: Side, number: int, block: JsonValue) -> Iterator[HistoryPart]:
    """The parts of one block; text inside context tags is a note."""
    if side is Side.CLIENT:
        said = block if isinstance(block, str) else first_text(mapping(block), "text")
        if said and _NOTE.match(said):
            yield HistoryPart(side=side, message=number, note=said.strip())
            return
    for part in content_parts(block if isinstance(block, str) else [block]):
        made = history_part(side, number, part)
        if isinstance(part, Text) and isinstance(block, Mapping) and not first_text(block, "text"):
            # An image by its address, a file: what stands for it says too little to know it again.
            made = replace(made, key=_opaque(block))
        yield made


def history_part(side: Side, number: int, part: Part) -> HistoryPart:
    """A part with its key: a call is its id, a result its id and its text, a text is trimmed."""
    match part:
        case Text():
            trimmed = part.text.strip()
            key = digest_of("text", side, trimmed) if trimmed else b""
            return HistoryPart(side=side, message=number, content=part, key=key, text=trimmed)
        case ToolCall():
            return HistoryPart(
                side=side, message=number, content=part, key=digest_of("call", part.id), call=part.id
            )
        case ToolResult():
            said = part.content if isinstance(part.content, str) else canonical(without_marks(part.content))
            key = digest_of("result", part.call_id, said.strip())
            return HistoryPart(
                side=side, message=number, content=part, key=key, result=part.call_id, text=said.strip()
            )
        case UnpairedResult():
            said = part.content if isinstance(part.content, str) else canonical(part.content)
            shown = Text(said)
            return HistoryPart(
                side=side, message=number, content=shown, key=digest_of("text", side, said.strip())
            )
        case Thinking():
            return HistoryPart(side=side, message=number, content=part)
        case _:
            data = getattr(part, "data", None)
            known = data if isinstance(data, bytes) else repr(part)
            return HistoryPart(side=side, message=number, content=part, key=digest_of("media", known))


def _note(number: int, content: JsonValue) -> HistoryPart:
    """A system message within a history: a note on the turn before it."""
    said = "\n\n".join(part.text for part in content_parts(content) if isinstance(part, Text))
    return HistoryPart(side=Side.CLIENT, message=number, note=said.strip(), is_system=True)


def _opaque(block: JsonObject) -> bytes:
    return digest_of("opaque", canonical(without_marks(block)))


def without_marks(value: JsonValue) -> JsonValue:
    """Without what clients move or add: cache marks, nulls, empty lists."""
    if isinstance(value, Mapping):
        cleaned = {name: without_marks(each) for name, each in value.items() if name != "cache_control"}
        return {name: each for name, each in cleaned.items() if each is not None and each != []}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [without_marks(each) for each in value]
    return value


def canonical(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def chain_of(parts: Sequence[HistoryPart], start: bytes) -> list[bytes]:
    """The chained hash after each part; a part without a key leaves it as it was."""
    chain, links = start, list[bytes]()
    for part in parts:
        chain = digest_of(chain, part.side, part.key) if part.key else chain
        links.append(chain)
    return links


def chain_start(scope: str) -> bytes:
    """What a chain begins with: sub-agents have histories of their own, also where they are equal."""
    return digest_of("history", scope)
