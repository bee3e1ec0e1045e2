"""Settings of a server, and authentication: a token in the header, or in the cookie of the one-time link."""

import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request

from weft.errors import InvalidInputError, PermissionDeniedError, UnauthenticatedError
from weft.grove.grove import Grove
from weft.runtime.operations.access import admit
from weft.runtime.operations.executor import Caller
from weft.runtime.transfer.import_jobs import UPLOAD_LIMIT
from weft.tree.content import is_storable
from weft.tree.json import JsonValue
from weft.tree.record import ID_LIMIT

COOKIE = "weft"
OWNER = "owner"
"""The name of the owner's own token."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MEGABYTE = 1024 * 1024
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
    threads: int = 8
    """Requests that use the store at the same time."""
    keys: Sequence[str] = field(default=(), repr=False)
    """Tokens of the grove's owner, valid as long as this server runs."""
    entrance: str | None = field(default=None, repr=False)
    """The key of the one-time link."""

    def __post_init__(self) -> None:
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                # `null` is every page that hides its origin, and `*` every page.
                raise InvalidInputError(
                    f"{origin!r} is not an origin", hint="write it as browsers do: https://example.org"
                )


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
        self._entrance = settings.entrance

    def open_link(self, key: str) -> str:
        """Use the one-time link: a key for the cookie. The link does not work a second time."""
        entrance, self._entrance = self._entrance, None
        if entrance is None or not hmac.compare_digest(entrance.encode(), key.encode()):
            self._entrance = entrance
            raise UnauthenticatedError(
                "this link was already used, or is wrong", hint="start the server again for a new one"
            )
        cookie = secrets.token_urlsafe(32)
        self._keys.append(cookie)
        return cookie

    def client(self, token: str) -> Client:
        """The client of a token. Blocks: users' tokens are looked up in the store."""
        offered = token.encode("utf-8", "surrogatepass")
        # Every key is compared, so that the time taken reveals nothing about them.
        matches = [hmac.compare_digest(key.encode(), offered) for key in self._keys]
        if True in matches:
            return Client(grove=self.grove, name=None, service=True)
        executor = self.grove.caller.executor
        admitted = admit(executor, token)
        grove = Grove(Caller(executor, admitted.actor))
        return Client(
            grove=grove,
            name=admitted.name,
            service=admitted.service,
            token_key=admitted.token_key,
            token_id=admitted.token_id,
        )


def token_in(request: Request) -> str:
    """The token of a request."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    cookies: Mapping[str, str] = request.cookies
    if cookies.get(COOKIE):
        return cookies[COOKIE]
    raise UnauthenticatedError("authentication required", hint="send a token: Authorization: Bearer weft_…")
