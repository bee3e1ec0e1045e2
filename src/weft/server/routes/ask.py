"""Ask a question in a tree: the answer as one value, or as it comes."""

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from weft.errors import InvalidInputError, WeftError
from weft.grove.answer import AnswerStream, start_answer
from weft.runtime.collaboration.run_events import Began, Finished, Turned
from weft.runtime.generation.stream import Notice, Retrying, TextChunk, ThinkingChunk, ToolCallChunk
from weft.runtime.runners.options import AskOptions
from weft.runtime.runners.run_events import (
    ApprovalAsked,
    PlannedTools,
    RunnerEvent,
    ToolEnded,
    ToolStarted,
    TurnNode,
)
from weft.server.idempotency import KeyedRoute
from weft.server.query import body_schema, read_body
from weft.server.routes.trees import TreeId
from weft.server.run_wire import run_to_wire
from weft.server.wire import (
    BOOLEAN,
    ERRORS,
    AuthenticatedClient,
    JsonAnswer,
    body_of,
    error_body,
    operation,
    read_object,
)
from weft.server.worker_threads import in_thread
from weft.tree.json import JsonValue
from weft.tree.json_names import to_wire

router = APIRouter(route_class=KeyedRoute, prefix="/api/trees", tags=["answers"], responses=ERRORS)

_STREAM, _BACKGROUND = "stream", "background"
_BODY = body_schema(
    AskOptions,
    stream={**BOOLEAN, "description": "Answer with server-sent events."},
    background={**BOOLEAN, "description": "Answer at once with the run (202), which goes on by itself."},
)
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.post(
    "/{tree}/ask",
    **operation(
        "ask",
        "Ask a question and answer it with a runner",
        "The answer; with `stream`, server-sent events whose last one, `finished`, has it.",
        runner="string",
        tree="string",
        question="object",
        tools="array",
        notices="array",
        ending="string",
    ),
    openapi_extra=body_of(_BODY, {"text": "Why does she hesitate?", "runner": "chat"}),
)
async def ask(request: Request, client: AuthenticatedClient, tree: TreeId) -> Response:
    """The question becomes a node, and the answer one below it.

    If the client goes away, it stops; with `background` it goes on and belongs to the server.
    """
    body = dict(await read_object(request))
    wants_stream, in_background = (_flag(body, name) for name in (_STREAM, _BACKGROUND))
    options = read_body(body, AskOptions).attended()
    grove = client.grove
    if in_background:
        run = await in_thread(request, lambda: grove.runs.ask(tree, options))
        return JsonAnswer({"run": run_to_wire(run)}, status_code=202)
    stream = await in_thread(request, lambda: start_answer(grove, grove.tree(tree).id, options))
    if wants_stream:
        return StreamingResponse(_events(stream), media_type="text/event-stream", headers=_HEADERS)
    watching = asyncio.create_task(_stop_with_client(request, stream))
    try:
        return JsonAnswer((await stream.result_async()).to_wire())
    finally:
        watching.cancel()


def _flag(body: dict[str, JsonValue], name: str) -> bool:
    value = body.pop(name, False)
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false", path=name)
    return value


async def _stop_with_client(request: Request, stream: AnswerStream) -> None:
    """Stop when the client is gone: the rest would not be read, and costs money."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stream.stop()


async def _events(stream: AnswerStream) -> AsyncIterator[bytes]:
    try:
        async for event in stream:
            if (wire := _to_wire(event)) is not None:
                yield _line(*wire)
        yield _line("finished", (await stream.result_async()).to_wire())
    except WeftError as error:
        yield _line("error", error_body(error))
    finally:
        stream.stop()


_NAMES: dict[type, str] = {
    Began: "began",
    Turned: "turn",
    PlannedTools: "planned",
    ToolStarted: "tool",
    ApprovalAsked: "approval",
    TurnNode: "node",
    ToolCallChunk: "call",
    Notice: "notice",
}


def _to_wire(event: RunnerEvent) -> tuple[str, JsonValue] | None:
    match event:
        case TextChunk():
            return "text", {"text": event.text}
        case ThinkingChunk():
            return "thinking", {"text": event.text}
        case ToolEnded():
            return "toolEnded", {"call": to_wire(event.run.call), "status": event.run.status.value}
        case Retrying():
            return "retrying", {"error": event.error.message, "seconds": event.wait}
        case Finished():
            return None
        case _:
            return _NAMES[type(event)], to_wire(event)


def _line(name: str, value: JsonValue) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
