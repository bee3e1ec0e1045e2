"""The web app: one page for all its addresses, and its files."""

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse, HTMLResponse, Response

from weft.errors import NotFoundError
from weft.server.wire import ERRORS

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
