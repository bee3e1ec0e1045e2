"""An upstream on this machine that speaks the vendors' interfaces, with a script for its answers."""

import contextlib
import json
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """What the upstream says: words, calls of tools, thinking; or an error, or a stream that breaks."""

    text: str = ""
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    """Id, name and arguments."""
    thinking: str = ""
    status: int = 200
    message: str = "it failed"
    breaks_after: int | None = None
    """Bytes of the stream after which the connection is closed."""
    holds_after: int | None = None
    """Bytes of the stream after which the upstream waits until it is released."""
    usage: tuple[int, int, int] = (100, 20, 0)
    """Tokens of the prompt, of the answer, and of the prompt those that were cached."""
    headers: dict[str, str] = field(default_factory=dict)
    items: list[dict[str, Any]] | None = None
    """Output items of the Responses interface, as they are."""


@dataclass
class Heard:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Upstream:
    script: Callable[[Any, int], Answer]
    """Given the body and the number of the request."""
    heard: list[Heard] = field(default_factory=list)
    said: list[bytes] = field(default_factory=list)
    url: str = ""
    released: threading.Event = field(default_factory=threading.Event)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, behind: Upstream) -> None:
        self.behind = behind
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - it is the only one that makes these

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the name that it has

    def do_GET(self) -> None:
        self._answer(200, b'{"data": [{"id": "model-1"}]}', {})

    def do_POST(self) -> None:
        behind = self.server.behind
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.server.lock:
            behind.heard.append(Heard(self.path, headers, body))
            number = len(behind.heard)
        given = json.loads(body)
        answer = behind.script(given, number)
        if answer.status != 200:
            error = {"type": "error", "error": {"type": "overloaded_error", "message": answer.message}}
            self._answer(answer.status, json.dumps(error).encode(), {"retry-after": "0"} | answer.headers)
            return
        path = self.path.partition("?")[0]
        kind = max((name for name in SHAPES if path.endswith(name)), key=len)
        whole, events = SHAPES[kind](answer, number, given)
        if given.get("stream"):
            self._stream(answer, b"".join(events), number)
        else:
            self._answer(200, json.dumps(whole).encode(), answer.headers)

    def _answer(self, status: int, body: bytes, more: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self._name(len(self.server.behind.heard))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.server.behind.said.append(body)

    def _name(self, number: int) -> None:
        for name in ("request-id", "x-request-id"):
            self.send_header(name, f"req_{number}")

    def _stream(self, answer: Answer, body: bytes, number: int) -> None:
        behind = self.server.behind
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self._name(number)
        self.end_headers()
        cut = answer.breaks_after if answer.breaks_after is not None else answer.holds_after
        sent = body if cut is None else body[:cut]
        with contextlib.suppress(ConnectionError):
            self._chunk(sent)
            if answer.holds_after is not None:
                behind.released.wait(20)
                self._chunk(body[cut:])
            if answer.breaks_after is None:
                self.wfile.write(b"0\r\n\r\n")
        behind.said.append(sent)
        self.close_connection = answer.breaks_after is not None

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


@contextlib.contextmanager
def upstream(script: Callable[[Any, int], Answer]) -> Generator[Upstream]:
    behind = Upstream(script)
    listening = _Server(behind)
    behind.url = f"http://127.0.0.1:{listening.server_port}"
    thread = threading.Thread(target=lambda: listening.serve_forever(0.02))
    thread.start()
    try:
        yield behind
    finally:
        behind.released.set()
        listening.shutdown()
        listening.server_close()
        thread.join()


def _sse(name: str | None, data: dict[str, Any]) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _messages(answer: Answer, number: int, given: Any) -> tuple[dict[str, Any], list[bytes]]:
    prompt, said, cached = answer.usage
    blocks: list[dict[str, Any]] = []
    if answer.thinking:
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": f"sig{number}"})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    blocks += [
        {"type": "tool_use", "id": name, "name": tool, "input": arguments}
        for name, tool, arguments in answer.calls
    ]
    usage = {"input_tokens": prompt - cached, "cache_read_input_tokens": cached, "output_tokens": said}
    head = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": given["model"],
        "stop_sequence": None,
    }
    stop = "tool_use" if answer.calls else "end_turn"
    whole = {**head, "content": blocks, "stop_reason": stop, "usage": usage}
    events = [
        _sse(
            "message_start",
            {
                "type": "message_start",
                "message": {**head, "content": [], "stop_reason": None, "usage": usage},
            },
        )
    ]
    for index, block in enumerate(blocks):
        events += _block_events(index, block)
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append(
        _sse("message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": said}})
    )
    events.append(_sse("message_stop", {"type": "message_stop"}))
    return whole, events


