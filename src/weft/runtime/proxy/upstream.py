"""Where a proxied request goes: the upstream that its model's name means, and the connection to it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import orjson

from weft.errors import InvalidInputError, NotFoundError
from weft.providers.adapter import Connection, ResponseLimits
from weft.providers.endpoint import Endpoint
from weft.providers.keys import ADDRESSES, Keys, Secret
from weft.runtime.proxy.wires import Wire

if TYPE_CHECKING:
    import httpx2

    from weft.providers.compatible import Preset

_VENDORS = ("anthropic", "openai")
_GOOGLE = "/v1beta/openai"
"""Where Google's service speaks OpenAI's interfaces."""
_READ_TIMEOUT = 600.0
_RESPONSE_LIMIT = 64 * 1024 * 1024
_HOP = frozenset(
    {
        *(
            "connection",
            "keep-alive",
            "proxy-authenticate",
            "proxy-authorization",
            "te",
            "trailer",
            "trailers",
        ),
        *("transfer-encoding", "upgrade", "host", "content-length", "accept-encoding", "expect"),
        *("authorization", "x-api-key", "api-key", "cookie", "origin", "referer", "forwarded", "x-real-ip"),
    }
)
_ANSWER_HOP = frozenset(
    {
        *(
            "connection",
            "keep-alive",
            "proxy-authenticate",
            "proxy-authorization",
            "te",
            "trailer",
            "trailers",
        ),
        *(
            "transfer-encoding",
            "upgrade",
            "content-length",
            "content-encoding",
            "set-cookie",
            "date",
            "server",
        ),
        *("alt-svc", "strict-transport-security"),
    }
)


class Upstream(NamedTuple):
    """A provider that a request goes to."""

    provider: str
    """`anthropic`, `openai`, `google`, or the name of an endpoint."""
    model: str
    """Its own name of the model."""
    connection: Connection
    is_renamed: bool
    """Whether the client's name of the model was another."""

    def url(self, wire: Wire) -> str:
        """The address of an interface; a base address may or may not end with its version."""
        base = self.connection.endpoint.url.rstrip("/")
        if wire.is_anthropic or self.provider == "anthropic":
            base = base.removesuffix("/v1") + "/v1"
        return f"{base}/{wire.path}"

    @property
    def models_url(self) -> str:
        base = self.connection.endpoint.url.rstrip("/")
        return f"{base.removesuffix('/v1')}/v1/models" if self.provider == "anthropic" else f"{base}/models"


def _endpoints() -> "Mapping[str, Preset]":
    from weft.providers.compatible import Compatible  # noqa: PLC0415 - only who forwards needs it

    return Compatible().endpoints()


@dataclass(slots=True)
class Upstreams:
    """All upstreams of a server, and the open connections to them."""

    endpoints: "Callable[[], Mapping[str, Preset]]" = field(default=_endpoints, repr=False)
    keys: Keys = field(default_factory=Keys)
    _clients: "dict[tuple[str, str], httpx2.AsyncClient]" = field(
        default_factory=dict["tuple[str, str]", "httpx2.AsyncClient"], repr=False
    )

    def choose(self, wire: Wire, model: str) -> Upstream:
        """The upstream of a model: `provider:model`, `endpoint/model`, or the vendor's own name of it."""
        endpoints = self.endpoints()
        for sign in (":", "/"):
            name, found, own = model.partition(sign)
            known = name in endpoints or (sign == ":" and name in {*_VENDORS, "google", "compatible"})
            if not (found and own and known):
                continue
            if name == "compatible":
                name, _, own = own.partition("/")
                if name not in endpoints or not own:
                    raise NotFoundError(f"there is no endpoint {name!r}")
            return self._upstream(endpoints, name, own, is_renamed=True)
        vendor = "anthropic" if wire.is_anthropic else "openai"
        return self._upstream(endpoints, vendor, model, is_renamed=False)

    def vendors(self) -> list[Upstream]:
        """The upstreams that have a key."""
        endpoints = self.endpoints()
        listed = [self._upstream(endpoints, name, "", is_renamed=False) for name in (*_VENDORS, *endpoints)]
        unique = {each.provider: each for each in listed}
        return [each for each in unique.values() if each.connection.keys.find(*_key_place(each)) is not None]

    def _upstream(
        self, endpoints: "Mapping[str, Preset]", name: str, model: str, *, is_renamed: bool
    ) -> Upstream:
        preset = endpoints.get(name)
        if preset is not None:
            endpoint = Endpoint(preset.url, private=preset.private)
            key_needed = preset.key_needed
        else:
            endpoint = Endpoint(ADDRESSES[name] + (_GOOGLE if name == "google" else ""))
            key_needed = True
        connection = Connection(
            endpoint=endpoint,
            key_name=name,
            key_needed=key_needed,
            keys=self.keys,
            limits=ResponseLimits(received=_RESPONSE_LIMIT),
        )
        return Upstream(name, model, connection, is_renamed)

    def client(self, upstream: Upstream, key: Secret | None) -> "httpx2.AsyncClient":
        """The connections to an upstream with a key; kept for the next request."""
        from weft.providers.http import http_client  # noqa: PLC0415 - it loads the HTTP library

        known = upstream.connection.endpoint.url, "" if key is None else key.reveal()
        client = self._clients.get(known)
        if client is None:
            client = self._clients[known] = http_client(upstream.connection, key, _READ_TIMEOUT)
        return client

    async def close(self) -> None:
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()


def _key_place(upstream: Upstream) -> tuple[str, str]:
    return upstream.provider, upstream.connection.endpoint.authority


def request_headers(
    given: Mapping[str, str], wire: Wire, upstream: Upstream, key: Secret | None
) -> dict[str, str]:
    """The client's headers without its token and those of its connection, with the upstream's own key."""
    headers = {
        name: value
        for name, value in given.items()
        if name not in _HOP and not name.startswith(("weft-", "x-forwarded-", "sec-"))
    }
    headers.setdefault("content-type", "application/json")
    if key is not None:
        if wire.is_anthropic:
            headers["x-api-key"] = key.reveal()
        if not wire.is_anthropic or upstream.provider not in _VENDORS:
            headers["authorization"] = f"Bearer {key.reveal()}"
    if wire.is_anthropic:
        headers.setdefault("anthropic-version", "2023-06-01")
    return headers


def answer_headers(given: Mapping[str, str]) -> dict[str, str]:
    """The upstream's headers, without those of its connection and its cookies."""
    return {name: value for name, value in given.items() if name.lower() not in _ANSWER_HOP}


def rename_model(body: bytes, before: str, after: str) -> bytes:
    """The body with another model, every other byte as it was where that is possible."""
    written = [f'"{before}"'.encode(), orjson.dumps(before)]
    for each in dict.fromkeys(written):
        places = list(re.finditer(rb'"model"\s*:\s*' + re.escape(each), body))
        if len(places) == 1:
            start = places[0].end() - len(each)
            renamed = body[:start] + orjson.dumps(after) + body[places[0].end() :]
            if orjson.loads(renamed).get("model") == after:
                return renamed
    value = orjson.loads(body)
    if not isinstance(value, dict):
        raise InvalidInputError("the body must be an object")
    return orjson.dumps({**value, "model": after})
