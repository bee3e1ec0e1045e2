"""Requests and stream events between Weft and Anthropic."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

from weft.errors import ProviderError, Trouble
from weft.providers.adapter import encoded_media, result_text
from weft.providers.base import ModelProfile, Request
from weft.providers.events import (
    ChoiceFinished,
    Event,
    ModelReported,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ThinkingDone,
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
    from anthropic.types import RawMessageStreamEvent

_ENOUGH = 4_096
"""Default limit of an answer in tokens: the provider requires one."""
_ENDINGS: dict[str, StopReason] = {
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "tool_use": StopReason.TOOL_CALLS,
    "refusal": StopReason.CONTENT_FILTERED,
}


def without_last_blanks(request: Request) -> tuple[Request, str]:
    """The request without blanks at the end of an answer that it begins: they are refused there.

    The second value is those blanks, which the answer may say again.
    """
    if request.prefill:
        trimmed = request.prefill.rstrip()
        return replace(request, prefill=trimmed), request.prefill[len(trimmed) :]
    last = request.messages[-1] if request.messages else None
    if (
        last is None
        or last.role is not Role.ASSISTANT
        or not last.blocks
        or not isinstance(last.blocks[-1], Text)
    ):
        return request, ""
    text = last.blocks[-1].text
    trimmed = text.rstrip()
    ended = Message(last.role, (*last.blocks[:-1], Text(trimmed)))
    return replace(request, messages=(*request.messages[:-1], ended)), text[len(trimmed) :]


def body_of(request: Request, profile: ModelProfile) -> dict[str, JsonValue]:
    """The request's fields, with its cache marks where the context engine put them."""
    asked = request.parameters
    marks = {(mark.message, mark.block): mark.control for mark in request.cache.marks}
    body: dict[str, JsonValue] = {"model": request.model, "max_tokens": asked.max_tokens or _ENOUGH}
    if system := _system(request.system, marks):
        body["system"] = system
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
            for tool in request.tools
        ]
        if request.tool_choice is not ToolChoice.AUTO:
            body["tool_choice"] = {"type": "none" if request.tool_choice is ToolChoice.NONE else "any"}
    mapped = [_message(request, number, message, marks) for number, message in enumerate(request.messages)]
    # A message that holds only another provider's thinking is empty here, and empty messages are refused.
    messages = [message for message in mapped if message["content"]]
    if request.prefill:
        messages.append({"role": "assistant", "content": request.prefill})
    body["messages"] = messages
    if asked.stop:
        body["stop_sequences"] = list(asked.stop)
    if profile.sampling and asked.temperature is not None:
        body["temperature"] = asked.temperature
    if profile.sampling and asked.top_p is not None:
        body["top_p"] = asked.top_p
    body.update(asked.custom)
    return body


Marks = Mapping[tuple[int | None, int], JsonObject]


def _system(blocks: Sequence[str], marks: Marks) -> list[JsonValue]:
    return [
        _marked({"type": "text", "text": text}, marks.get((None, number)))
        for number, text in enumerate(blocks)
        if text
    ]


def _message(request: Request, number: int, message: Message, marks: Marks) -> JsonObject:
    blocks = [
        _marked(wire, marks.get((number, place)))
        for place, block in enumerate(message.blocks)
        if (wire := _block(request, block)) is not None
    ]
    role = message.role.value if message.role in {Role.ASSISTANT, Role.SYSTEM} else "user"
    only = blocks[0] if len(blocks) == 1 else None
    if only is not None and set(only) == {"type", "text"}:
        return {"role": role, "content": only["text"]}
    return {"role": role, "content": blocks}


def _marked(block: JsonObject, control: JsonObject | None) -> JsonObject:
    return block if control is None else {**block, "cache_control": control}


def _block(request: Request, block: Block) -> JsonObject | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text else None
        case Image():
            data = encoded_media(request, block)
            return {
                "type": "image",
                "source": {"type": "base64", "media_type": block.mime_type, "data": data},
            }
        case Audio():
            return {"type": "text", "text": block.transcript} if block.transcript else None
        case ToolCall():
            arguments: JsonValue = block.arguments if isinstance(block.arguments, Mapping) else {}
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": arguments}
        case ToolResult():
            output = result_text(block)
            result: JsonObject = {"type": "tool_result", "tool_use_id": block.call_id, "content": output}
            return {**result, "is_error": True} if block.is_error else result
        case Thinking():
            # Only thinking that this provider signed is sent back to it.
            opaque = block.opaque
            ours = isinstance(opaque, Mapping) and opaque.get("type") in {"thinking", "redacted_thinking"}
            return opaque if ours and isinstance(opaque, Mapping) else None
    assert_never(block)


