"""What routes share: JSON bodies and answers, errors, the client, the OpenAPI document."""

import gzip
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import anyio.to_thread
from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from weft.context.recipes.js_compat import parse_json
from weft.error_hints import Face, hint_on
from weft.errors import InvalidInputError, WeftError
from weft.redaction import redact
from weft.server.auth import Authenticator, Client, token_in
from weft.server.query import refuse_unknown_query
from weft.server.rate_limit import seconds
from weft.server.worker_threads import in_thread
from weft.tree.content import is_storable
from weft.tree.json import JsonObject, JsonValue
from weft.tree.json_names import to_wire

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
_LONG = 50_000
_QUICKLY = 3
"""The level of compression."""
LONGEST_ID = 500
_DEEPEST = 100


def text(description: str, **more: object) -> Schema:
    """The schema of a described string."""
    return {"type": "string", "description": description, **more}


def array(items: Schema, **more: object) -> Schema:
    return {"type": "array", "items": items, **more}


def object_of(*required: str, **properties: Schema) -> Schema:
    """The schema of an object."""
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


ERROR = object_of(
    "error",
    "code",
    error=text("What went wrong."),
    code=TEXT,
    path=text("The field that is wrong."),
    hint=text("What to do."),
    retry=TEXT,
    limit={"type": "integer"},
    got={},
)
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for status, description in {
        400: "Invalid input, with the path of the field.",
        401: "Authentication required.",
        403: "Permission denied.",
        404: "Not found.",
        409: "Conflict with another change.",
        408: "The request arrived too slowly.",
        413: "Too large.",
        422: "The part that may not be cut is larger than the budget.",
        429: "Too many requests; `Retry-After` says when the next one is accepted.",
        502: "A model or its provider failed.",
        503: "A service that is needed is not available.",
        507: "The database cannot store it.",
    }.items()
}
"""The errors of every route."""


def reference_to(name: str) -> Schema:
    """Refer to a named value of the document; `Node[]` is a list of nodes, a lower-case name a type of JSON."""
    if name.endswith("[]"):
        return array(reference_to(name.removesuffix("[]")))
    return {"type": name} if name.islower() else {"$ref": f"#/components/schemas/{name}"}


def operation(name: str, summary: str, description: str, value: str = "", /, **fields: str) -> dict[str, Any]:
    """Describe a route for the OpenAPI document: its answer is a value, or has these fields (name → type)."""
    schema = object_of(*sorted(fields), **{field: reference_to(kind) for field, kind in fields.items()})
    if value:
        schema = {"type": "object", "allOf": [reference_to(value)]}
    content = {"application/json": {"schema": schema}}
    responses = {200: {"description": description, "content": content}}
    return {"operation_id": name, "summary": summary, "responses": responses}


def described(name: str, summary: str, description: str, schema: Schema, status: int = 200) -> dict[str, Any]:
    """The same with the schema of the whole answer."""
    # FastAPI takes an answer without a type for text.
    whole = {"type": "object", "allOf": [schema]} if "$ref" in schema else schema
    content = {"application/json": {"schema": whole}}
    responses = {status: {"description": description, "content": content}}
    return {"operation_id": name, "summary": summary, "responses": responses}


def body_of(schema: Schema, example: object = None) -> dict[str, Any]:
    """Describe the body of a route, which it parses itself."""
    content = {"schema": schema} if example is None else {"schema": schema, "example": example}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


