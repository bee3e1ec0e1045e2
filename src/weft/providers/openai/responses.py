"""Requests and stream events between Weft and OpenAI's Responses, for reasoning models."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never, cast

from weft.errors import ProviderError
from weft.providers.adapter import result_text
from weft.providers.base import Request
from weft.providers.errors import describe_status
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
from weft.providers.openai.chat import Marks, data_url, marked, marks_of, parsed_arguments, system_parts
from weft.tree.attempt import Usage
from weft.tree.content import Audio, Image, Text, Thinking, ToolCall, ToolResult
from weft.tree.json import JsonObject, JsonValue
from weft.tree.message import Message
from weft.tree.node import Role
from weft.tree.tool_spec import ToolChoice

if TYPE_CHECKING:
    from openai.types.responses import Response, ResponseOutputItem, ResponseStreamEvent


def response_body(request: Request) -> dict[str, JsonValue]:
    """The request's fields. The provider stores nothing: thinking is returned encrypted."""
    asked, marks = request.parameters, marks_of(request)
    body: dict[str, JsonValue] = {
        "model": request.model,
        "input": [
            item
            for number, message in enumerate(request.messages)
            for item in _items(request, number, message, marks)
        ],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if system := system_parts(request, marks, "input_text"):
        # Instructions are one text, which takes no breakpoint.
        body["input"] = [{"role": "developer", "content": system}, *cast("list[JsonValue]", body["input"])]
    elif request.system_text:
        body["instructions"] = request.system_text
    if asked.max_tokens is not None:
        body["max_output_tokens"] = asked.max_tokens
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": False,
            }
            for tool in request.tools
        ]
        if request.tool_choice is not ToolChoice.AUTO:
            body["tool_choice"] = request.tool_choice.value
    body.update(request.cache.fields)
    body.update(asked.custom)
    return body


def _items(request: Request, number: int, message: Message, marks: Marks) -> Iterator[JsonObject]:
    """The items of a message in their order: words and media together, all else apart."""
    places = range(len(message.blocks))
    if all(isinstance(block, Text) for block in message.blocks) and not any(
        (number, place) in marks for place in places
    ):
        if message.text:
            yield {"role": message.role.value, "content": message.text}
        return
    parts: list[JsonValue] = []
    role = message.role.value if message.role in {Role.ASSISTANT, Role.SYSTEM} else "user"
    for place, block in enumerate(message.blocks):
        mark = marks.get((number, place))
        if isinstance(block, Text | Image | Audio):
            parts.extend(marked(part, mark) for part in _parts(request, role, block))
            continue
        if parts:
            yield {"role": role, "content": parts}
            parts = []
        item = _item(block, mark)
        if item is not None:
            yield item
    if parts:
        yield {"role": role, "content": parts}


def _parts(request: Request, role: str, block: Text | Image | Audio) -> Iterator[JsonObject]:
    match block:
        case Text(text):
            if text:
                yield {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        case Image():
            yield {"type": "input_image", "image_url": data_url(request, block), "detail": "auto"}
        case Audio():
            if block.transcript:
                yield {"type": "input_text", "text": block.transcript}
        case _:
            assert_never(block)


def _item(block: ToolCall | ToolResult | Thinking, mark: JsonObject | None) -> JsonObject | None:
    match block:
        case ToolCall():
            return {
                "type": "function_call",
                "call_id": block.id,
                "name": block.name,
                "arguments": json.dumps(block.arguments),
            }
        case ToolResult():
            text = result_text(block)
            output: JsonValue = text if mark is None else [marked({"type": "input_text", "text": text}, mark)]
            return {"type": "function_call_output", "call_id": block.call_id, "output": output}
        case Thinking():
            opaque = block.opaque
            return opaque if isinstance(opaque, Mapping) and opaque.get("type") == "reasoning" else None
    assert_never(block)


class ResponseReader:
    """Reads a stream of a response's events into ours."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._called = False
        self._open: dict[int, ToolCallDelta] = {}

    def read(self, event: "ResponseStreamEvent", request_id: str | None) -> Iterator[Event]:
        match event.type:
            case "response.created":
                yield ModelReported(event.response.model or "", request_id)
            case "response.output_text.delta" | "response.refusal.delta":
                yield TextDelta(event.delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield ThinkingDelta(event.delta)
            case "response.output_item.added" if event.item.type == "function_call":
                call = self._open[event.output_index] = ToolCallDelta(event.item.call_id, event.item.name, "")
                yield call
            case "response.function_call_arguments.delta" if event.output_index in self._open:
                yield replace(self._open[event.output_index], arguments=event.delta)
            case "response.output_item.done":
                yield from self._item(event.item)
            case "response.completed" | "response.incomplete":
                yield from self._ended(event.response)
            case "response.failed":
                raise self._failure(event.response)
            case "error":
                raise describe_status(self._provider, 200, words=(event.code,), message=event.message)
            case _:
                return

    def _item(self, item: "ResponseOutputItem") -> Iterator[Event]:
        if item.type == "reasoning":
            summary = "\n\n".join(part.text for part in [*item.summary, *(item.content or ())])
            # It must be returned unchanged: absent fields stay absent.
            opaque = item.model_dump(mode="json", exclude_unset=True, exclude={"status"})
            yield ThinkingDone(Thinking(text=summary, opaque=opaque))
        elif item.type == "function_call":
            self._called = True
            call = ToolCall(id=item.call_id, name=item.name, arguments=parsed_arguments(item.arguments))
            yield ToolCalled(call)

    def _ended(self, response: "Response") -> Iterator[Event]:
        if response.usage is not None:
            details = response.usage.input_tokens_details
            yield UsageReported(
                Usage(
                    prompt=response.usage.input_tokens,
                    completion=response.usage.output_tokens,
                    total=response.usage.total_tokens,
                    cached_read=getattr(details, "cached_tokens", None),
                    cached_write=getattr(details, "cache_write_tokens", None),
                )
            )
        if response.status == "incomplete":
            why = response.incomplete_details.reason if response.incomplete_details else None
            endings = {"max_output_tokens": StopReason.LENGTH, "content_filter": StopReason.CONTENT_FILTERED}
            yield ChoiceFinished(endings.get(why or "", StopReason.OTHER), 0, why or "incomplete")
        else:
            yield ChoiceFinished(
                StopReason.TOOL_CALLS if self._called else StopReason.STOP, 0, response.status or "completed"
            )

    def _failure(self, response: "Response") -> ProviderError:
        error = response.error
        return describe_status(
            self._provider,
            200,
            words=(error.code if error else None,),
            message=error.message if error else "the response failed",
        )
