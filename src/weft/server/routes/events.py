"""One stream of server-sent events: what is committed, resumed at a cursor, and what goes on now."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import anyio
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import StreamingResponse

from weft.runtime.events.log import Event, EventOptions
from weft.runtime.events.subscription import Subscription
from weft.runtime.live.feed import LiveEvent, LiveViewer
from weft.server.idempotency import KeyedRoute
from weft.server.query import query_of, read_query
from weft.server.run_wire import live_to_wire
from weft.server.wire import ERRORS, AuthenticatedClient
from weft.server.worker_threads import in_thread
from weft.tree.json import JsonValue
from weft.tree.json_names import to_wire

router = APIRouter(route_class=KeyedRoute, prefix="/api", tags=["events"], responses=ERRORS)

_HEARTBEAT = 15.0
"""Seconds between comments, which keep proxies from closing a silent connection."""
_PRESENT_EVERY = 30.0
"""Seconds between two signs of life."""
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get(
    "/events",
    operation_id="followEvents",
    summary="Follow events",
    response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events.", "content": {"text/event-stream": {}}}},
    openapi_extra=query_of(EventOptions),
)
async def follow_events(request: Request, client: AuthenticatedClient) -> StreamingResponse:
    """Committed events have an id: the cursor to continue from, also as `Last-Event-ID`.

    Without an id come `run`, `answer`, `turn` and `text`: what goes on now, from its beginning;
    `presence` in the trees that are named; and `job`.
    """
    options = read_query(request, EventOptions)
    start = request.headers.get("last-event-id") or options.after
    grove = client.grove

    def open_both() -> tuple[Subscription, LiveViewer]:
        subscription = grove.follow(after=start, trees=options.trees)
        return subscription, grove.runs.view(trees=options.trees)

    subscription, viewer = await in_thread(request, open_both)
    stream = _stream(request, subscription, viewer)
    return StreamingResponse(stream, media_type="text/event-stream", headers=_HEADERS)


async def _stream(request: Request, subscription: Subscription, viewer: LiveViewer) -> AsyncIterator[bytes]:
    """Nothing waits for the client: what it does not take stays where it is kept for all."""
    stopping: anyio.Event = request.app.state.stopping
    loop, ready = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        # The loop may have ended since; then there is no waiter.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(ready.set)

    async def end() -> None:
        await stopping.wait()
        ready.set()

    ending = asyncio.create_task(end())
    present = asyncio.create_task(_be_present(request, viewer))
    subscription.on_events(wake)
    viewer.on_change(wake)
    try:
        yield b": following\n\n"
        while not stopping.is_set() and not subscription.is_closed:
            ready.clear()
            before = subscription.cursor
            chunk = await in_thread(request, lambda: _news(subscription, viewer))
            if chunk:
                yield chunk
            elif subscription.cursor == before:
                try:
                    await asyncio.wait_for(ready.wait(), _HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"
    finally:
        ending.cancel()
        present.cancel()
        subscription.close()
        viewer.close()


async def _be_present(request: Request, viewer: LiveViewer) -> None:
    """While it is followed, the client is shown as present in the trees that it names."""
    while viewer.named_trees:
        await in_thread(request, viewer.show_presence)
        await asyncio.sleep(_PRESENT_EVERY)


def _news(subscription: Subscription, viewer: LiveViewer) -> bytes:
    # What goes on first: a node that is complete comes after the text that it was.
    live = b"".join(map(_live, viewer.take()))
    return live + b"".join(map(_event, subscription.take()))


def _event(event: Event) -> bytes:
    return f"id: {event.cursor}\n".encode() + _lines(event.kind, to_wire(event))


def _live(event: LiveEvent) -> bytes:
    return _lines(*live_to_wire(event))


def _lines(name: str, value: JsonValue) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
