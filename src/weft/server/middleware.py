"""Checks before any route: Host, Origin, size; and the headers of every answer."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.errors import InvalidInputError, LimitExceededError, PermissionDeniedError, WeftError
from weft.server.auth import ServerSettings
from weft.server.wire import answer_error

API_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
_HEADERS: Iterable[tuple[bytes, bytes]] = (
    (b"content-security-policy", API_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
UPLOADS = "/api/imports"
"""The route that takes files of any size."""
_CORS: Iterable[tuple[bytes, bytes]] = (
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH"),
    (b"access-control-allow-headers", b"authorization, content-type, x-user-id, last-event-id"),
    (b"access-control-max-age", b"600"),
)


class _TooLargeError(Exception):
    """The body is larger than the limit."""


class Guard:
    """Checks the raw headers, so that pages of other sites cannot call what is behind it."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self.app = app
        self.settings = settings
        self.hosts = frozenset(name.lower() for name in settings.hosts)
        self.origins = frozenset(origin.lower().rstrip("/") for origin in settings.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Lifespan events come from the server itself; there are no websockets.
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer = _Answer(send, self._allowed_origin(scope))
        try:
            self._check(scope)
            if answer.origin is not None and _is_preflight(scope):
                # A browser's own request before the page's: it has no token.
                await answer.allow()
                return
            await self.app(scope, _Counted(receive, self._limit(scope)), answer)
        except WeftError as error:
            await answer_error(error)(scope, receive, answer)
        except _TooLargeError:
            if not answer.started:
                await answer_error(_too_large(self._limit(scope)))(scope, receive, answer)

    def _check(self, scope: Scope) -> None:
        host = _only(scope, b"host")
        if host is None or _name_of(host) not in self.hosts:
            raise PermissionDeniedError(
                "Host header not allowed", hint="ask the operator of the server to allow this host"
            )
        origin = _only(scope, b"origin")
        same_origin = origin is None or self._is_ours(origin, host)
        cross_site = _only(scope, b"sec-fetch-site") == "cross-site" and scope["path"] != "/enter"
        if not same_origin or (origin is None and cross_site):
            raise PermissionDeniedError("pages of other origins may not call this server")
        length = _only(scope, b"content-length")
        if length is not None and not length.isdigit():
            raise InvalidInputError("Content-Length is not a number")
        if length is not None and int(length) > self._limit(scope):
            raise _too_large(self._limit(scope))

    def _limit(self, scope: Scope) -> int:
        """Bytes of this request's body: a file to import may be large, because it is not kept in memory."""
        is_upload = scope["method"] == "POST" and scope["path"] == UPLOADS
        return self.settings.upload_limit if is_upload else self.settings.body_limit

    def _is_ours(self, origin: str, host: str) -> bool:
        if origin.lower() in self.origins:
            return True
        parts = urlsplit(origin)
        return parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower()

    def _allowed_origin(self, scope: Scope) -> bytes | None:
        """The origin of the calling page, if it is one of the settings."""
        origins = _values(scope, b"origin")
        named = len(origins) == 1 and origins[0].decode("latin-1").strip().lower() in self.origins
        return origins[0].strip() if named else None


class _Counted:
    """Passes a body on up to the limit."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self.receive = receive
        self.left = limit

    async def __call__(self) -> Message:
        message = await self.receive()
        if message["type"] == "http.request":
            self.left -= len(message.get("body", b""))
            if self.left < 0:
                raise _TooLargeError
        return message


class _Answer:
    """Adds the headers of every answer, except those that the answer has already."""

    def __init__(self, send: Send, origin: bytes | None = None) -> None:
        self.send = send
        self.origin = origin
        """The other origin that may read the answer; cookies are never sent by it."""
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = list(message.get("headers", ()))
            if self.origin is not None:
                headers += [
                    (b"access-control-allow-origin", self.origin),
                    (b"vary", b"Origin"),
                    (b"cross-origin-resource-policy", b"cross-origin"),
                ]
            names = {name.lower() for name, _ in headers}
            message = {**message, "headers": [*headers, *(each for each in _HEADERS if each[0] not in names)]}
        await self.send(message)

    async def allow(self) -> None:
        """Answer a browser's preflight request."""
        await self({"type": "http.response.start", "status": 204, "headers": list(_CORS)})
        await self.send({"type": "http.response.body", "body": b""})


def _too_large(limit: int) -> LimitExceededError:
    return LimitExceededError(f"the body is larger than {limit:,} bytes", hint="send it in parts")


def _is_preflight(scope: Scope) -> bool:
    return scope["method"] == "OPTIONS" and bool(_values(scope, b"access-control-request-method"))


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key.lower() == name]


def _only(scope: Scope, name: bytes) -> str | None:
    """A header that may occur once."""
    values = _values(scope, name)
    if len(values) > 1:
        raise InvalidInputError(f"the header {name.decode()} occurs twice")
    return values[0].decode("latin-1").strip() if values else None


def _name_of(host: str) -> str:
    """Without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
