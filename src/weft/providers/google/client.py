"""Google's own SDK on our transport."""

import hashlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, cast

import httpx2
from google import genai
from google.genai import errors, types

from weft.errors import ProviderError
from weft.providers.adapter import READ_TIMEOUT, Connection, as_chat, current_dry_run
from weft.providers.base import ModelInfo, ModelProfile, Request
from weft.providers.endpoint import Endpoint
from weft.providers.errors import describe_status
from weft.providers.events import Event, Warned
from weft.providers.google.mapping import (
    GoogleReader,
    config_of,
    contents_of,
    last_split,
    messages_to_contents,
    tools_of,
)
from weft.providers.http import EndpointClient
from weft.providers.keys import Secret
from weft.tree.json import JsonObject, JsonValue
from weft.tree.message import message_to_wire

_MARGIN = 30.0
"""A cache is not used in its last seconds."""
_CACHE_TIMEOUT = 30.0
"""Seconds without a byte after which a request goes without a cache."""
_NO_CACHE_THERE = frozenset({403, 404})
_NOT_CREATED = "cachedContents/not-created"
"""The name of a cache in a dry run: the server gives the real one."""


class _Cache(NamedTuple):
    """A cache at the server, with the system, the tools and the first messages."""

    name: str
    messages: int
    digest: str


