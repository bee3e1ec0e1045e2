"""Checks on the raw headers before anything else reads them: Host, Origin, sizes, encodings; then time and number."""

import contextlib
import re
from collections.abc import Sequence
from hashlib import blake2b

import anyio
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.errors import (
    InvalidInputError,
    LimitExceededError,
    PermissionDeniedError,
    RequestTimeoutError,
    WeftError,
)
from weft.log import Log
from weft.server.auth import TOKEN_HEADERS, ServerSettings
from weft.server.headers import ANSWER_HEADERS, CORS_HEADERS
from weft.server.proxy_errors import error_answer, is_proxied, wire_at
from weft.server.rate_limit import BodiesInMemory, OpenRequests
from weft.server.wire import answer_error

SIGN_IN = "/api/session"
_LARGEST_TOKEN = 4_096
UPLOADS = "/api/imports"
"""The route that takes files of any size."""
_HOST = re.compile(r"(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9._-]{1,253}))(?::[0-9]{1,5})?", re.ASCII)
_LARGEST_HEAD = 32_768
_SLOWEST = 16_384
"""Bytes of a body in a second, on average, once `body_timeout` is over."""
_ONCE = (b"host", b"origin", b"content-length", b"content-type", b"authorization", b"sec-fetch-site")
"""Headers that decide something: a second one could say something else to another reader."""
_log = Log("weft.server")


class _TooLargeError(Exception):
    """The body is larger than the limit."""


class Guard:
    """Checks the raw headers, so that pages of other sites cannot call what is behind it."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self.app = app
        self.settings = settings
        self.hosts = frozenset(name.lower() for name in settings.hosts)
        self.origins = frozenset(origin.lower().rstrip("/") for origin in settings.origins)
        self.open_requests = OpenRequests(settings.open_requests)
        self.memory = BodiesInMemory(settings.memory_limit)

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
            # A file to import goes to the disk as it comes.
            memory = None if self._is_upload(scope) else self.memory
            body = _Body(receive, self._limit(scope), self.settings.body_timeout, memory)
            with self.open_requests.one(_client_of(scope)), contextlib.closing(body):
                await self.app(scope, body, answer)
        except WeftError as error:
            await answer.fail(error, scope, receive)
        except _TooLargeError:
            await answer.fail(_too_large(self._limit(scope)), scope, receive)
        except ClientDisconnect:
            _log.info("client left before its request was complete", method=scope["method"])

    def _check(self, scope: Scope) -> None:
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        # One that arrives at once is complete before the connection has counted it.
        size = sum(len(name) + len(value) for name, value in headers)
        if size + len(scope["query_string"]) + len(scope["path"]) > _LARGEST_HEAD:
            raise LimitExceededError(f"address and headers are larger than {_LARGEST_HEAD:,} bytes")
        once = {name: _only(scope, name) for name in _ONCE}
        host, origin = once[b"host"], once[b"origin"]
        if host is None or _name_of(host) not in self.hosts:
            raise PermissionDeniedError(
                "Host header not allowed", hint="ask the operator of the server to allow this host"
            )
        if (origin is not None and not self._is_ours(origin, host)) or (
            origin is None and once[b"sec-fetch-site"] == "cross-site" and not _is_visit(scope)
        ):
            raise PermissionDeniedError("pages of other origins may not call this server")
        if once[b"content-length"] is not None and _values(scope, b"transfer-encoding"):
            # A proxy in front may count the one and we the other: then it takes a body for the next request.
            raise InvalidInputError("Content-Length and Transfer-Encoding exclude each other")
        self._check_body(once[b"content-length"], _values(scope, b"content-encoding"), self._limit(scope))

    def _check_body(self, length: str | None, encodings: Sequence[bytes], limit: int) -> None:
        if length is not None and not (length.isascii() and length.isdigit()):
            raise InvalidInputError("Content-Length is not a number")
        if length is not None and int(length[:30]) > limit:
            raise _too_large(limit)
        if any(each.strip().lower() not in {b"", b"identity"} for each in encodings):
            # A small compressed body can be a very large one.
            raise InvalidInputError(
                "compressed request bodies are not accepted", hint="send it without Content-Encoding"
            )

    def _limit(self, scope: Scope) -> int:
        """Bytes of this request's body: a file to import may be large, because it is not kept in memory."""
        if scope["path"] == SIGN_IN:
            # Read before anybody is known.
            return _LARGEST_TOKEN
        return self.settings.upload_limit if self._is_upload(scope) else self.settings.body_limit

    def _is_upload(self, scope: Scope) -> bool:
        return scope["method"] == "POST" and scope["path"] == UPLOADS

    def _is_ours(self, origin: str, host: str) -> bool:
        """Compared as text: whatever else an Origin may be is not parsed, and is not ours."""
        given, here = origin.lower(), host.lower()
        return given in self.origins or given in {f"http://{here}", f"https://{here}"}

    def _allowed_origin(self, scope: Scope) -> bytes | None:
        """The origin of the calling page, if it is one of the settings."""
        origins = _values(scope, b"origin")
        named = len(origins) == 1 and origins[0].decode("latin-1").strip().lower() in self.origins
        return origins[0].strip() if named else None


