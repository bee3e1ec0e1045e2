"""Requests and stream events between Weft and Gemini."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weft.errors import ProviderError, Trouble
from weft.providers.adapter import OWN_CALL, media_of, own_call_id, result_text
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
from weft.tree.message import Message
from weft.tree.node import Role
from weft.tree.tool_spec import ToolChoice

if TYPE_CHECKING:
    from google.genai.types import Candidate, GenerateContentResponse, LogprobsResult, Part

_SIGNATURE = "google_thought_signature"
_FILTERED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"}
    | {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
)
_ENDINGS = {"STOP": StopReason.STOP, "MAX_TOKENS": StopReason.LENGTH, "CONTINUATION": StopReason.LENGTH}


def config_of(request: Request, profile: ModelProfile) -> dict[str, Any]:
    """Everything but the contents: the SDK's own configuration, as a dictionary."""
    asked = request.parameters
    config: dict[str, Any] = {
        "automatic_function_calling": {"disable": True},
        "automatic_continuation": False,
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "max_output_tokens": asked.max_tokens,
        "seed": asked.seed,
        "stop_sequences": list(asked.stop) or None,
        "candidate_count": asked.n if asked.n > 1 else None,
        "system_instruction": request.system_text or None,
        "tools": tools_of(request) or None,
    }
    if asked.logprobs is not None:
        config["response_logprobs"] = True
        config["logprobs"] = asked.logprobs or None
    if not profile.sampling:
        config["temperature"] = config["top_p"] = None
    if request.tools and request.tool_choice is not ToolChoice.AUTO:
        mode = "NONE" if request.tool_choice is ToolChoice.NONE else "ANY"
        config["tool_config"] = {"function_calling_config": {"mode": mode}}
    return {name: value for name, value in config.items() if value is not None}


def tools_of(request: Request) -> list[dict[str, Any]]:
    if not request.tools:
        return []
    declared = [
        {"name": tool.name, "description": tool.description, "parameters_json_schema": tool.schema}
        for tool in request.tools
    ]
    return [{"function_declarations": declared}]


def contents_of(request: Request, start: int = 0) -> list[dict[str, Any]]:
    """The contents of the messages from `start` on, and of the beginning of the answer."""
    contents = messages_to_contents(request, start, len(request.messages))
    if request.prefill:
        contents.append({"role": "model", "parts": [{"text": request.prefill}]})
    return contents


def messages_to_contents(request: Request, start: int, stop: int) -> list[dict[str, Any]]:
    """The contents of a range of messages. Calls in any message give their names to results in the range.

    The results of one turn's calls are one content: Gemini requires as many responses as there were calls.
    """
    blocks = [block for message in request.messages for block in message.blocks]
    names = {block.id: block.name for block in blocks if isinstance(block, ToolCall)}
    contents: list[dict[str, Any]] = []
    answering = False
    for message in request.messages[start:stop]:
        content = _content(request, message, names)
        if answering and message.results:
            # Responses come first: what else the messages hold follows them.
            parts = contents[-1]["parts"] + content["parts"]
            contents[-1]["parts"] = sorted(parts, key=lambda part: "function_response" not in part)
        elif content["parts"]:
            contents.append(content)
        answering = bool(message.results)
    return contents


def last_split(messages: Sequence[Message], count: int) -> int:
    """The largest number of messages up to `count` that does not part the results of one turn's calls."""
    while 0 < count < len(messages) and messages[count - 1].results and messages[count].results:
        count -= 1
    return count


