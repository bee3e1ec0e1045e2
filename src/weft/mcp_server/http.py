"""MCP over HTTP: behind the server's middleware, with a token."""

import contextlib
import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from weft.grove.grove import Grove
from weft.mcp_server.server import CALLER, McpFace
from weft.runtime.operations.access import new_token
from weft.server.auth import Door, token_in
from weft.server.lifecycle import run_app
from weft.server.middleware import Guard
from weft.server.settings import LOOPBACK, ServerSettings

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

    door = _Admitting(manager.asgi_app, Door(grove, settings))
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

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app = app
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = token_in(Request(scope))
        caller = await anyio.to_thread.run_sync(self.door.caller, token)
        # Sessions of older clients belong to the token that began them; the token itself is kept nowhere.
        known = AccessToken(token="", client_id=hashlib.sha256(token.encode()).hexdigest(), scopes=[])
        await self.app({**scope, CALLER: caller.grove, "user": AuthenticatedUser(known)}, receive, send)