class _Body:
    """Passes a body on, up to the limit of bytes and as long as it arrives fast enough."""

    def __init__(self, receive: Receive, limit: int, patience: float, memory: BodiesInMemory | None) -> None:
        self.receive = receive
        self.memory = memory
        self.limit = limit
        self.patience = patience
        self.received: int = 0
        self.complete = False
        self.began: float | None = None

    async def __call__(self) -> Message:
        if self.complete:
            # What is waited for now is the end of the client, which may take hours.
            return await self.receive()
        now = anyio.current_time()
        self.began = self.began or now
        deadline = self.began + self.patience + self.received / _SLOWEST
        try:
            with anyio.fail_after(max(0.0, deadline - now)):
                message = await self.receive()
        except TimeoutError:
            raise RequestTimeoutError(
                "the request body arrives too slowly", hint="send it at once, or in parts"
            ) from None
        if message["type"] == "http.request":
            body: bytes = message.get("body", b"")
            size = len(body)
            if self.received + size > self.limit:
                raise _TooLargeError
            if self.memory is not None:
                self.memory.take(size)
            self.received += size
            self.complete = not message.get("more_body", False)
        return message

    def close(self) -> None:
        """The request is answered, and its body no longer held."""
        if self.memory is not None:
            self.memory.give_back(self.received)


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
            message = {
                **message,
                "headers": [*headers, *(each for each in ANSWER_HEADERS if each[0] not in names)],
            }
        await self.send(message)

    async def fail(self, error: WeftError, scope: Scope, receive: Receive) -> None:
        """Answer with an error, unless an answer has begun. What else may come from this client is not read."""
        if not self.started:
            answer = _refusal(scope, error)
            answer.headers["Connection"] = "close"
            await answer(scope, receive, self)

    async def allow(self) -> None:
        """Answer a browser's preflight request."""
        await self({"type": "http.response.start", "status": 204, "headers": list(CORS_HEADERS)})
        await self.send({"type": "http.response.body", "body": b""})


def _refusal(scope: Scope, error: WeftError) -> Response:
    """In our form, or in that of the interface which the proxy speaks there."""
    path = str(scope["path"])
    return error_answer(wire_at(path), error) if is_proxied(path) else answer_error(error)


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


def _name_of(host: str) -> str | None:
    """Without the port; None if it is not a host at all."""
    parts = _HOST.fullmatch(host.lower())
    return None if parts is None else parts[1] or parts[2]


def _is_visit(scope: Scope) -> bool:
    """True if a person follows a link to a page: pages hold nothing secret, and routes of data are no pages."""
    if scope["path"] == "/enter":
        return True
    page = not scope["path"].startswith(("/api", "/v1", "/mcp"))
    way = _only(scope, b"sec-fetch-mode"), _only(scope, b"sec-fetch-dest")
    return page and scope["method"] == "GET" and way == ("navigate", "document")


def _client_of(scope: Scope) -> str:
    """Who calls, before a token is checked: what was sent as one, else the address."""
    offered = [value for name, value in scope["headers"] if name in TOKEN_HEADERS]
    if offered:
        return blake2b(b"\n".join(offered), digest_size=16).hexdigest()
    return str((scope.get("client") or ("",))[0])
