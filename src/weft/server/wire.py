"""JSON in and out, and errors as every route tells them."""

import json
from collections.abc import Mapping
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from weft.context.js_compat import parse_json
from weft.error_hints import Face, hint_on
from weft.errors import ConflictError, InvalidInputError, WeftError
from weft.tree.json import JsonObject, JsonValue
from weft.tree.json_names import to_wire

_LONG = 50_000


class JsonAnswer(Response):
    """A JSON value as UTF-8; half characters are escaped, as JavaScript does."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        value = to_wire(content)
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return json.dumps(value, separators=(",", ":")).encode()


async def read_body(request: Request) -> JsonValue:
    """The body as JSON; an empty one is an empty object."""
    raw = await request.body()
    # Reading much of it takes long enough that others would notice.
    return _read(raw) if len(raw) < _LONG else await anyio.to_thread.run_sync(_read, raw)


def _read(raw: bytes) -> JsonValue:
    if not raw.strip():
        return {}
    try:
        return parse_json(raw.decode())
    except UnicodeDecodeError:
        raise InvalidInputError("the body must be UTF-8", path="") from None
    except ValueError as error:
        raise InvalidInputError(f"the body must be JSON: {error}", path="") from None


async def read_object(request: Request) -> JsonObject:
    body = await read_body(request)
    if not isinstance(body, Mapping):
        raise InvalidInputError("the body must be an object", path="")
    return body


def error_body(error: WeftError, prefix: str = "") -> dict[str, JsonValue]:
    """What went wrong, in a person's words, with the field and the way out where there are any."""
    found: dict[str, JsonValue] = {"error": error.message, "code": error.code, "retry": error.row.retry}
    path = error.path if isinstance(error, InvalidInputError) else ""
    if path:
        found["path"] = prefix + path
    for name in ("limit", "got"):
        value = getattr(error, name, None)
        if isinstance(value, int | str) and not isinstance(value, bool):
            found[name] = value if isinstance(value, int) else value[:200]
    if error.hint is not None:
        found["hint"] = hint_on(Face.HTTP, error.hint)
    return found


def answer_error(error: WeftError, more: JsonObject | None = None) -> JsonAnswer:
    headers = {"WWW-Authenticate": "Bearer"} if error.row.http == 401 else {}
    if isinstance(error, ConflictError) or error.row.retry == "retry":
        headers["Retry-After"] = "1"
    return JsonAnswer({**(more or {}), **error_body(error)}, status_code=error.row.http, headers=headers)
