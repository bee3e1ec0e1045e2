"""Settings of a server, and authentication: a token in the header, or in the cookie of the one-time link."""

import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request

from weft.errors import InvalidInputError, PermissionDeniedError, UnauthenticatedError
from weft.grove.grove import Grove
from weft.runtime.operations.access import Admitted, admit, digest_of_token, end_session, open_session
from weft.runtime.operations.executor import Caller
from weft.runtime.transfer.import_jobs import UPLOAD_LIMIT
from weft.server.rate_limit import RateLimiter
from weft.tree.content import is_storable
from weft.tree.json import JsonValue
from weft.tree.record import ID_LIMIT

COOKIE = "weft"
OWNER = "owner"
"""The name of the owner's own token."""
COOKIE_DAYS = 30
TOKEN_HEADERS = frozenset({b"authorization", b"cookie", b"x-api-key"})
"""Headers that may hold a token."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MEGABYTE = 1024 * 1024
_MOST_COOKIES = 100
_FAILURE_RATE = 0.2
"""Wrong tokens from one address in a second, once `failures` were sent."""
_MOST_VALID = 10_000
_TOO_MANY_FAILURES = "too many requests with a wrong token"
_ORIGIN = re.compile(r"https?://[^\s/?#@*]+/?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Who may call a server, and its limits."""

    hosts: Sequence[str] = LOOPBACK
    """Host names that the server accepts: a page of another name cannot reach it through a browser."""
    origins: Sequence[str] = ()
    """Other pages that may call it, such as https://example.org."""
    body_limit: int = 16 * _MEGABYTE
    """Bytes of a request; a larger one is refused before it is read."""
    upload_limit: int = UPLOAD_LIMIT
    """Bytes of a file to import; it goes to the disk as it comes."""
    memory_limit: int = 256 * _MEGABYTE
    """Bytes of the bodies of all requests that are not answered yet."""
    body_timeout: float = 20.0
    """Seconds for a body to arrive; a large one may take longer, if it comes at 16 KB a second."""
    rate: float = 100.0
    """Requests in a second, on average, with one user's token; 0: no limit. The owner's keys have none."""
    burst: int = 500
    """Requests at once with one user's token before the rate counts."""
    failures: int = 20
    """Wrong tokens at once from one address; then it may try one in five seconds."""
    open_requests: int = 256
    """Requests and streams that one client may have open at the same time."""
    threads: int = 8
    """Requests that use the store at the same time."""
    keys: Sequence[str] = field(default=(), repr=False)
    """Tokens of the grove's owner, valid as long as this server runs."""
    entrances: Sequence[str] = field(default=(), repr=False)
    """The keys of one-time links."""

    def __post_init__(self) -> None:
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                # `null` is every page that hides its origin, and `*` every page.
                raise InvalidInputError(
                    f"{origin!r} is not an origin", hint="write it as browsers do: https://example.org"
                )
        for name, least in (
            ("body_timeout", 0.1),
            ("rate", 0),
            ("burst", 1),
            ("failures", 1),
            ("open_requests", 1),
        ):
            if not getattr(self, name) >= least:
                raise InvalidInputError(f"{name} must be at least {least}", path=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """An authenticated client, and the grove as it may read and change it."""

    grove: Grove
    name: str | None
    """The user's name; None for the grove's owner on this machine."""
    service: bool
    """True if it may act for the user whose id it names."""
    token_key: int = 0
    """The key of its token; 0: the owner's own, which is not in the store."""
    token_id: str = OWNER
    admitted: Admitted | None = None
    """What its token stands for; None for the owner's own keys."""

    def user_for(self, named: JsonValue) -> str | None:
        """The user of the records: the token's user; for a service token the named one, or None."""
        if named is None or named == "":
            return None if self.service else self.name
        if not isinstance(named, str):
            raise UnauthenticatedError("userId must be a string")
        if len(named) > ID_LIMIT or not is_storable(named):
            raise InvalidInputError(
                f"userId must have at most {ID_LIMIT:,} characters, without NUL or lone surrogates",
                path="userId",
            )
        if self.service or named == self.name:
            return named
        raise PermissionDeniedError(
            "this token acts for its own user only", hint="leave userId out, or use a service token"
        )

    def known_user(self, named: JsonValue) -> str | None:
        """The user of the records, where a service token must name one."""
        user = self.user_for(named)
        if user is None and self.name is not None:
            raise UnauthenticatedError("userId is missing", hint="a service token names the user it acts for")
        return user


class Authenticator:
    """Checks tokens: the owner's own, valid as long as the server runs, and those of users."""

    def __init__(self, grove: Grove, settings: ServerSettings) -> None:
        self.grove = grove
        self._keys = list(settings.keys)
        self._cookies: list[str] = []
        """The owner's, of browsers that were opened by the link or signed in with a key; oldest first."""
        self._entrances = list(settings.entrances)
        self._requests = RateLimiter(settings.rate, settings.burst) if settings.rate else None
        self._failures = RateLimiter(_FAILURE_RATE, settings.failures)
        self._valid: OrderedDict[bytes, None] = OrderedDict()
        """Hashes of tokens that were valid not long ago: they are looked up whatever else their address sends."""

    def open_link(self, key: str, address: str = "") -> str:
        """Use a one-time link: a key for the cookie. The link does not work a second time."""
        entrances, self._entrances = self._entrances, []
        matches = [hmac.compare_digest(entrance.encode(), key.encode()) for entrance in entrances]
        self._entrances = [entrance for entrance, used in zip(entrances, matches, strict=True) if not used]
        if True not in matches:
            self._failures.take(address, _TOO_MANY_FAILURES)
            raise UnauthenticatedError(
                "this link was already used, or is wrong", hint="start the server again for a new one"
            )
        return self._new_cookie()

    def _new_cookie(self) -> str:
        cookie = secrets.token_urlsafe(32)
        self._cookies = [*self._cookies[1 - _MOST_COOKIES :], cookie]
        return cookie

    def client(self, token: str, address: str = "") -> Client:
        """The client of a token. Blocks: users' tokens are looked up in the store.

        Many requests with one token, or many wrong tokens from one address, are refused for a while.
        """
        offered = token.encode("utf-8", "surrogatepass")
        # Every key is compared, so that the time taken reveals nothing about them.
        matches = [hmac.compare_digest(key.encode(), offered) for key in (*self._keys, *self._cookies)]
        if True in matches:
            return Client(grove=self.grove, name=None, service=True)
        executor, digest = self.grove.caller.executor, digest_of_token(token)
        if digest not in self._valid and self._failures.is_empty(address):
            self._failures.take(address, _TOO_MANY_FAILURES)
        try:
            admitted = admit(executor, token)
        except UnauthenticatedError:
            self._valid.pop(digest, None)
            self._failures.take(address, _TOO_MANY_FAILURES)
            raise
        self._valid[digest] = None
        if len(self._valid) > _MOST_VALID:
            self._valid.popitem(last=False)
        if self._requests is not None:
            self._requests.take(admitted.token_id)
        grove = Grove(Caller(executor, admitted.actor))
        return Client(
            grove=grove,
            name=admitted.name,
            service=admitted.service,
            token_key=admitted.token_key,
            token_id=admitted.token_id,
            admitted=admitted,
        )

    def open_session(self, client: Client) -> str:
        """A cookie for the browser of a client that has shown its token. Blocks."""
        if client.admitted is None:
            return self._new_cookie()
        return open_session(self.grove.caller.executor, client.admitted, days=COOKIE_DAYS)

    def end_session(self, client: Client, cookie: str) -> None:
        """The cookie is not accepted any more, in no browser. Blocks."""
        if client.admitted is not None:
            end_session(self.grove.caller.executor, client.admitted)
        self._cookies = [each for each in self._cookies if each != cookie]


def token_in(request: Request) -> str:
    """The token of a request."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    cookies: Mapping[str, str] = request.cookies
    if cookies.get(COOKIE):
        return cookies[COOKIE]
    raise UnauthenticatedError("authentication required", hint="send a token: Authorization: Bearer weft_…")