@dataclass(slots=True)
class _Open:
    """A block that is not complete yet."""

    kind: str
    start: dict[str, JsonValue]
    parts: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])

    def delta(self, arguments: str) -> ToolCallDelta:
        return ToolCallDelta(str(self.start.get("id") or ""), str(self.start.get("name") or ""), arguments)


class AnthropicReader:
    """Reads a stream of Anthropic's events into ours."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._usage: dict[str, int] = {}
        self._ended: str | None = None

    def read(self, event: "RawMessageStreamEvent", request_id: str | None) -> Iterator[Event]:
        match event.type:
            case "message_start":
                yield ModelReported(event.message.model, request_id)
                yield from self._spent(event.message.usage.model_dump())
            case "content_block_start":
                yield from self._begin(event.index, event.content_block.model_dump(exclude_none=True))
            case "content_block_delta":
                yield from self._go_on(event.index, event.delta.model_dump())
            case "content_block_stop":
                yield from self._end_block(event.index)
            case "message_delta":
                self._ended = event.delta.stop_reason or self._ended
                yield from self._spent(event.usage.model_dump())
            case "message_stop":
                if self._ended is not None:
                    yield ChoiceFinished(_ENDINGS.get(self._ended, StopReason.OTHER), 0, self._ended)

    def _begin(self, index: int, block: dict[str, JsonValue]) -> Iterator[Event]:
        opened = self._open[index] = _Open(str(block.get("type")), block)
        if opened.kind == "text" and block.get("text"):
            yield TextDelta(str(block["text"]))
        if opened.kind == "thinking" and block.get("thinking"):
            opened.parts.append(str(block["thinking"]))
            yield ThinkingDelta(str(block["thinking"]))
        if opened.kind == "tool_use":
            yield opened.delta("")

    def _go_on(self, index: int, delta: dict[str, JsonValue]) -> Iterator[Event]:
        opened = self._open.setdefault(index, _Open("text", {}))
        match delta.get("type"):
            case "text_delta":
                yield TextDelta(str(delta.get("text") or ""))
            case "thinking_delta":
                opened.parts.append(str(delta.get("thinking") or ""))
                yield ThinkingDelta(opened.parts[-1])
            case "signature_delta":
                opened.signature.append(str(delta.get("signature") or ""))
            case "input_json_delta":
                opened.parts.append(str(delta.get("partial_json") or ""))
                yield opened.delta(opened.parts[-1])
            case _:
                return

    def _end_block(self, index: int) -> Iterator[Event]:
        opened = self._open.pop(index, None)
        if opened is None:
            return
        text = "".join(opened.parts)
        if opened.kind == "thinking":
            signed = "".join(opened.signature) or str(opened.start.get("signature") or "")
            opaque: JsonObject = {"type": "thinking", "thinking": text, "signature": signed}
            yield ThinkingDone(Thinking(text=text, opaque=opaque))
        elif opened.kind == "redacted_thinking":
            yield ThinkingDone(Thinking(text="", opaque=opened.start))
        elif opened.kind == "tool_use":
            arguments = _parsed(text) if text else opened.start.get("input", {})
            call = ToolCall(
                id=str(opened.start.get("id")), name=str(opened.start.get("name")), arguments=arguments
            )
            yield ToolCalled(call)

    def _spent(self, usage: Mapping[str, object]) -> Iterator[Event]:
        """Anthropic counts cached tokens apart from the others; here `prompt` is all of them."""
        self._usage.update({name: value for name, value in usage.items() if isinstance(value, int)})
        read = self._usage.get("cache_read_input_tokens")
        written = self._usage.get("cache_creation_input_tokens")
        prompt = self._usage.get("input_tokens", 0) + (read or 0) + (written or 0)
        completion = self._usage.get("output_tokens", 0)
        yield UsageReported(
            Usage(
                prompt=prompt,
                completion=completion,
                total=prompt + completion,
                cached_read=read,
                cached_write=written,
            )
        )


def _parsed(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except ValueError:
        raise ProviderError(Trouble.UNKNOWN, "anthropic: tool arguments are not valid JSON") from None
