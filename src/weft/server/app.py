"""The application: every route behind one guard, errors in one shape."""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import anyio
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from weft import __version__
from weft.errors import CODES, InvalidInputError, NotFoundError, WeftError
from weft.grove.grove import Grove
from weft.server.auth import Door
from weft.server.middleware import Guard
from weft.server.routes import events, pages, recipes, records, trees
from weft.server.settings import ServerSettings
from weft.server.wire import JsonAnswer, answer_error

_ABOUT = "Trees, records and contexts of a grove. Send a token as Authorization: Bearer."


def create_app(grove: Grove, settings: ServerSettings | None = None) -> FastAPI:
    """A server over an open grove; whoever opened it closes it."""
    chosen = settings or ServerSettings()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        _set_up(app, chosen)
        yield
        app.state.stopping.set()

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
    app.state.door = Door(grove, chosen)
    _set_up(app, chosen)
    for family in (recipes, records, trees, events, pages):
        app.include_router(family.router)
    app.add_exception_handler(WeftError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _missing)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(Guard, settings=chosen)
    return app


def _set_up(app: FastAPI, settings: ServerSettings) -> None:
    app.state.limiter = anyio.CapacityLimiter(settings.threads)
    app.state.stopping = anyio.Event()


async def _refused(request: Request, error: Exception) -> Response:
    del request
    if not isinstance(error, WeftError):
        raise error
    return answer_error(error)


async def _invalid(request: Request, error: Exception) -> Response:
    """What FastAPI could not read of a query or a path, in our words."""
    del request
    if not isinstance(error, RequestValidationError):
        raise error
    first: dict[str, Any] = error.errors()[0]
    path = _place(first.get("loc", ()))
    return answer_error(InvalidInputError(f"{path}: {first.get('msg', 'is not valid')}", path=path))


def _place(location: Sequence[Any]) -> str:
    return ".".join(str(part) for part in location if part not in {"query", "path", "body", "header"})


async def _missing(request: Request, error: Exception) -> Response:
    """No such route, or not with that method."""
    if not isinstance(error, HTTPException):
        raise error
    told = NotFoundError(f"there is nothing at {request.method} {request.url.path[:200]}")
    answer = answer_error(told)
    answer.status_code = error.status_code
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


async def _failed(request: Request, error: Exception) -> Response:
    """Our own mistake: told as such, without its insides."""
    del request, error
    body = {
        "error": "something went wrong in the server",
        "code": "INTERNAL",
        "retry": CODES["STORAGE"].retry,
    }
    return JsonAnswer(body, status_code=500)
