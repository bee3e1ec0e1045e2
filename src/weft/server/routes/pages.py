"""The few pages: the one-time link, the document of all routes, and whether anybody is there."""

import html
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from weft import __version__
from weft.server.auth import COOKIE, Door
from weft.server.dependencies import ERRORS, Asking, answer_of
from weft.server.middleware import PAGE_POLICY
from weft.server.wire import JsonAnswer

router = APIRouter(tags=["pages"], responses=ERRORS)
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1rem; margin: 1.5rem 0 0; } code { font-family: ui-monospace, monospace; }
.method { display: inline-block; min-width: 4rem; font-weight: 600; } p { margin: .25rem 0; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } a { color: #8cf; } }
"""


@router.get(
    "/api/health",
    operation_id="health",
    summary="Whether anybody is there",
    responses=answer_of("Somebody is.", ok="boolean", version="string"),
)
async def health() -> JsonAnswer:
    return JsonAnswer({"ok": True, "version": __version__})


@router.get("/enter", operation_id="enter", include_in_schema=False)
async def enter(request: Request, key: Annotated[str, Query(min_length=1)]) -> Response:
    """The one-time link: a cookie for this browser, and the link is spent."""
    door: Door = request.app.state.door
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(COOKIE, door.enter(key), httponly=True, samesite="strict", path="/")
    return answer


@router.get("/", include_in_schema=False)
async def home(caller: Asking) -> Response:
    del caller
    return RedirectResponse("/docs", status_code=303)


@router.get("/docs/style.css", include_in_schema=False)
async def style(caller: Asking) -> PlainTextResponse:
    del caller
    return PlainTextResponse(_STYLE, media_type="text/css")


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request, caller: Asking) -> JsonAnswer:
    del caller
    return JsonAnswer(request.app.openapi())


@router.get("/docs", include_in_schema=False)
async def docs(request: Request, caller: Asking) -> HTMLResponse:
    """The document of all routes as one plain page: no script, nothing from elsewhere."""
    del caller
    return HTMLResponse(_page(request.app.openapi()), headers={"Content-Security-Policy": PAGE_POLICY})


def _page(document: dict[str, Any]) -> str:
    parts: list[str] = []
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            parts.append(
                f'<h2><span class="method">{method.upper()}</span> <code>{html.escape(path)}</code></h2>'
                f"<p>{html.escape(told.get('summary', ''))}</p><p>{html.escape(told.get('description', ''))}</p>"
            )
    title = html.escape(document["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<link rel="stylesheet" href="/docs/style.css"><meta name="viewport" content="width=device-width">'
        f"<h1>{title}</h1><p>{html.escape(document['info']['description'])} "
        f'<a href="/openapi.json">openapi.json</a></p>{"".join(parts)}</html>'
    )
