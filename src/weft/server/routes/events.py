"""Events as they happen: one stream of server-sent events, resumed at a cursor."""

import contextlib
import json
from collections.abc import AsyncIterator

import anyio
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import StreamingResponse

from weft.runtime.events.log import Event, EventOptions
from weft.runtime.events.subscription import Subscription
from weft.server.query import query_of, read_query
from weft.server.wire import ERRORS, AuthenticatedClient
from weft.server.worker_threads import in_thread
from weft.tree.json_names import to_wire

router = APIRouter(prefix="/api", tags=["events"], responses=ERRORS)

_HEARTBEAT = 15.0
"""Seconds between comments, which keep proxies from closing a silent connection."""


@router.get(
    "/events",
    operation_id="followEvents",
    summary="Follow events",
    response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events.", "content": {"text/event-stream": {}}}},
    openapi_extra=query_of(EventOptions),
)
async def follow_events(request: Request, client: AuthenticatedClient) -> StreamingResponse:
    """Each event's id is the cursor to continue from, also as `Last-Event-ID`."""
    options = read_query(request, EventOptions)
    start = request.headers.get("last-event-id") or options.after
    subscription = await in_thread(request, lambda: client.grove.follow(after=start, trees=options.trees))
    return StreamingResponse(_stream(request, subscription), media_type="text/event-stream")


async def _stream(request: Request, subscription: Subscription) -> AsyncIterator[bytes]:
    stopping: anyio.Event = request.app.state.stopping
    send, receive = anyio.create_memory_object_stream[bytes](16)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_feed, subscription, send.clone())
            tasks.start_soon(_beat, send.clone())
            tasks.start_soon(_end, stopping, send)
            async with receive:
                async for chunk in receive:
                    if not chunk:
                        break
                    yield chunk
            tasks.cancel_scope.cancel()
    finally:
        subscription.close()


async def _feed(subscription: Subscription, send: "anyio.abc.ObjectSendStream[bytes]") -> None:
    with contextlib.suppress(anyio.BrokenResourceError):
        async for batch in subscription.batches():
            await send.send(b"".join(map(_event, batch)))
        await send.send(b"")


async def _beat(send: "anyio.abc.ObjectSendStream[bytes]") -> None:
    with contextlib.suppress(anyio.BrokenResourceError):
        await send.send(b": following\n\n")
        while True:
            await anyio.sleep(_HEARTBEAT)
            await send.send(b": still here\n\n")


async def _end(stopping: anyio.Event, send: "anyio.abc.ObjectSendStream[bytes]") -> None:
    with contextlib.suppress(anyio.BrokenResourceError):
        await stopping.wait()
        await send.send(b"")


def _event(event: Event) -> bytes:
    value = json.dumps(to_wire(event), ensure_ascii=False, separators=(",", ":"))
    return f"id: {event.cursor}\nevent: {event.kind}\ndata: {value}\n\n".encode()
