"""Read one web page: the name is resolved once and pinned, private addresses need the owner's leave.

Redirects are followed on the same host only; size and time are limited.
"""

import asyncio
import codecs
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit

from weft.errors import InvalidInputError, ProviderError, Trouble
from weft.providers.adapter import ResponseLimits
from weft.providers.endpoint import Endpoint, Resolver, resolve
from weft.providers.errors import find_own, from_connection
from weft.providers.sdk_import import sdk_import

if TYPE_CHECKING:
    import httpx2

_LIMITS = ResponseLimits(received=4 * 1024 * 1024)
_SECONDS = 20.0
_REDIRECTS = 5
_LONGEST = 4_096
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml+xml", "application/ld+json")


class FetchedPage(NamedTuple):
    """What an address answered."""

    url: str
    """Where it was in the end."""
    kind: str
    """Its media type."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReader:
    """Reads pages. Tests give a resolver and a port of their own."""

    private: bool = False
    """The owner allows addresses of the own network."""
    resolver: Resolver = resolve
    tls: ssl.SSLContext | None = None
    seconds: float = _SECONDS

    async def read(self, url: str) -> FetchedPage:
        """The text at an address; an error says why there is none."""
        with sdk_import("readUrl"):
            import httpx2  # noqa: PLC0415 - few processes read pages

            from weft.providers.capture import CaptureTransport  # noqa: PLC0415 - as above

        endpoint, target = self._split(url)
        transport = CaptureTransport(
            endpoint, limits=_LIMITS, resolver=self.resolver, tls=self.tls, redirects=True
        )
        client = httpx2.AsyncClient(
            transport=transport, trust_env=False, follow_redirects=False, timeout=httpx2.Timeout(self.seconds)
        )
        try:
            async with client, asyncio.timeout(self.seconds):
                for _ in range(_REDIRECTS + 1):
                    answer = await client.get(target, headers={"Accept": "text/html, text/*;q=0.9"})
                    if not 300 <= answer.status_code < 400:
                        return _page(endpoint, target, answer)
                    target = self._moved(endpoint, target, answer.headers.get("location", ""))
        except TimeoutError:
            raise ProviderError(
                Trouble.TIMEOUT, f"{endpoint.host}: timed out after {self.seconds:g} s"
            ) from None
        except (httpx2.HTTPError, ProviderError, ValueError) as error:
            raise find_own(error) or from_connection(
                endpoint.host, error, key=None, read_timeout=self.seconds
            ) from None
        raise ProviderError(Trouble.INVALID_REQUEST, f"{endpoint.host}: more than {_REDIRECTS} redirects")

    def _split(self, url: str) -> tuple[Endpoint, str]:
        """The host, and the whole address: encrypted, where it is not on the own network."""
        parts = urlsplit(url.strip())
        if len(url) > _LONGEST or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidInputError(f"{url[:200]!r} is not an http or https address")
        if parts.username is not None or parts.password is not None:
            raise InvalidInputError(f"the address of {parts.hostname} must not have a user name or password")
        scheme = parts.scheme if self.private else "https"
        endpoint = Endpoint(f"{scheme}://{parts.netloc}", private=self.private, public=not self.private)
        return endpoint, urlunsplit((scheme, parts.netloc, parts.path or "/", parts.query, ""))

    def _moved(self, endpoint: Endpoint, target: str, location: str) -> str:
        moved, whole = self._split(urljoin(target, location[:_LONGEST]))
        if moved.origin != endpoint.origin:
            raise ProviderError(
                Trouble.INVALID_REQUEST,
                f"{endpoint.host}: redirect to {moved.host} not followed",
                hint=f"attach the address at {moved.host} itself",
            )
        return whole


def _page(endpoint: Endpoint, target: str, answer: "httpx2.Response") -> FetchedPage:
    kind = answer.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if answer.status_code >= 400:
        raise ProviderError(
            Trouble.INVALID_REQUEST,
            f"{endpoint.host}: answered with status {answer.status_code}",
            status=answer.status_code,
        )
    if not kind.startswith(_TEXTS):
        raise ProviderError(Trouble.INVALID_REQUEST, f"{endpoint.host}: {kind[:60]} is not text")
    return FetchedPage(target, kind, answer.content.decode(_encoding(answer), errors="replace"))


def _encoding(answer: "httpx2.Response") -> str:
    named = answer.charset_encoding or "utf-8"
    try:
        codecs.lookup(named)
    except (LookupError, ValueError):
        return "utf-8"
    return named
