"""Errors of the proxy in the shape that the client of each interface expects."""

import secrets

from starlette.responses import Response

from weft.errors import ContextLimitError, LimitExceededError, ProviderError, Trouble, WeftError
from weft.runtime.proxy.wires import Wire, WireError
from weft.server.wire import JsonAnswer

PREFIX = "/v1"
_STATUSES = {
    # Not the client's key: the one that Weft has for the upstream. Clients must not try again.
    Trouble.AUTHENTICATION: 403,
    Trouble.RATE_LIMITED: 429,
    Trouble.MODEL_NOT_FOUND: 404,
    Trouble.INVALID_REQUEST: 400,
    Trouble.TIMEOUT: 504,
}


def is_proxied(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def wire_at(path: str) -> Wire | None:
    """The interface at a path."""
    return next((wire for wire in Wire if path == f"{PREFIX}/{wire.path}"), None)


def error_answer(wire: Wire | None, error: WeftError | WireError) -> Response:
    """An error of the proxy's own, in the shape of the wire."""
    name = f"req_weft_{secrets.token_hex(12)}"
    shown = error if isinstance(error, WireError) else _wire_error(error)
    header = "x-request-id" if wire is None else wire.request_id
    headers = {header: name, "weft-error": shown.code}
    if shown.status in {429, 503}:
        headers["retry-after"] = "1"
    return JsonAnswer(shown.body(wire, name), status_code=shown.status, headers=headers)


def _wire_error(error: WeftError) -> WireError:
    message = f"Weft: {error.message}" + ("" if error.hint is None else f" ({error.hint})")
    status = error.row.http
    if isinstance(error, ProviderError):
        status = _STATUSES.get(error.trouble, 502)
    elif isinstance(error, ContextLimitError):
        # The words by which clients know that they must compact.
        status, message = 400, f"prompt is too long: {error.message}"
    elif isinstance(error, LimitExceededError) and "$" in error.message:
        status = 402
    return WireError(status=status, message=message, code=error.code)
