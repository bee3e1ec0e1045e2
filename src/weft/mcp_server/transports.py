"""Speaking with the one program that started us, over its pipes."""

import contextlib
import hashlib
import logging
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, cast

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from weft.grove.grove import Grove
from weft.log import log_to_stderr
from weft.mcp_server.server import CALLER, McpFace
from weft.runtime.operations.access import new_token
from weft.server.auth import LOOPBACK, Authenticator, ServerSettings, token_in
from weft.server.lifecycle import run_app
from weft.server.middleware import Guard

LONGEST_LINE = 64 * 1024 * 1024
"""Most bytes of one message. A longer one ends the connection."""
_CHUNK = 65_536
_AHEAD = 16
"""Messages that are read before the one in hand has been taken."""
_log = logging.getLogger("weft.mcp")


def serve_stdio(face: McpFace) -> None:
    """Answer until the other side goes away. Only the protocol is on stdout; talk is on stderr."""
    log_to_stderr("weft mcp")
    with _own_pipes() as (incoming, outgoing):
        try:
            anyio.run(_serve, face.server(), incoming, outgoing)
        except* BrokenPipeError:
            # The client closed its end: stop.
            with contextlib.suppress(BrokenPipeError):
                outgoing.close()


async def _serve(server: Server[object], incoming: int, outgoing: IO[str]) -> None:
    lines = cast("anyio.AsyncFile[str]", _Lines(incoming))
    async with stdio_server(lines, anyio.wrap_file(outgoing)) as (read, write):
        await server.run(read, write, server.create_initialization_options())


@contextlib.contextmanager
def _own_pipes() -> Generator[tuple[int, IO[str]]]:
    """The two pipes, for the protocol alone: anything else that is printed goes to stderr."""
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a device
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    writer = os.fdopen(outgoing, "w", encoding="utf-8", closefd=False)
    try:
        yield incoming, writer
    finally:
        with contextlib.suppress(OSError, ValueError):
            writer.flush()
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)


class _Lines:
    """What comes in, line by line. The thread that waits for it does not keep the process alive."""

    def __init__(self, source: int) -> None:
        self._source = source

    async def __aiter__(self) -> AsyncGenerator[str]:
        send, receive = anyio.create_memory_object_stream[str](_AHEAD)
        room = threading.Semaphore(_AHEAD)
        token = anyio.lowlevel.current_token()
        threading.Thread(target=_read, args=(self._source, send, room, token), daemon=True).start()
        async with receive:
            async for line in receive:
                room.release()
                yield line


def _read(
    source: int,
    send: MemoryObjectSendStream[str],
    room: threading.Semaphore,
    token: anyio.lowlevel.EventLoopToken,
) -> None:
    """In its own thread, until there is no more, or the reader is closed.

    What it hands over are plain calls, never coroutines: a loop that ends meanwhile can forget a call
    without a word, but complains on stderr about a coroutine that was never awaited.
    """
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.RunFinishedError):
        for line in _lines_of(source):
            room.acquire()
            anyio.from_thread.run_sync(send.send_nowait, line.decode("utf-8", "replace"), token=token)
        anyio.from_thread.run_sync(send.close, token=token)


def _lines_of(source: int) -> Iterator[bytes]:
    begun = bytearray()
    while True:
        try:
            chunk = os.read(source, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            return
        begun += chunk
        if b"\n" in chunk:
            *whole, rest = begun.split(b"\n")
            begun = bytearray(rest)
            yield from (bytes(line) for line in whole if line.strip())
        elif len(begun) > LONGEST_LINE:
            _log.error("a message of more than %s bytes: the connection is closed", f"{LONGEST_LINE:,}")
            return


PORT = 7371
PATH = "/mcp"
_MOST_SESSIONS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAddress:
    """Where the server is, and how its owner gets in."""

    url: str
    token: str
    """For as long as the server runs; users have their own."""


def serve_http(
    grove: Grove,
    face: McpFace,
    *,
    host: str = LOOPBACK[0],
    port: int = PORT,
    names: Sequence[str] = (),
    settings: ServerSettings | None = None,
    ready: Callable[[HttpAddress], None],
) -> None:
    """Serve until the process is told to stop; `ready` is called when it answers. Port 0 takes any that is free."""
    token = new_token()
    given = settings or ServerSettings()
    chosen = replace(given, hosts=(*given.hosts, host, *names), keys=(*given.keys, token))
    run_app(
        create_mcp_app(grove, face, chosen),
        host=host,
        port=port,
        ready=lambda url: ready(HttpAddress(url=f"{url}{PATH}", token=token)),
    )


def create_mcp_app(grove: Grove, face: McpFace, settings: ServerSettings) -> Starlette:
    """An application over an open grove, which the caller closes. `face` has no agent of its own."""
    if face.grove is not None:
        raise ValueError("over HTTP each request says who asks")
    manager = StreamableHTTPSessionManager(
        face.server(), max_request_body_size=settings.body_limit, max_sessions=_MOST_SESSIONS
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        app.state.stopping = anyio.Event()
        async with manager.run(), anyio.create_task_group() as tasks:
            tasks.start_soon(_end, app.state.stopping, face)
            yield
            tasks.cancel_scope.cancel()

    door = _Admitting(manager.asgi_app, Authenticator(grove, settings))
    return Starlette(
        routes=[Route(PATH, endpoint=door)],
        middleware=[Middleware(Guard, settings=settings)],
        lifespan=lifespan,
    )


async def _end(stopping: anyio.Event, face: McpFace) -> None:
    """Streams that would go on for ever are told that it is over."""
    await stopping.wait()
    face.listening.close()


class _Admitting:
    """Refuses a request without a token; puts the caller into the request."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self.app = app
        self.authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = token_in(Request(scope))
        address = str((scope.get("client") or ("",))[0])
        client = await anyio.to_thread.run_sync(self.authenticator.client, token, address)
        # Sessions of older clients belong to the token that began them; the token itself is kept nowhere.
        known = AccessToken(token="", client_id=hashlib.sha256(token.encode()).hexdigest(), scopes=[])
        await self.app({**scope, CALLER: client.grove, "user": AuthenticatedUser(known)}, receive, send)
