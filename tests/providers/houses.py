"""What each provider's server says, in its real dialect."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.providers.adapter import Connection
from weft.providers.anthropic import Anthropic
from weft.providers.compatible import Compatible
from weft.providers.endpoint import Endpoint
from weft.providers.google import Google
from weft.providers.keys import Keys
from weft.providers.openai import OpenAI

CANARY = "sk-canary-0123456789abcdefghijklmnopqrstuvwxyz"
MARK = "[redacted key]".ljust(len(CANARY), "*")


def sse(value: object, event: str | None = None) -> bytes:
    named = b"" if event is None else f"event: {event}\n".encode()
    return named + b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def connect(url: str, name: str, *, key: str | None = CANARY, **settings: Any) -> Connection:
    variable = f"WEFT_KEY_{name.upper()}"
    environment = {} if key is None else {variable: key, f"{variable}_FOR": url}
    keys = Keys(environment=environment, ring=lambda: None, file=_no_file)
    return Connection(endpoint=Endpoint(url), key_name=name, keys=keys, **settings)


def _no_file():
    from pathlib import Path

    return Path("/nonexistent/keys.json")


@dataclass(frozen=True)
class House:
    """A provider, and how its server speaks."""

    name: str
    model: str
    make: Callable[..., Any]
    base: str
    text: Callable[[list[str]], list[bytes]]
    """A whole streamed answer in pieces, ended well."""
    tools: list[bytes]
    error: Callable[[int, str], bytes]
    overload: bytes
    """An error inside a stream that began well."""
    listed: bytes


def anthropic_start(model: str = "claude-opus-4-5-20251101", **usage) -> bytes:
    spent = {"input_tokens": 10, "output_tokens": 1, **usage}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": spent,
    }  # fmt: skip
    return sse({"type": "message_start", "message": message}, "message_start")


def anthropic_block(index: int, block: dict, *deltas: dict) -> list[bytes]:
    start = {"type": "content_block_start", "index": index, "content_block": block}
    return [
        sse(start, "content_block_start"),
        *(
            sse({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
            for delta in deltas
        ),
        sse({"type": "content_block_stop", "index": index}, "content_block_stop"),
    ]


def anthropic_end(reason: str = "end_turn", output: int = 7) -> list[bytes]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        sse({"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}}, "message_delta"),
        sse({"type": "message_stop"}, "message_stop"),
    ]


def anthropic_text(words: list[str]) -> list[bytes]:
    deltas = [{"type": "text_delta", "text": word} for word in words]
    ping = sse({"type": "ping"}, "ping")
    return [
        anthropic_start(cache_read_input_tokens=5, cache_creation_input_tokens=3),
        ping,
        *anthropic_block(0, {"type": "text", "text": ""}, *deltas),
        *anthropic_end(),
    ]


ANTHROPIC = House(
    name="anthropic",
    model="claude-opus-4-5",
    make=Anthropic,
    base="",
    text=anthropic_text,
    tools=[
        anthropic_start(),
        *anthropic_block(0, {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "I should "}, {"type": "thinking_delta", "thinking": "look."},
            {"type": "signature_delta", "signature": "c2ln"}),
        *anthropic_block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Looking."}),
        *anthropic_block(2, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"at": '},
            {"type": "input_json_delta", "partial_json": '"sea"}'}),
        *anthropic_end("tool_use"),
    ],
    error=lambda status, message: json.dumps({
        "type": "error",
        "error": {"type": {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error",
            429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}[status], "message": message},
        "request_id": "req_1",
    }).encode(),
    overload=sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error"),
    listed=json.dumps({
        "data": [{"type": "model", "id": "claude-opus-4-5-20251101", "display_name": "Claude Opus 4.5",
            "created_at": "2025-11-01T00:00:00Z", "lifecycle": "active", "max_input_tokens": 200000,
            "max_tokens": 64000}],
        "has_more": False, "first_id": None, "last_id": None,
    }).encode(),
)  # fmt: skip


def chunk(*choices: dict, usage: dict | None = None, **extra) -> bytes:
    told = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-2024-08-06"}
    return sse({**told, "choices": list(choices), **({"usage": usage} if usage else {}), **extra})


def delta(index: int = 0, reason: str | None = None, logprobs: dict | None = None, **said) -> dict:
    return {"index": index, "delta": said, "finish_reason": reason, "logprobs": logprobs}


CHAT_USAGE = {
    "prompt_tokens": 18, "completion_tokens": 7, "total_tokens": 25,
    "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
}  # fmt: skip
DONE = b"data: [DONE]\n\n"


def chat_text(words: list[str]) -> list[bytes]:
    return [
        chunk(delta(role="assistant", content="")),
        *(chunk(delta(content=word)) for word in words),
        chunk(delta(reason="stop")),
        chunk(usage=CHAT_USAGE),
        DONE,
    ]


def openai_error(status: int, message: str) -> bytes:
    code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(status)
    kind = {429: "requests", 500: "server_error", 529: "overloaded"}.get(status, "invalid_request_error")
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


def call(index: int, arguments: str, name: str | None = None) -> dict:
    started = {"id": "call_1", "type": "function"} if name else {}
    return {
        "index": index,
        **started,
        "function": {**({"name": name} if name else {}), "arguments": arguments},
    }


OPENAI_LIST = json.dumps({
    "object": "list",
    "data": [{"id": "gpt-4o", "object": "model", "created": 1, "owned_by": "openai"}],
}).encode()  # fmt: skip
CHAT_TOOLS = [
    chunk(delta(role="assistant", content=None, reasoning_content="I should ")),
    chunk(delta(reasoning_content="look.")),
    chunk(delta(content="Looking.")),
    chunk(delta(tool_calls=[call(0, "", "look")])),
    chunk(delta(tool_calls=[call(0, '{"at": ')])),
    chunk(delta(tool_calls=[call(0, '"sea"}')])),
    chunk(delta(reason="tool_calls")),
    DONE,
]
OVERLOAD = sse({"error": {"message": "Overloaded", "type": "server_error", "code": None}})
CHAT = House(
    name="openai",
    model="gpt-4o",
    make=OpenAI,
    base="/v1",
    text=chat_text,
    tools=CHAT_TOOLS,
    error=openai_error,
    overload=OVERLOAD,
    listed=OPENAI_LIST,
)


def response_event(kind: str, **fields) -> bytes:
    return sse({"type": kind, "sequence_number": 0, **fields}, kind)


def response(status: str, **fields) -> dict:
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5.1-2025-11-13", "output": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": status}  # fmt: skip
    return {**base, **fields}


RESPONSE_USAGE = {
    "input_tokens": 18, "output_tokens": 7, "total_tokens": 25,
    "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
    "output_tokens_details": {"reasoning_tokens": 2},
}  # fmt: skip


def response_delta(word: str) -> bytes:
    return response_event(
        "response.output_text.delta",
        item_id="msg_1",
        output_index=0,
        content_index=0,
        delta=word,
        logprobs=[],
    )


def response_text(words: list[str]) -> list[bytes]:
    return [
        response_event("response.created", response=response("in_progress")),
        *(response_delta(word) for word in words),
        response_event("response.completed", response=response("completed", usage=RESPONSE_USAGE)),
    ]


REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "I should look."}],
    "encrypted_content": "c2ln"}  # fmt: skip
RESPONSES = House(
    name="openai",
    model="gpt-5.1",
    make=OpenAI,
    base="/v1",
    text=response_text,
    tools=[
        response_event("response.created", response=response("in_progress")),
        response_event("response.reasoning_summary_text.delta", item_id="rs_1", output_index=0, summary_index=0,
            delta="I should look."),
        response_event("response.output_item.done", output_index=0, item=REASONING),
        response_delta("Looking."),
        response_event("response.output_item.done", output_index=2, item={"type": "function_call", "id": "fc_1",
            "call_id": "call_1", "name": "look", "arguments": '{"at": "sea"}', "status": "completed"}),
        response_event("response.completed", response=response("completed", usage=RESPONSE_USAGE)),
    ],
    error=openai_error,
    overload=response_event("response.failed", response=response("failed",
        error={"code": "server_error", "message": "Overloaded"})),
    listed=OPENAI_LIST,
)  # fmt: skip


def completion(text: str, reason: str | None = None, index: int = 0, **fields) -> bytes:
    choice = {"text": text, "index": index, "logprobs": None, "finish_reason": reason, **fields}
    return sse({"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "davinci-002",
        "choices": [choice]})  # fmt: skip


def completion_text(words: list[str]) -> list[bytes]:
    usage = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "davinci-002", "choices": [],
        "usage": CHAT_USAGE}  # fmt: skip
    return [*(completion(word) for word in words), completion("", "stop"), sse(usage), DONE]


COMPLETIONS = House(
    name="openai",
    model="davinci-002",
    make=OpenAI,
    base="/v1",
    text=completion_text,
    tools=[],
    error=openai_error,
    overload=OVERLOAD,
    listed=OPENAI_LIST,
)


def gemini(
    *parts: dict, reason: str | None = None, index: int | None = None, usage: bool = False, **fields
) -> bytes:
    candidate = {"content": {"role": "model", "parts": list(parts)}, **fields}
    if reason:
        candidate["finishReason"] = reason
    if index is not None:
        candidate["index"] = index
    told = {"candidates": [candidate], "modelVersion": "gemini-2.5-flash-001", "responseId": "r1"}
    if usage:
        told["usageMetadata"] = {
            "promptTokenCount": 18, "candidatesTokenCount": 4, "thoughtsTokenCount": 3, "totalTokenCount": 25,
            "cachedContentTokenCount": 5,
        }  # fmt: skip
    return sse(told).replace(b"\n\n", b"\r\n\r\n")


def gemini_error(status: int, message: str, **fields) -> bytes:
    word = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL", 503: "UNAVAILABLE", 529: "UNAVAILABLE"}[status]  # fmt: skip
    return json.dumps({"error": {"code": status, "message": message, "status": word, **fields}}).encode()


GOOGLE = House(
    name="google",
    model="gemini-2.5-flash",
    make=Google,
    base="",
    text=lambda words: [*(gemini({"text": word}) for word in words), gemini(reason="STOP", usage=True)],
    tools=[
        gemini({"text": "I should look.", "thought": True}),
        gemini({"text": "Looking."}),
        gemini({"functionCall": {"name": "look", "args": {"at": "sea"}}, "thoughtSignature": "c2ln"}),
        gemini(reason="STOP", usage=True),
    ],
    error=gemini_error,
    overload=sse({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}),
    listed=json.dumps({
        "models": [{"name": "models/gemini-2.5-flash", "displayName": "Gemini 2.5 Flash",
            "inputTokenLimit": 1048576, "outputTokenLimit": 65536,
            "supportedGenerationMethods": ["generateContent", "countTokens"]},
            {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]}],
    }).encode(),
)  # fmt: skip


def compatible(connection: Connection) -> Compatible:
    return Compatible(environment={}, connections={"vllm": connection})


COMPATIBLE = House(
    name="compatible",
    model="vllm/meta-llama/Llama-3.1-8B",
    make=compatible,
    base="/v1",
    text=chat_text,
    tools=CHAT_TOOLS,
    error=openai_error,
    overload=OVERLOAD,
    listed=json.dumps({"object": "list", "data": [{"id": "meta-llama/Llama-3.1-8B", "object": "model",
        "created": 1, "owned_by": "vllm", "max_model_len": 131072}]}).encode(),
)  # fmt: skip

HOUSES = {
    "anthropic": ANTHROPIC,
    "chat": CHAT,
    "responses": RESPONSES,
    "completions": COMPLETIONS,
    "google": GOOGLE,
    "compatible": COMPATIBLE,
}