class JsonAnswer(Response):
    """A JSON value as UTF-8; lone surrogates are escaped, as in JavaScript."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        value = to_wire(content)
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return json.dumps(value, separators=(",", ":")).encode()


async def read_object(request: Request, *, required: bool = False) -> JsonObject:
    """The body as a JSON object; an empty body is an empty object, unless one is required."""
    raw = await request.body()
    if required and not raw.strip():
        raise InvalidInputError(
            "the body is missing", hint="send a JSON object; {} takes the defaults", path=""
        )
    # Parsing a large body would block the event loop.
    body = parse_body(raw) if len(raw) < _LONG else await anyio.to_thread.run_sync(parse_body, raw)
    if not isinstance(body, Mapping):
        raise InvalidInputError("the body must be an object", path="")
    return body


def parse_body(raw: bytes) -> JsonValue:
    """JSON from the bytes of a body; an empty one is an empty object."""
    if not raw.strip():
        return {}
    try:
        value = parse_json(raw.decode())
    except UnicodeDecodeError:
        raise InvalidInputError("the body must be UTF-8", path="") from None
    except ValueError as error:
        raise InvalidInputError(f"the body must be JSON: {error}", path="") from None
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST and _is_deep(value):
        raise InvalidInputError(f"the body is nested more than {_DEEPEST} levels deep", path="")
    return value


def _is_deep(value: JsonValue) -> bool:
    """True beyond the limit. Level by level: what is nested deeper must not meet a function that recurses."""
    level: list[JsonValue] = [value]
    for _ in range(_DEEPEST + 1):
        inner: list[JsonValue] = []
        for each in level:
            if isinstance(each, Mapping):
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        level = [each for each in inner if isinstance(each, Mapping | list)]
        if not level:
            return False
    return True


def error_body(error: WeftError, prefix: str = "") -> dict[str, JsonValue]:
    """The fields of an error: message and code; path, limit and hint if it has them."""
    # A key that was sent in the wrong field is not repeated.
    body: dict[str, JsonValue] = {
        "error": redact(error.message),
        "code": error.code,
        "retry": error.row.retry,
    }
    path = error.path if isinstance(error, InvalidInputError) else ""
    if path:
        body["path"] = prefix + path
    for name in ("limit", "got"):
        value = getattr(error, name, None)
        if isinstance(value, int | str) and not isinstance(value, bool):
            body[name] = value if isinstance(value, int) else value[:200]
    if error.hint is not None:
        body["hint"] = hint_on(Face.HTTP, error.hint)
    return body


def answer_error(error: WeftError, more: JsonObject | None = None) -> JsonAnswer:
    headers = {"WWW-Authenticate": "Bearer"} if error.row.http == 401 else {}
    if error.row.retry == "retry":
        wait = getattr(error, "retry_after", None)
        headers["Retry-After"] = seconds(wait if isinstance(wait, int | float) else 1)
    if error.row.http == 408:
        # The rest of the body may still be on its way.
        headers["Connection"] = "close"
    return JsonAnswer({**(more or {}), **error_body(error)}, status_code=error.row.http, headers=headers)


async def answer(request: Request, work: Callable[[], object]) -> JsonAnswer:
    """The result of work as JSON; encoded in the thread too, because it may be large."""
    return await in_thread(request, lambda: JsonAnswer(work()))


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client else ""


def compressed(request: Request, response: Response) -> Response:
    """A large answer as gzip, where the client takes that. Only for answers that hold no secret."""
    takes = {each.partition(";")[0].strip() for each in request.headers.get("accept-encoding", "").split(",")}
    response.headers["Vary"] = "Accept-Encoding"
    if "gzip" in takes and len(response.body) > _LONG:
        response.body = gzip.compress(response.body, _QUICKLY)
        response.headers.update({"Content-Encoding": "gzip", "Content-Length": str(len(response.body))})
    return response


async def client_of(request: Request) -> Client:
    """Who asks; looked up once for a request."""
    known: Client | None = getattr(request.state, "client", None)
    if known is not None:
        return known
    authenticator: Authenticator = request.app.state.authenticator
    token = token_in(request)
    client = await in_thread(request, lambda: authenticator.client(token, address_of(request)))
    _check_path(request)
    refuse_unknown_query(request)
    request.state.client = client
    return client


def _check_path(request: Request) -> None:
    """Refuse an id that nothing can have, without repeating it."""
    for name, value in request.path_params.items():
        if not value or len(value) > LONGEST_ID or not is_storable(value):
            raise InvalidInputError(f"{name} must have 1 to {LONGEST_ID} characters, without NUL", path=name)


AuthenticatedClient = Annotated[Client, Depends(client_of)]
"""The client of a request; without a valid token the request is refused."""
