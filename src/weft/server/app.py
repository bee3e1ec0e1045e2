"""The application: all routes behind one guard, errors in one form; the one-time link, health and docs."""

import contextlib
import html
from collections.abc import AsyncGenerator
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI, Query
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from weft import __version__
from weft.errors import CODES, InvalidInputError, NotFoundError, WeftError
from weft.grove.grove import Grove
from weft.runtime.proxy.unfinished import close_unfinished
from weft.runtime.proxy.upstream import Upstreams
from weft.runtime.proxy.wires import WireError
from weft.server.auth import Authenticator, ServerSettings
from weft.server.headers import PAGE_POLICY
from weft.server.middleware import Guard
from weft.server.proxy_errors import error_answer, is_proxied, wire_at
from weft.server.routes import (
    administration,
    ask,
    events,
    evidence,
    imports,
    operations,
    providers,
    proxy,
    proxy_views,
    recipes,
    records,
    runs,
    sample,
    sessions,
    tokens,
    tools,
    trees,
    views,
    web_app,
    workspace,
)
from weft.server.value_schemas import value_schemas
from weft.server.wire import ERRORS, AuthenticatedClient, JsonAnswer, address_of, answer_error, operation

_ABOUT = "Trees, records and contexts of a grove. Send a token as Authorization: Bearer."
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1rem; margin: 1.5rem 0 0; } code { font-family: ui-monospace, monospace; }
.method { display: inline-block; min-width: 4rem; font-weight: 600; } p { margin: .25rem 0; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } a { color: #8cf; } }
"""
_WAITERS = 200
"""Requests with an idempotency key at the same time: most of them wait for one another."""
_pages = APIRouter(tags=["pages"], responses=ERRORS)


def create_app(
    grove: Grove, settings: ServerSettings | None = None, upstreams: Upstreams | None = None
) -> FastAPI:
    """A server for an open grove; the caller closes the grove. `upstreams` are where its proxy forwards to."""
    chosen = settings or ServerSettings()
    service = proxy.ProxyService() if upstreams is None else proxy.ProxyService(upstreams)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        _set_up(app, chosen)
        if not grove.caller.store.read_only:
            await anyio.to_thread.run_sync(close_unfinished, grove.caller)
        yield
        app.state.stopping.set()
        # Recorded while the grove is open: the caller closes it after this.
        await anyio.to_thread.run_sync(service.recorder.close)
        await service.upstreams.close()

    app = FastAPI(
        title="Weft",
        version=__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        default_response_class=JsonAnswer,
    )
    app.state.settings = chosen
    app.state.authenticator = Authenticator(grove, chosen)
    app.state.proxy = service
    _set_up(app, chosen)
    app.openapi = lambda: _openapi(app)
    for router in ROUTERS:
        app.include_router(router)
    for kind in (WeftError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _failed)
    app.add_middleware(Guard, settings=chosen)
    return app


def _set_up(app: FastAPI, settings: ServerSettings) -> None:
    app.state.limiter = anyio.CapacityLimiter(settings.threads)
    app.state.stopping = anyio.Event()
    app.state.waiters = anyio.CapacityLimiter(_WAITERS)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The document, with the values that its answers name."""
    document = FastAPI.openapi(app)
    document.setdefault("components", {}).setdefault("schemas", value_schemas())
    return document


async def _failed(request: Request, error: Exception) -> Response:
    """Every error in our form, or in that of the proxy's interface; of an error of our own, no details."""
    if is_proxied(request.url.path):
        return _proxy_failed(request, error)
    match error:
        case WeftError():
            return answer_error(error)
        case RequestValidationError():
            first: dict[str, Any] = error.errors()[0]
            kinds = {"query", "path", "body", "header"}
            path = ".".join(str(part) for part in first.get("loc", ()) if part not in kinds)
            return answer_error(InvalidInputError(f"{path}: {first.get('msg', 'is not valid')}", path=path))
        case HTTPException():
            refusal: WeftError = NotFoundError(f"no route {request.method[:20]} {request.url.path[:200]}")
            if error.status_code not in {404, 405}:
                # A body that the framework could not read.
                refusal = InvalidInputError(str(error.detail)[:200])
            answer = answer_error(refusal)
            answer.status_code = error.status_code
            answer.headers.update(error.headers or {})
            return answer
        case _:
            internal = {"error": "internal error", "code": "INTERNAL", "retry": CODES["STORAGE"].retry}
            return JsonAnswer(internal, status_code=500)


def _proxy_failed(request: Request, error: Exception) -> Response:
    wire = wire_at(request.url.path)
    if isinstance(error, WeftError):
        return error_answer(wire, error)
    if isinstance(error, HTTPException):
        message = f"Weft: no route {request.method} {request.url.path[:200]}"
        return error_answer(wire, WireError(status=error.status_code, message=message, code="NOT_FOUND"))
    return error_answer(wire, WireError(status=500, message="Weft: internal error", code="INTERNAL"))


@_pages.get(
    "/api/health", **operation("health", "Health check", "The server runs.", ok="boolean", version="string")
)
async def health() -> JsonAnswer:
    return JsonAnswer({"ok": True, "version": __version__})


@_pages.get("/enter", operation_id="enter", include_in_schema=False)
async def enter(request: Request, key: Annotated[str, Query(min_length=1)]) -> Response:
    """The one-time link: sets a cookie in this browser."""
    authenticator: Authenticator = request.app.state.authenticator
    answer = RedirectResponse("/", status_code=303)
    sessions.set_cookie(request, answer, authenticator.open_link(key, address_of(request)))
    return answer


@_pages.get("/docs/style.css", include_in_schema=False)
async def style(client: AuthenticatedClient) -> PlainTextResponse:
    del client
    return PlainTextResponse(_STYLE, media_type="text/css")


@_pages.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    del client
    return JsonAnswer(request.app.openapi())


@_pages.get("/docs", include_in_schema=False)
async def docs(request: Request, client: AuthenticatedClient) -> HTMLResponse:
    """All routes on one page without scripts or anything from other sites."""
    del client
    return HTMLResponse(_page(request.app.openapi()), headers={"Content-Security-Policy": PAGE_POLICY})


def _page(document: dict[str, Any]) -> str:
    parts = [
        f'<h2><span class="method">{method.upper()}</span> <code>{html.escape(path)}</code></h2>'
        f"<p>{html.escape(about.get('summary', ''))}</p><p>{html.escape(about.get('description', ''))}</p>"
        for path, methods in document["paths"].items()
        for method, about in methods.items()
    ]
    title = html.escape(document["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<link rel="stylesheet" href="/docs/style.css"><meta name="viewport" content="width=device-width">'
        f"<h1>{title}</h1><p>{html.escape(document['info']['description'])} "
        f'<a href="/openapi.json">openapi.json</a></p>{"".join(parts)}</html>'
    )


ROUTERS = (
    recipes.router,
    records.router,
    trees.router,
    ask.router,
    tools.router,
    operations.router,
    views.router,
    evidence.router,
    providers.router,
    tokens.router,
    imports.router,
    runs.router,
    sample.router,
    workspace.router,
    administration.router,
    events.router,
    web_app.router,
    proxy.router,
    sessions.router,
    proxy.bases,
    proxy_views.router,
    _pages,
)
"""Everything that a server answers."""
