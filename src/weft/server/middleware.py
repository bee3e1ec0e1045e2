"""Before any route: is this our name, is the page ours, is it small enough; and what every answer says."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.errors import InvalidInputError, LimitExceededError, PermissionDeniedError, WeftError
from weft.server.settings import ServerSettings
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


_CORS: Iterable[tuple[bytes, bytes]] = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, x-user-id, last-event-id"),
    (b"access-control-max-age", b"600"),
)


class _TooLargeError(Exception):
    """More came than may."""


class Guard:
    """Looks at the raw headers, so that nothing behind it can be asked by a stranger's page."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self.app = app
        self.settings = settings
        self.hosts = frozenset(name.lower() for name in settings.hosts)
        self.origins = frozenset(origin.lower().rstrip("/") for origin in settings.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Lifespan is the server's own; there are no websockets here.
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answered = _Headers(send, self._friend(scope))
        try:
            self._check(scope)
            if answered.friend is not None and _is_preflight(scope):
                # What a browser asks before a page that may call us does: it brings no token.
                await answered.allow()
                return
            await self.app(scope, _Counted(receive, self.settings.body_limit), answered)
        except WeftError as error:
            await answer_error(error)(scope, receive, answered)
        except _TooLargeError:
            if not answered.started:
                await answer_error(self._too_large())(scope, receive, answered)

    def _check(self, scope: Scope) -> None:
        host = _only(scope, b"host")
        if host is None or _name_of(host) not in self.hosts:
            raise PermissionDeniedError(
                "this server does not answer to that name",
                hint="ask the operator of the server to allow this host",
            )
        origin = _only(scope, b"origin")
        if origin is not None and not self._is_ours(origin, host):
            raise PermissionDeniedError("another page may not call this server")
        if _only(scope, b"sec-fetch-site") == "cross-site" and origin is None and scope["path"] != "/enter":
            raise PermissionDeniedError("another page may not call this server")
        length = _only(scope, b"content-length")
        if length is not None and (not length.isdigit() or int(length) > self.settings.body_limit):
            raise self._too_large() if length.isdigit() else InvalidInputError("Content-Length is no number")

    def _is_ours(self, origin: str, host: str) -> bool:
        if origin.lower() in self.origins:
            return True
        parts = urlsplit(origin)
        return parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower()

    def _friend(self, scope: Scope) -> bytes | None:
        """The page that asks, if it is another's that was let in by name."""
        found = [value for key, value in scope["headers"] if key.lower() == b"origin"]
        named = len(found) == 1 and found[0].decode("latin-1").strip().lower() in self.origins
        return found[0].strip() if named else None

    def _too_large(self) -> LimitExceededError:
        return LimitExceededError(
            f"the body is larger than {self.settings.body_limit:,} bytes", hint="send it in parts"
        )


class _Counted:
    """Lets a body through as long as it is not too large."""

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


class _Headers:
    """Puts what every answer says where the answer does not say otherwise."""

    def __init__(self, send: Send, friend: bytes | None = None) -> None:
        self.send = send
        self.friend = friend
        """The origin of a page that may read the answer; cookies never come along."""
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            given = list(message.get("headers", ()))
            if self.friend is not None:
                given += [
                    (b"access-control-allow-origin", self.friend),
                    (b"vary", b"Origin"),
                    (b"cross-origin-resource-policy", b"cross-origin"),
                ]
            names = {name.lower() for name, _ in given}
            message = {**message, "headers": [*given, *(each for each in _HEADERS if each[0] not in names)]}
        await self.send(message)

    async def allow(self) -> None:
        """Answer a browser that asks whether the page may call."""
        await self({"type": "http.response.start", "status": 204, "headers": list(_CORS)})
        await self.send({"type": "http.response.body", "body": b""})


def _is_preflight(scope: Scope) -> bool:
    asked = b"access-control-request-method"
    return scope["method"] == "OPTIONS" and any(key.lower() == asked for key, _ in scope["headers"])


def _only(scope: Scope, name: bytes) -> str | None:
    """A header that may be there once."""
    found = [value for key, value in scope["headers"] if key.lower() == name]
    if len(found) > 1:
        raise InvalidInputError(f"{name.decode()} is there twice")
    return found[0].decode("latin-1").strip() if found else None


def _name_of(host: str) -> str:
    """Without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