def _block_events(index: int, block: dict[str, Any]) -> list[bytes]:
    if block["type"] == "text":
        empty, name, whole = {"type": "text", "text": ""}, "text", block["text"]
        kind = "text_delta"
    elif block["type"] == "thinking":
        empty, name, whole = (
            {"type": "thinking", "thinking": "", "signature": ""},
            "thinking",
            block["thinking"],
        )
        kind = "thinking_delta"
    else:
        empty: dict[str, Any] = {**block, "input": {}}
        name, whole = "partial_json", json.dumps(block["input"])
        kind = "input_json_delta"
    half = len(whole) // 2
    deltas = [{"type": kind, name: piece} for piece in (whole[:half], whole[half:])]
    if block["type"] == "thinking":
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    return [
        _sse("content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}),
        *(
            _sse("content_block_delta", {"type": "content_block_delta", "index": index, "delta": each})
            for each in deltas
        ),
        _sse("content_block_stop", {"type": "content_block_stop", "index": index}),
    ]


def _chat(answer: Answer, number: int, given: Any) -> tuple[dict[str, Any], list[bytes]]:
    prompt, said, cached = answer.usage
    calls: list[dict[str, Any]] = [
        {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        for name, tool, arguments in answer.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": said,
        "total_tokens": prompt + said,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    head = {"id": f"chatcmpl-{number}", "created": 1, "model": given["model"]}
    stop = "tool_calls" if calls else "stop"
    choices = [
        {"index": at, "message": message, "finish_reason": stop, "logprobs": None}
        for at in range(given.get("n") or 1)
    ]
    whole = {**head, "object": "chat.completion", "choices": choices, "usage": usage}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _sse(None, {**head, "object": "chat.completion.chunk", "choices": [choice]})

    half = len(answer.text) // 2
    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": piece}) for piece in (answer.text[:half], answer.text[half:]) if piece]
    for index, call in enumerate(calls):
        function = call["function"]
        events.append(
            chunk({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
        )
        events.append(
            chunk({"tool_calls": [{"index": index, "function": {"arguments": function["arguments"]}}]})
        )
    events.append(chunk({}, stop))
    if (given.get("stream_options") or {}).get("include_usage"):
        events.append(_sse(None, {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    events.append(b"data: [DONE]\n\n")
    return whole, events


def _completions(answer: Answer, number: int, given: Any) -> tuple[dict[str, Any], list[bytes]]:
    prompt, said, _ = answer.usage
    head = {"id": f"cmpl-{number}", "created": 1, "model": given["model"], "object": "text_completion"}
    choice = {"index": 0, "text": answer.text, "finish_reason": "stop", "logprobs": None}
    usage = {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
    return {**head, "choices": [choice], "usage": usage}, [
        _sse(None, {**head, "choices": [choice]}),
        b"data: [DONE]\n\n",
    ]


def _responses(answer: Answer, number: int, given: Any) -> tuple[dict[str, Any], list[bytes]]:
    prompt, said, cached = answer.usage
    items: list[dict[str, Any]] = []
    if answer.thinking:
        items.append(
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"enc{number}"}
        )
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        items.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    items += [
        {
            "type": "function_call",
            "id": f"fc_{name}",
            "call_id": name,
            "name": tool,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for name, tool, arguments in answer.calls
    ]
    items = answer.items if answer.items is not None else items
    usage = {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + said,
    }
    head = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": given["model"],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }
    whole = {**head, "status": "completed", "output": items, "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}}
    ]
    for index, item in enumerate(items):
        events.append(
            {
                "type": "response.output_item.added",
                "output_index": index,
                "item": {**item, "content": []} if "content" in item else item,
            }
        )
        about = {"output_index": index, "content_index": 0, "item_id": item.get("id", ""), "logprobs": []}
        empty = {"type": "output_text", "text": "", "annotations": []}
        events += [
            {"type": "response.content_part.added", "part": empty, **about} for _ in item.get("content", ())
        ]
        events += [
            {"type": "response.output_text.delta", "delta": piece["text"], **about}
            for piece in item.get("content", ())
        ]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return whole, [_sse(each["type"], {**each, "sequence_number": at}) for at, each in enumerate(events)]


def _counted(answer: Answer, number: int, given: Any) -> tuple[dict[str, Any], list[bytes]]:
    del number, given
    return {"input_tokens": answer.usage[0]}, []


SHAPES: dict[str, Callable[[Answer, int, Any], tuple[dict[str, Any], list[bytes]]]] = {
    "/chat/completions": _chat,
    "/completions": _completions,
    "/responses": _responses,
    "/messages": _messages,
    "/messages/count_tokens": _counted,
}
