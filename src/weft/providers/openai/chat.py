"""OpenAI's Chat interface, and its legacy Completions: requests and readers."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, assert_never

from weft.providers.adapter import encoded_media, own_call_id, result_text
from weft.providers.base import ModelProfile, Request
from weft.providers.events import (
    ChoiceFinished,
    Event,
    ModelReported,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ThinkingDone,
    TokenChance,
    ToolCallDelta,
    ToolCalled,
    UsageReported,
)
from weft.tree.attempt import Usage
from weft.tree.content import Audio, Block, Image, Text, Thinking, ToolCall, ToolResult
from weft.tree.json import JsonObject, JsonValue
from weft.tree.message import Message
from weft.tree.node import Role
from weft.tree.tool_spec import ToolChoice

if TYPE_CHECKING:
    from openai.types import Completion, CompletionChoice, CompletionUsage
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import Choice, ChoiceDeltaToolCall


class OpenAIInterface(StrEnum):
    """OpenAI's interfaces; each model uses one of them."""

    CHAT = "chat"
    RESPONSES = "responses"
    COMPLETIONS = "completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceCall:
    """One call of one of OpenAI's interfaces."""

    interface: OpenAIInterface
    body: Mapping[str, JsonValue]
    blanks: str = ""
    """The blanks at the end of a continued document, which its continuation may repeat."""


ENDINGS: dict[str, StopReason] = {
    "stop": StopReason.STOP,
    "eos": StopReason.STOP,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "content_filter": StopReason.CONTENT_FILTERED,
}
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def chat_body(
    request: Request, profile: ModelProfile, *, length: str = "max_completion_tokens"
) -> dict[str, JsonValue]:
    """The request's fields. `length` names the field for the limit of the answer, which differs by age."""
    asked = request.parameters
    messages: list[JsonValue] = []
    marks = marks_of(request)
    if request.system_text:
        messages.append(
            {"role": "system", "content": system_parts(request, marks, "text") or request.system_text}
        )
    for number, message in enumerate(request.messages):
        messages.extend(_messages(request, number, message, marks))
    if request.prefill:
        messages.append({"role": "assistant", "content": request.prefill})
    body: dict[str, JsonValue] = {"model": request.model, "messages": messages}
    body.update(common_fields(request, profile))
    if asked.max_tokens is not None:
        body[length] = asked.max_tokens
    if asked.logprobs is not None:
        body["logprobs"] = True
        if asked.logprobs:
            body["top_logprobs"] = asked.logprobs
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in request.tools
        ]
        if request.tool_choice is not ToolChoice.AUTO:
            body["tool_choice"] = request.tool_choice.value
    body.update(asked.custom)
    return body


def common_fields(request: Request, profile: ModelProfile) -> dict[str, JsonValue]:
    """Fields that Chat and Completions share."""
    asked = request.parameters
    fields: dict[str, JsonValue] = {"stream_options": {"include_usage": True}}
    if asked.n > 1:
        fields["n"] = asked.n
    if profile.sampling and asked.temperature is not None:
        fields["temperature"] = asked.temperature
    if profile.sampling and asked.top_p is not None:
        fields["top_p"] = asked.top_p
    if asked.stop:
        fields["stop"] = list(asked.stop)
    if asked.seed is not None and profile.seed:
        fields["seed"] = asked.seed
    fields.update(request.cache.fields)
    return fields


Marks = Mapping[tuple[int | None, int], JsonObject]


def marks_of(request: Request) -> Marks:
    """Breakpoints by the message and block that they are on."""
    return {(mark.message, mark.block): mark.control for mark in request.cache.marks}


def marked(part: JsonObject, mark: JsonObject | None) -> JsonObject:
    return part if mark is None else {**part, "prompt_cache_breakpoint": mark}


def system_parts(request: Request, marks: Marks, kind: str) -> list[JsonValue]:
    """The system in parts, where one of them ends a prefix to be cached; joined they are its text."""
    blocks = [(index, block) for index, block in enumerate(request.system) if block]
    if not any((None, index) in marks for index, _ in blocks):
        return []
    last = len(blocks) - 1
    return [
        marked({"type": kind, "text": block + ("\n\n" if place < last else "")}, marks.get((None, index)))
        for place, (index, block) in enumerate(blocks)
    ]


def _messages(request: Request, number: int, message: Message, marks: Marks) -> Iterator[JsonObject]:
    """One message may become several: each tool result is its own message."""
    for place, block in enumerate(message.blocks):
        if isinstance(block, ToolResult):
            mark, text = marks.get((number, place)), result_text(block)
            content: JsonValue = text if mark is None else [marked({"type": "text", "text": text}, mark)]
            yield {"role": "tool", "tool_call_id": block.call_id, "content": content}
    calls: list[JsonValue] = [
        {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": json.dumps(block.arguments)},
        }
        for block in message.blocks
        if isinstance(block, ToolCall)
    ]
    parts = [
        marked(part, marks.get((number, place)))
        for place, block in enumerate(message.blocks)
        if (part := _part(request, block)) is not None
    ]
    if calls:
        yield {"role": "assistant", "content": message.text or None, "tool_calls": calls}
    elif parts:
        only_words = all(set(part) == {"type", "text"} for part in parts)
        role = message.role.value if message.role is not Role.TOOL else "user"
        yield {"role": role, "content": message.text if only_words else parts}


def _part(request: Request, block: Block) -> JsonObject | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text else None
        case Image():
            return {"type": "image_url", "image_url": {"url": data_url(request, block)}}
        case Audio():
            sound = {"data": encoded_media(request, block), "format": _SOUNDS.get(block.mime_type, "wav")}
            return {"type": "input_audio", "input_audio": sound}
        case ToolCall() | ToolResult() | Thinking():
            return None
    assert_never(block)


