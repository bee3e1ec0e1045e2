"""The web app: one page for all its addresses, its files, and the session of a browser."""

from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from weft.errors import InvalidInputError, NotFoundError
from weft.server.auth import COOKIE, Authenticator
from weft.server.wire import ERRORS, JsonAnswer, body_of, object_of, operation, read_object, text
from weft.server.worker_threads import in_thread

router = APIRouter(tags=["web"], responses=ERRORS)

STATIC = Path(__file__).parent.parent / "static"
"""The built app: `make web` writes it here, and the wheel carries it."""

APP_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; "
    "worker-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
ADDRESSES = (
    "/",
    "/t/{rest:path}",
    "/search",
    "/import",
    "/import/{rest:path}",
    "/proxy",
    "/proxy/{rest:path}",
    "/documents/{rest:path}",
    "/settings",
    "/settings/{rest:path}",
)
"""Where the app is opened; it shows what the address names."""
_FOREVER = "public, max-age=31536000, immutable"
_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_NOT_BUILT = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Weft</title>'
    "<p>The web app is not built. Run <code>make web</code> in the source folder, or install the wheel. "
    '<a href="/docs">The routes of the server</a> work without it.</p></html>'
)


async def page() -> Response:
    """The empty page: it contains nothing of the grove, and asks for a token if the browser has no session."""
    index = STATIC / "index.html"
    headers = {"Content-Security-Policy": APP_POLICY, "Cache-Control": "no-cache"}
    if not index.is_file():
        return HTMLResponse(_NOT_BUILT, status_code=503, headers=headers)
    return FileResponse(index, media_type="text/html", headers=headers)


for _address in ADDRESSES:
    router.add_api_route(_address, page, methods=["GET"], include_in_schema=False)


@router.get("/assets/{name}", include_in_schema=False)
async def asset(name: str) -> FileResponse:
    """A file of the app; its name contains its hash, so that it never changes."""
    return _file(STATIC / "assets", name, _FOREVER)


@router.get("/favicon.svg", include_in_schema=False)
async def favicon() -> FileResponse:
    return _file(STATIC, "favicon.svg", "public, max-age=86400")


def _file(folder: Path, name: str, caching: str) -> FileResponse:
    path = folder / name
    # A name is a name: what leads out of the folder is not a file of the app.
    if path.parent != folder or path.suffix not in _TYPES or not path.is_file():
        raise NotFoundError("no such file of the web app")
    headers = {"Cache-Control": caching, "Content-Security-Policy": APP_POLICY}
    return FileResponse(path, media_type=_TYPES[path.suffix], headers=headers)


@router.post(
    "/api/session",
    **operation("signIn", "Sign a browser in with a token", "Signed in.", ok="boolean"),
    openapi_extra=body_of(object_of("token", token=text("A token of `weft users token`."))),
)
async def sign_in(request: Request) -> JsonAnswer:
    """The token becomes a cookie that no page can read."""
    token = (await read_object(request)).get("token")
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise InvalidInputError("token must be a string", path="token")
    authenticator: Authenticator = request.app.state.authenticator
    await in_thread(request, lambda: authenticator.client(token))
    answer = JsonAnswer({"ok": True})
    set_session(answer, token, secure=request.url.scheme == "https")
    return answer


@router.post("/api/session/end", **operation("signOut", "Sign a browser out", "Signed out.", ok="boolean"))
async def sign_out() -> JsonAnswer:
    answer = JsonAnswer({"ok": True})
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def set_session(answer: Response, token: str, *, secure: bool) -> None:
    answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", path="/", secure=secure)
