"""What each provider's server says, in its real dialect."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from weft.providers.anthropic import Anthropic
from weft.providers.connecting import Connection
from weft.providers.endpoint import Endpoint
from weft.providers.keys import Keys

CANARY = "sk-canary-0123456789abcdefghijklmnopqrstuvwxyz"


def sse(value: object, event: str | None = None) -> bytes:
    named = b"" if event is None else f"event: {event}\n".encode()
    return named + b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def connect(url: str, name: str, *, key: str | None = CANARY, **settings) -> Connection:
    environment = {} if key is None else {f"WEFT_KEY_{name.upper()}": key}
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
    make: Callable
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

HOUSES = [ANTHROPIC]
