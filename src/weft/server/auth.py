"""Who asks: by a token in the header, or in the cookie that the one-time link gave."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request

from weft.errors import InvalidInputError, PermissionDeniedError, UnauthenticatedError
from weft.grove.grove import Grove
from weft.runtime.operations.access import admit
from weft.runtime.operations.executor import Caller
from weft.server.settings import ServerSettings
from weft.tree.content import can_be_kept
from weft.tree.json import JsonValue
from weft.tree.record import ID_LIMIT

COOKIE = "weft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Whoever asks, and the grove as they may see and change it."""

    grove: Grove
    name: str | None
    """The user's; None for the grove's owner at their own machine."""
    service: bool
    """Whether they may act for the user whose id they name."""

    def user_for(self, named: JsonValue) -> str | None:
        """Whose records are meant: the token's user; for services the one that is named, or nobody yet."""
        if named is None or named == "":
            return None if self.service else self.name
        if not isinstance(named, str):
            raise UnauthenticatedError("userId must be a string")
        if len(named) > ID_LIMIT or not can_be_kept(named):
            raise InvalidInputError(
                f"userId must have at most {ID_LIMIT:,} characters, none of them NUL or half a character",
                path="userId",
            )
        if self.service or named == self.name:
            return named
        raise PermissionDeniedError(
            "this token speaks for its own user only", hint="leave userId out, or use a service token"
        )

    def known_user(self, named: JsonValue) -> str | None:
        """The same where somebody must be meant: a service that names nobody is not let through."""
        found = self.user_for(named)
        if found is None and self.name is not None:
            raise UnauthenticatedError("userId is missing", hint="a service token names the user it acts for")
        return found


class Door:
    """Opens to tokens: the owner's own for as long as the server runs, and those of users."""

    def __init__(self, grove: Grove, settings: ServerSettings) -> None:
        self.grove = grove
        self._keys = list(settings.keys)
        self._entrance = settings.entrance

    def enter(self, key: str) -> str:
        """The one-time link was opened: a key for the cookie, and the link opens nothing any more."""
        entrance, self._entrance = self._entrance, None
        if entrance is None or not hmac.compare_digest(entrance.encode(), key.encode()):
            self._entrance = entrance
            raise UnauthenticatedError(
                "this link has been used, or never was one", hint="start the server again for a new one"
            )
        fresh = secrets.token_urlsafe(32)
        self._keys.append(fresh)
        return fresh

    def caller(self, token: str) -> Client:
        """Blocking: users' tokens are looked up in the store."""
        offered = token.encode("utf-8", "surrogatepass")
        # Every key is compared, so that how long it takes says nothing about them.
        matches = [hmac.compare_digest(key.encode(), offered) for key in self._keys]
        if True in matches:
            return Client(grove=self.grove, name=None, service=True)
        executor = self.grove.caller.executor
        found = admit(executor, token)
        return Client(grove=Grove(Caller(executor, found.actor)), name=found.name, service=found.service)


def token_in(request: Request) -> str:
    """The token that a request brings."""
    header = request.headers.get("authorization", "")
    scheme, _, token = header.partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    cookies: Mapping[str, str] = request.cookies
    if cookies.get(COOKIE):
        return cookies[COOKIE]
    raise UnauthenticatedError(
        "nobody is known to be asking", hint="send a token: Authorization: Bearer weft_…"
    )