def _content(request: Request, message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    role = "model" if message.role is Role.ASSISTANT else "user"
    parts: list[dict[str, Any]] = []
    signature: bytes | None = None
    for block in message.blocks:
        if isinstance(block, Thinking):
            signature = _signature(block) or signature
            continue
        part = _part(request, block, names)
        if part is None:
            continue
        if signature is not None and role == "model":
            part["thought_signature"] = signature
            signature = None
        parts.append(part)
    if signature is not None and parts and "thought_signature" not in parts[-1]:
        parts[-1]["thought_signature"] = signature
    return {"role": role, "parts": parts}


def _part(
    request: Request, block: Text | Image | Audio | ToolCall | ToolResult, names: Mapping[str, str]
) -> Any:
    match block:
        case Text(text):
            return {"text": text} if text else None
        case Image() | Audio():
            return {"inline_data": {"mime_type": block.mime_type, "data": media_of(request, block)}}
        case ToolCall():
            call: dict[str, Any] = {"name": block.name, "args": _arguments(block)}
            return {"function_call": call if _ours(block.id) else {**call, "id": block.id}}
        case ToolResult():
            output = {"error" if block.is_error else "output": result_text(block)}
            response: dict[str, Any] = {"name": names.get(block.call_id, block.call_id), "response": output}
            return {
                "function_response": response if _ours(block.call_id) else {**response, "id": block.call_id}
            }


def _ours(call: str) -> bool:
    return call.startswith(OWN_CALL)


def _arguments(call: ToolCall) -> object:
    return dict(call.arguments) if isinstance(call.arguments, Mapping) else {}


def _signature(block: Block) -> bytes | None:
    """What Gemini signed its thinking with; it belongs to the part after it."""
    opaque = block.opaque if isinstance(block, Thinking) else None
    if isinstance(opaque, Mapping) and opaque.get("type") == _SIGNATURE:
        return base64.b64decode(str(opaque.get("signature") or ""))
    return None


class GoogleReader:
    """Reads a stream of Gemini's responses into our events."""

    def __init__(self) -> None:
        self._introduced = False
        self._id = ""
        self._thoughts: dict[int, list[str]] = {}
        self._calls: dict[int, int] = {}

    def read(self, chunk: "GenerateContentResponse") -> Iterator[Event]:
        if not self._introduced:
            self._introduced = True
            self._id = own_call_id(chunk.response_id)
            yield ModelReported(chunk.model_version or "", chunk.response_id)
        blocked = chunk.prompt_feedback.block_reason if chunk.prompt_feedback else None
        if blocked is not None:
            raise ProviderError(
                Trouble.CONTENT_FILTERED, f"google refused the prompt: {getattr(blocked, 'value', blocked)}"
            )
        for candidate in chunk.candidates or ():
            yield from self._candidate(candidate)
        if chunk.usage_metadata is not None:
            usage = chunk.usage_metadata
            completion = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
            prompt = usage.prompt_token_count or 0
            total = usage.total_token_count or prompt + completion
            yield UsageReported(
                Usage(
                    prompt=prompt,
                    completion=completion,
                    total=total,
                    cached_read=usage.cached_content_token_count,
                )
            )

    def _candidate(self, candidate: "Candidate") -> Iterator[Event]:
        number = candidate.index or 0
        chances = _chances(candidate.logprobs_result)
        for part in (candidate.content.parts if candidate.content else None) or ():
            for event in self._part(part, number):
                if isinstance(event, TextDelta) and chances:
                    yield TextDelta(event.text, number, chances)
                    chances = ()
                else:
                    yield event
        if candidate.finish_reason is not None:
            yield from self._thought(number, None)
            yield ChoiceFinished(*self._ending(candidate, number))

    def _part(self, part: "Part", number: int) -> Iterator[Event]:
        if part.thought and part.text:
            self._thoughts.setdefault(number, []).append(part.text)
            yield ThinkingDelta(part.text, number)
            return
        if part.text or part.function_call or part.thought_signature:
            yield from self._thought(number, part.thought_signature)
        if part.text:
            yield TextDelta(part.text, number)
        if part.function_call is not None:
            index = self._calls.get(number, 0)
            self._calls[number] = index + 1
            call = part.function_call
            made = ToolCall(
                id=call.id or f"{self._id}_{number}_{index}", name=call.name or "", arguments=call.args or {}
            )
            yield ToolCallDelta(made.id, made.name, json.dumps(made.arguments, ensure_ascii=False), number)
            yield ToolCalled(made, number)

    def _thought(self, number: int, signature: bytes | None) -> Iterator[Event]:
        parts = self._thoughts.pop(number, None)
        if parts is None and signature is None:
            return
        opaque = None
        if signature is not None:
            opaque = {"type": _SIGNATURE, "signature": base64.b64encode(signature).decode()}
        yield ThinkingDone(Thinking(text="".join(parts or ()), opaque=opaque), number)

    def _ending(self, candidate: "Candidate", number: int) -> tuple[StopReason, int, str]:
        reason = str(getattr(candidate.finish_reason, "value", candidate.finish_reason))
        if reason in _FILTERED:
            return StopReason.CONTENT_FILTERED, number, reason
        if reason == "STOP" and self._calls.get(number):
            return StopReason.TOOL_CALLS, number, reason
        return _ENDINGS.get(reason, StopReason.OTHER), number, reason


def _chances(logprobs: "LogprobsResult | None") -> tuple[TokenChance, ...]:
    if logprobs is None or not logprobs.chosen_candidates:
        return ()
    tops: Sequence[Any] = logprobs.top_candidates or [None] * len(logprobs.chosen_candidates)
    return tuple(
        TokenChance(
            chosen.token or "",
            chosen.log_probability or 0.0,
            tuple(
                (each.token or "", each.log_probability or 0.0)
                for each in (top.candidates if top else None) or ()
            ),
        )
        for chosen, top in zip(logprobs.chosen_candidates, tops, strict=False)
    )