def _refuse(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError(f"{request.url.host}: only the capturing client may connect")


class GoogleClient(EndpointClient[genai.Client]):
    """Gemini, streamed."""

    def __init__(
        self, provider: str, connection: Connection, info: Callable[[str, Mapping[str, object]], ModelInfo]
    ) -> None:
        super().__init__(provider, connection, info)
        self._caches: dict[str, tuple[str, float]] = {}

    def connect(self, http: httpx2.AsyncClient, endpoint: Endpoint, key: Secret | None) -> genai.Client:
        return genai.Client(
            vertexai=False,
            api_key=key.reveal() if key else "none",
            http_options=types.HttpOptions(
                base_url=endpoint.url,
                httpx_async_client=http,
                # All requests go through the capture: the SDK's synchronous client refuses.
                httpx_client=httpx2.Client(transport=httpx2.MockTransport(_refuse), trust_env=False),
                retry_options=types.HttpRetryOptions(attempts=1),
            ),
        )

    def events(
        self, client: genai.Client, request: Request, profile: ModelProfile
    ) -> tuple[AsyncGenerator[Event], str]:
        chat, blanks = as_chat(request, profile)
        return self._events(client, chat, profile), blanks

    async def _events(
        self, client: genai.Client, request: Request, profile: ModelProfile
    ) -> AsyncGenerator[Event]:
        cache: _Cache | None = None
        if request.cache.cached_content is not None:
            try:
                cache = await self._cached(client, request, request.cache.cached_content)
            except Exception as error:  # noqa: BLE001 - a cache saves money, it is not needed
                yield self._without_cache(error)
        shown = False
        try:
            async for event in self._generated(client, request, profile, cache):
                shown = True
                yield event
        except errors.ClientError as error:
            if cache is None or shown or error.code not in _NO_CACHE_THERE:
                raise
            # It was deleted there, or belongs to another key.
            self._caches.pop(cache.digest, None)
            yield self._without_cache(error)
            async for event in self._generated(client, request, profile, None):
                yield event

    def _without_cache(self, error: Exception) -> Warned:
        _, key = self._client()
        failure = self._failure(error, key, _CACHE_TIMEOUT)
        return Warned(f"{self.provider}: no cache ({failure.message}); the request is sent whole")

    async def _generated(
        self, client: genai.Client, request: Request, profile: ModelProfile, cache: "_Cache | None"
    ) -> AsyncGenerator[Event]:
        config, contents = config_of(request, profile), contents_of(request)
        if cache is not None:
            config["cached_content"] = cache.name
            config.pop("system_instruction", None)
            config.pop("tools", None)
            contents = contents_of(request, start=cache.messages)
        read_timeout = request.parameters.timeout or READ_TIMEOUT
        config["http_options"] = {
            "timeout": int(read_timeout * 1_000),
            "extra_body": dict(request.parameters.custom) or None,
        }
        models = cast("Any", client.aio.models)
        stream = await models.generate_content_stream(model=request.model, contents=contents, config=config)
        reader = GoogleReader()
        async with aclosing(cast("AsyncGenerator[types.GenerateContentResponse]", stream)) as chunks:
            async for chunk in chunks:
                for event in reader.read(chunk):
                    yield event

    async def _cached(self, client: genai.Client, request: Request, wanted: JsonObject) -> "_Cache | None":
        """A cache with the request's stable part, created if there is none."""
        asked = _number(wanted.get("messages"))
        count = last_split(request.messages, min(asked, len(request.messages) - 1))
        digest = _digest(request, count)
        dry_run = current_dry_run()
        if dry_run is not None and dry_run.sent is not None:
            name = _cache_named_in(dry_run.sent)
            return _Cache(name, count, digest) if name else None
        name, until = self._caches.get(digest, ("", 0.0))
        if name and time.monotonic() < until:
            return _Cache(name, count, digest)
        ttl = str(wanted.get("ttl") or "300s")
        try:
            made = await client.aio.caches.create(
                model=request.model,
                config=types.CreateCachedContentConfig(
                    contents=cast("Any", messages_to_contents(request, 0, count)) or None,
                    system_instruction=request.system_text or None,
                    tools=cast("Any", tools_of(request)) or None,
                    ttl=ttl,
                    http_options=types.HttpOptions(timeout=int(_CACHE_TIMEOUT * 1_000)),
                ),
            )
        except httpx2.ConnectError:
            if dry_run is None:
                raise
            return _Cache(_NOT_CREATED, count, digest)
        if not made.name:
            return None
        self._caches[digest] = (made.name, time.monotonic() + float(ttl.removesuffix("s")) - _MARGIN)
        return _Cache(made.name, count, digest)

    async def rows(self, client: genai.Client) -> AsyncIterator[ModelInfo]:
        async for row in await client.aio.models.list(config={"page_size": 1_000}):
            if row.supported_actions and "generateContent" not in row.supported_actions:
                continue
            listed = {
                "title": row.display_name,
                "window": row.input_token_limit or None,
                "output_limit": row.output_token_limit or None,
            }
            yield self.info((row.name or "").removeprefix("models/"), listed)

    def describe(self, error: Exception, key: Secret | None) -> ProviderError | None:
        if not isinstance(error, errors.APIError):
            return None
        details = cast("object", error.details)
        inner = (
            cast("Mapping[str, Any]", details).get("error", details) if isinstance(details, Mapping) else None
        )
        listed_details = (
            cast("Mapping[str, Any]", inner).get("details") if isinstance(inner, Mapping) else None
        )
        headers = cast("Mapping[str, str]", getattr(cast("Any", error).response, "headers", None) or {})
        status = error.code if isinstance(error.code, int) and error.code >= 400 else 200  # pyright: ignore[reportUnnecessaryIsInstance] - the server may send anything
        return describe_status(
            self.provider,
            status,
            words=(error.status,),
            message=error.message or "",
            headers={name.lower(): value for name, value in headers.items()},
            details=listed_details,
            key=key,
        )


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _cache_named_in(body: bytes) -> str:
    """The cache that a body names; empty where it was sent without one."""
    try:
        sent = json.loads(body)
    except ValueError:
        return ""
    return (
        str(cast("Mapping[str, object]", sent).get("cachedContent") or "") if isinstance(sent, dict) else ""
    )


def _digest(request: Request, count: int) -> str:
    stable = [
        request.model,
        list(request.system),
        [message_to_wire(each) for each in request.messages[:count]],
    ]
    tools = [[tool.name, tool.description, tool.schema] for tool in request.tools]
    return hashlib.sha256(json.dumps([*stable, tools], sort_keys=True).encode()).hexdigest()