def data_url(request: Request, block: Image) -> str:
    return f"data:{block.mime_type};base64,{encoded_media(request, block)}"


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])


class ChatReader:
    """Reads a stream of chunks into our events."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[int, _Call]] = {}
        self._thoughts: dict[int, list[str]] = {}
        self._introduced = False
        self._id = ""

    def read(self, chunk: "ChatCompletionChunk | Completion", request_id: str | None) -> Iterator[Event]:
        if not self._introduced:
            self._introduced = True
            self._id = own_call_id(chunk.id)
            yield ModelReported(chunk.model or "", request_id)
        for choice in chunk.choices or ():
            yield from self._choice(choice)
        if chunk.usage is not None:
            yield UsageReported(usage_of(chunk.usage))

    def _choice(self, choice: Any) -> Iterator[Event]:
        number, delta = choice.index or 0, choice.delta
        # Not every server keeps the schema.
        if delta is not None:
            extra: Mapping[str, object] = delta.model_extra or {}
            thought = extra.get("reasoning_content") or extra.get("reasoning")
            if isinstance(thought, str):
                self._thoughts.setdefault(number, []).append(thought)
                yield ThinkingDelta(thought, number)
            text = delta.content or delta.refusal
            if text:
                yield from self._thought(number)
                yield TextDelta(text, number, _chances(choice))
            for call in delta.tool_calls or ():
                yield self._collect(number, call)
        yield from self._ended(choice)

    def _ended(self, choice: "Choice | CompletionChoice") -> Iterator[Event]:
        if choice.finish_reason:
            number, reason = choice.index or 0, str(choice.finish_reason)
            yield from self._thought(number)
            yield from self._called(number)
            yield ChoiceFinished(ENDINGS.get(reason, StopReason.OTHER), number, reason)

    def _thought(self, number: int) -> Iterator[Event]:
        if parts := self._thoughts.pop(number, None):
            yield ThinkingDone(Thinking(text="".join(parts)), number)

    def _collect(self, number: int, call: "ChoiceDeltaToolCall") -> ToolCallDelta:
        index = call.index or 0
        collected = self._calls.setdefault(number, {}).setdefault(index, _Call())
        collected.id = collected.id or call.id or f"{self._id}_{number}_{index}"
        piece = ""
        if call.function is not None:
            collected.name = collected.name or call.function.name or ""
            piece = call.function.arguments or ""
            collected.arguments.append(piece)
        return ToolCallDelta(collected.id, collected.name, piece, number)

    def _called(self, number: int) -> Iterator[Event]:
        for _, call in sorted(self._calls.pop(number, {}).items()):
            arguments = parsed_arguments("".join(call.arguments))
            yield ToolCalled(ToolCall(id=call.id, name=call.name, arguments=arguments), number)


def parsed_arguments(text: str) -> JsonValue:
    """Arguments as JSON, or as the text that the model wrote where it is not valid JSON."""
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError:
        return text


def _chances(choice: "Choice") -> tuple[TokenChance, ...]:
    logprobs = choice.logprobs
    if logprobs is None:
        return ()
    return tuple(
        TokenChance(
            each.token, each.logprob, tuple((other.token, other.logprob) for other in each.top_logprobs or ())
        )
        for each in (logprobs.content or logprobs.refusal or ())
    )


def usage_of(usage: "CompletionUsage") -> Usage:
    details = usage.prompt_tokens_details
    return Usage(
        prompt=usage.prompt_tokens,
        completion=usage.completion_tokens,
        total=usage.total_tokens,
        cached_read=details.cached_tokens if details else None,
        cached_write=details.cache_write_tokens if details else None,
    )


_NAMES = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System", Role.TOOL: "Tool"}


def document_of(request: Request) -> str:
    """The document itself; a conversation becomes one, as a transcript that the assistant continues."""
    if request.prompt is not None:
        head = f"{request.system_text}\n\n" if request.system_text else ""
        return head + request.prompt + request.prefill
    lines = [f"{_NAMES[message.role]}: {message.text}" for message in request.messages]
    head = [request.system_text] if request.system_text else []
    opening = f"Assistant: {request.prefill}" if request.prefill else "Assistant:"
    return "\n\n".join([*head, *lines, opening])


def completion_body(request: Request, profile: ModelProfile) -> dict[str, JsonValue]:
    asked = request.parameters
    body: dict[str, JsonValue] = {"model": request.model, "prompt": document_of(request)}
    body.update(common_fields(request, profile))
    if request.prompt is None and "stop" not in body:
        # A base model would write the user's lines too.
        body["stop"] = ["\n\nUser:"]
    if asked.max_tokens is not None:
        body["max_tokens"] = asked.max_tokens
    if asked.logprobs is not None:
        body["logprobs"] = asked.logprobs
    body.update(asked.custom)
    return body


class CompletionReader(ChatReader):
    """Reads a stream of completions into our events."""

    def _choice(self, choice: Any) -> Iterator[Event]:
        if choice.text:
            yield TextDelta(choice.text, choice.index or 0, _completion_chances(choice))
        yield from self._ended(choice)


def _completion_chances(choice: "CompletionChoice") -> tuple[TokenChance, ...]:
    logprobs = choice.logprobs
    if logprobs is None or logprobs.tokens is None or logprobs.token_logprobs is None:
        return ()
    nothing: dict[str, float] = {}
    tops = logprobs.top_logprobs or [nothing] * len(logprobs.tokens)
    return tuple(
        TokenChance(token, logprob, tuple(sorted((top or {}).items(), key=lambda each: -each[1])))
        for token, logprob, top in zip(logprobs.tokens, logprobs.token_logprobs, tops, strict=False)
    )
