"""How a server is set up."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.errors import InvalidInputError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MEGABYTE = 1024 * 1024
_ORIGIN = re.compile(r"https?://[^\s/?#@*]+/?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What may be asked, and by whom."""

    hosts: Sequence[str] = LOOPBACK
    """Names that the server answers to: a page of another name cannot reach it through a browser."""
    origins: Sequence[str] = ()
    """Other pages that may call it, such as https://example.org."""
    body_limit: int = 16 * _MEGABYTE
    """Bytes of a request; what is larger is refused before it is read."""
    threads: int = 8
    """As many requests as work on the store at once."""
    keys: Sequence[str] = field(default=(), repr=False)
    """Tokens of the grove's owner, for as long as this server runs."""
    entrance: str | None = field(default=None, repr=False)
    """The key of the one-time link."""

    def __post_init__(self) -> None:
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                # `null` is every page that hides where it comes from, and `*` every page there is.
                raise InvalidInputError(
                    f"{origin!r} is no page's origin", hint="name it as browsers do: https://example.org"
                )
