"""Searching the web: by a provider that the owner of this machine has chosen, and by none until then.

`WEFT_WEB_SEARCH=searxng:https://search.example` asks an instance of SearXNG, which needs no key;
`WEFT_WEB_SEARCH=brave` and `tavily` ask these, with the key of that name (`weft keys set brave`).
`WEFT_WEB_SEARCH_PRIVATE=1` says that the instance is on the own network.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from weft.errors import InvalidInputError, ProviderError, Trouble
from weft.providers.adapter import Connection, Limits, sdk_import
from weft.providers.endpoint import Endpoint
from weft.providers.errors import describe_status, find_own, from_connection
from weft.providers.keys import ADDRESSES, Keys, Secret
from weft.tree.json import JsonObject, JsonValue

__all__ = ["VARIABLE", "Page", "SearchEngine", "chosen_engine"]

VARIABLE = "WEFT_WEB_SEARCH"
_PRIVATE = f"{VARIABLE}_PRIVATE"
_LIMITS = Limits(received=4 * 1024 * 1024)
_SILENCE = 30.0


class Page(NamedTuple):
    """A page, with what its provider tells of it."""

    title: str
    url: str
    text: str
    published: str | None


class _Question(NamedTuple):
    """A search as one provider takes it."""

    path: str
    query: Mapping[str, str]
    body: JsonObject | None = None
    headers: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    url: str | None
    """None: whoever chooses it says where."""
    key_needed: bool
    ask: Callable[[str, int, str | None, str], _Question]
    results: tuple[str, ...]
    """Where in the answer the list of pages is."""
    text: str
    published: str


def _searxng(query: str, _limit: int, period: str | None, _key: str) -> _Question:
    asked = {"q": query, "format": "json"}
    return _Question("/search", asked if period is None else {**asked, "time_range": period})


def _brave(query: str, limit: int, period: str | None, key: str) -> _Question:
    asked = {"q": query, "count": str(limit), "text_decorations": "false"}
    if period is not None:
        asked["freshness"] = f"p{period[0]}"
    headers = {"X-Subscription-Token": key, "Accept": "application/json"}
    return _Question("/res/v1/web/search", asked, headers=headers)


def _tavily(query: str, limit: int, period: str | None, key: str) -> _Question:
    asked: JsonObject = {"query": query, "max_results": limit}
    if period is not None:
        asked["time_range"] = period
    return _Question("/search", {}, asked, {"Authorization": f"Bearer {key}"})


_DIALECTS: Mapping[str, _Dialect] = {
    "brave": _Dialect(
        url=ADDRESSES["brave"],
        key_needed=True,
        ask=_brave,
        results=("web", "results"),
        text="description",
        published="page_age",
    ),
    "searxng": _Dialect(
        url=None,
        key_needed=False,
        ask=_searxng,
        results=("results",),
        text="content",
        published="publishedDate",
    ),
    "tavily": _Dialect(
        url=ADDRESSES["tavily"],
        key_needed=True,
        ask=_tavily,
        results=("results",),
        text="content",
        published="published_date",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEngine:
    """One provider of searches, and how it is reached."""

    name: str
    connection: Connection = field(repr=False)

    async def search(self, query: str, *, limit: int, period: str | None = None) -> list[Page]:
        """The pages that answer best, the best first; `period` is day, week, month or year."""
        with sdk_import(self.name):
            import httpx2  # noqa: PLC0415 - few processes search the web

            from weft.providers.capture import CaptureTransport  # noqa: PLC0415 - as above
            from weft.providers.http import timeouts  # noqa: PLC0415 - as above

        dialect, given = _DIALECTS[self.name], self.connection
        key = given.key() if dialect.key_needed else None
        asked = dialect.ask(query, limit, period, "" if key is None else key.reveal())
        transport = CaptureTransport(
            given.endpoint, key, limits=given.limits, resolver=given.resolver, tls=given.tls
        )
        client = httpx2.AsyncClient(
            transport=transport, trust_env=False, follow_redirects=False, timeout=timeouts(_SILENCE)
        )
        async with client:
            try:
                answer = await client.request(
                    "GET" if asked.body is None else "POST",
                    given.endpoint.url.rstrip("/") + asked.path,
                    params=dict(asked.query),
                    json=asked.body,
                    headers=dict(asked.headers),
                )
                told = answer.text if answer.status_code >= 400 else cast("JsonValue", answer.json())
            except (httpx2.HTTPError, ProviderError, ValueError) as error:
                raise find_own(error) or from_connection(self.name, error, key=key) from None
        if isinstance(told, str) and answer.status_code >= 400:
            raise self._refused(answer.status_code, told, dict(answer.headers), key)
        return list(_pages(dialect, told))[:limit]

    def _refused(
        self, status: int, told: str, headers: Mapping[str, str], key: Secret | None
    ) -> ProviderError:
        if self.name == "searxng" and status == 403:
            return ProviderError(
                Trouble.INVALID_REQUEST,
                f"{self.connection.endpoint.host} does not answer in JSON",
                hint="its settings must list json among search.formats",
                status=status,
            )
        return describe_status(self.name, status, message=told, headers=headers, key=key)


def _pages(dialect: _Dialect, told: JsonValue) -> Iterator[Page]:
    """What can be read of an answer; a page without an address is none."""
    for name in dialect.results:
        told = told.get(name) if isinstance(told, Mapping) else None
    for each in told if isinstance(told, Sequence) and not isinstance(told, str) else ():
        if not isinstance(each, Mapping):
            continue
        address = _text(each.get("url"))
        if address.startswith(("http://", "https://")):
            published = _text(each.get(dialect.published)) or None
            yield Page(_text(each.get("title")), address, _text(each.get(dialect.text)), published)


def _text(value: JsonValue) -> str:
    """On one line; what JSON may say and Unicode does not know is replaced, because nobody could be sent it."""
    return " ".join(value.encode(errors="replace").decode().split()) if isinstance(value, str) else ""


def chosen_engine(
    environment: Mapping[str, str] | None = None, keys: Keys | None = None
) -> SearchEngine | None:
    """The provider that the environment names, if it names one."""
    found = os.environ if environment is None else environment
    name, _, url = found.get(VARIABLE, "").strip().partition(":")
    if not name:
        return None
    dialect = _DIALECTS.get(name.lower())
    if dialect is None:
        raise InvalidInputError(
            f"{VARIABLE} names no provider of searches: {name[:60]!r}",
            hint=f"there are {', '.join(_DIALECTS)}; searxng takes its address, searxng:https://…",
        )
    address = url or dialect.url
    if address is None:
        raise InvalidInputError(f"{VARIABLE} does not say where {name} is", hint=f"{name}:https://…")
    private = found.get(_PRIVATE, "").strip().lower() in {"1", "true", "yes", "on"}
    connection = Connection(
        endpoint=Endpoint(address, private=private),
        key_name=name.lower(),
        key_needed=dialect.key_needed,
        keys=keys or Keys(),
        limits=_LIMITS,
    )
    return SearchEngine(name=name.lower(), connection=connection)
