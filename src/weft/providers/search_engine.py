"""Web search, by the engine that the owner of this machine chooses; off by default.

`WEFT_WEB_SEARCH=searxng:https://search.example` asks an instance of SearXNG, which needs no key;
`WEFT_WEB_SEARCH=brave` and `tavily` ask these, with the key of that name (`weft keys set brave`).
`WEFT_WEB_SEARCH_PRIVATE=1` says that the instance is on the own network.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from weft.errors import InvalidInputError, ProviderError, Trouble
from weft.providers.adapter import Connection, ResponseLimits
from weft.providers.endpoint import Endpoint
from weft.providers.errors import describe_status, find_own, from_connection
from weft.providers.keys import ADDRESSES, Keys, Secret
from weft.providers.sdk_import import sdk_import
from weft.tree.json import JsonObject, JsonValue

VARIABLE = "WEFT_WEB_SEARCH"
_PRIVATE = f"{VARIABLE}_PRIVATE"
_LIMITS = ResponseLimits(received=4 * 1024 * 1024)
_READ_TIMEOUT = 30.0


class Page(NamedTuple):
    """A page among the results."""

    title: str
    url: str
    text: str
    published: str | None


class _Query(NamedTuple):
    """A search as one engine takes it."""

    path: str
    query: Mapping[str, str]
    body: JsonObject | None = None
    headers: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    url: str | None
    """None: the owner gives the address."""
    key_needed: bool
    ask: Callable[[str, int, str | None, str], _Query]
    results: tuple[str, ...]
    """The path to the list of pages in the response."""
    text: str
    published: str


def _searxng(query: str, _limit: int, period: str | None, _key: str) -> _Query:
    asked = {"q": query, "format": "json"}
    return _Query("/search", asked if period is None else {**asked, "time_range": period})


def _brave(query: str, limit: int, period: str | None, key: str) -> _Query:
    asked = {"q": query, "count": str(limit), "text_decorations": "false"}
    if period is not None:
        asked["freshness"] = f"p{period[0]}"
    headers = {"X-Subscription-Token": key, "Accept": "application/json"}
    return _Query("/res/v1/web/search", asked, headers=headers)


def _tavily(query: str, limit: int, period: str | None, key: str) -> _Query:
    asked: JsonObject = {"query": query, "max_results": limit}
    if period is not None:
        asked["time_range"] = period
    return _Query("/search", {}, asked, {"Authorization": f"Bearer {key}"})


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
    """A search engine, and how it is reached."""

    name: str
    connection: Connection = field(repr=False)

    async def search(self, query: str, *, limit: int, period: str | None = None) -> list[Page]:
        """The best pages, best first; `period` is day, week, month or year."""
        with sdk_import(self.name):
            import httpx2  # noqa: PLC0415 - few processes search the web

            from weft.providers.http import http_client  # noqa: PLC0415 - as above

        dialect, given = _DIALECTS[self.name], self.connection
        key = given.key() if dialect.key_needed else None
        asked = dialect.ask(query, limit, period, "" if key is None else key.reveal())
        async with http_client(given, key, _READ_TIMEOUT) as client:
            try:
                answer = await client.request(
                    "GET" if asked.body is None else "POST",
                    given.endpoint.url.rstrip("/") + asked.path,
                    params=dict(asked.query),
                    json=asked.body,
                    headers=dict(asked.headers),
                )
                data = answer.text if answer.status_code >= 400 else cast("JsonValue", answer.json())
            except (httpx2.HTTPError, ProviderError, ValueError) as error:
                raise find_own(error) or from_connection(
                    self.name, error, key=key, read_timeout=_READ_TIMEOUT
                ) from None
        if isinstance(data, str) and answer.status_code >= 400:
            raise self._refused(answer.status_code, data, dict(answer.headers), key)
        return list(_pages(dialect, data))[:limit]

    def _refused(
        self, status: int, data: str, headers: Mapping[str, str], key: Secret | None
    ) -> ProviderError:
        if self.name == "searxng" and status == 403:
            return ProviderError(
                Trouble.INVALID_REQUEST,
                f"{self.connection.endpoint.host}: JSON responses are disabled",
                hint="its settings must list json among search.formats",
                status=status,
            )
        return describe_status(self.name, status, message=data, headers=headers, key=key)


def _pages(dialect: _Dialect, data: JsonValue) -> Iterator[Page]:
    """The pages of a response; entries without an address are left out."""
    for name in dialect.results:
        data = data.get(name) if isinstance(data, Mapping) else None
    for each in data if isinstance(data, Sequence) and not isinstance(data, str) else ():
        if not isinstance(each, Mapping):
            continue
        address = _text(each.get("url"))
        if address.startswith(("http://", "https://")):
            published = _text(each.get(dialect.published)) or None
            yield Page(_text(each.get("title")), address, _text(each.get(dialect.text)), published)


def _text(value: JsonValue) -> str:
    """One line; lone surrogates, which cannot be encoded, are replaced."""
    return " ".join(value.encode(errors="replace").decode().split()) if isinstance(value, str) else ""


def chosen_engine(
    environment: Mapping[str, str] | None = None, keys: Keys | None = None
) -> SearchEngine | None:
    """The engine that the environment names, or None."""
    variables = os.environ if environment is None else environment
    name, _, url = variables.get(VARIABLE, "").strip().partition(":")
    if not name:
        return None
    dialect = _DIALECTS.get(name.lower())
    if dialect is None:
        raise InvalidInputError(
            f"{VARIABLE}: unknown search engine {name[:60]!r}",
            hint=f"there are {', '.join(_DIALECTS)}; searxng takes its address, searxng:https://…",
        )
    address = url or dialect.url
    if address is None:
        raise InvalidInputError(f"{VARIABLE}: {name} needs an address", hint=f"{name}:https://…")
    private = variables.get(_PRIVATE, "").strip().lower() in {"1", "true", "yes", "on"}
    connection = Connection(
        endpoint=Endpoint(address, private=private),
        key_name=name.lower(),
        key_needed=dialect.key_needed,
        keys=keys or Keys(),
        limits=_LIMITS,
    )
    return SearchEngine(name=name.lower(), connection=connection)
