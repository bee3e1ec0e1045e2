"""Google's own SDK on our transport."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, cast

import httpx2
from google import genai
from google.genai import errors, types

from weft.errors import ProviderError, WeftError
from weft.providers.adapter import READ_TIMEOUT, Connection, as_chat, is_dry_run
from weft.providers.base import ModelInfo, ModelProfile, Request
from weft.providers.endpoint import Endpoint
from weft.providers.errors import describe_status
from weft.providers.events import CacheCreated, CacheLost, Event, Warned
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
from weft.tree.tool_spec import ToolChoice

_TOGETHER = 10.0
"""Seconds within which calls that want the same cache share the one that the first created."""
_CACHE_TIMEOUT = 30.0
"""Seconds without a byte after which a request goes without a cache."""
_NO_CACHE_THERE = frozenset({403, 404})
_NOT_CREATED = "cachedContents/not-created"
"""The name of a cache in a dry run: the server gives the real one."""


class _Cache(NamedTuple):
    """A cache at the server, with the system, the tools and the first messages."""

    name: str
    messages: int
    created: CacheCreated | None = None


def _refuse(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError(f"{request.url.host}: only the capturing client may connect")


class GoogleClient(EndpointClient[genai.Client]):
    """Gemini, streamed."""

    def __init__(
        self, provider: str, connection: Connection, info: Callable[[str, Mapping[str, object]], ModelInfo]
    ) -> None:
        super().__init__(provider, connection, info)
        self._caches: dict[str, tuple[str, float]] = {}
        self._creating: dict[str, asyncio.Lock] = {}

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
        # What a request says about its tools cannot differ from what its cache says.
        if request.cache.cached_content is not None and request.tool_choice is ToolChoice.AUTO:
            try:
                cache = await self._cached(client, request, request.cache.cached_content)
            except Exception as error:  # noqa: BLE001 - a cache saves money, it is not needed
                yield self._without_cache(error)
        if cache is not None and cache.created is not None:
            yield cache.created
        shown = False
        try:
            async for event in self._generated(client, request, profile, cache):
                shown = True
                yield event
        except errors.ClientError as error:
            if cache is None or shown or error.code not in _NO_CACHE_THERE:
                raise
            # It was deleted there, or belongs to another key.
            self._forget(cache.name)
            yield CacheLost(cache.name)
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
        count = last_split(request.messages, min(_number(wanted.get("messages")), len(request.messages) - 1))
        if isinstance(name := wanted.get("name"), str):
            return _Cache(name, count)
        digest = _digest(request, count)
        # Calls that begin together create one cache.
        async with self._creating.setdefault(digest, asyncio.Lock()):
            name, until = self._caches.get(digest, ("", 0.0))
            if name and time.monotonic() < until:
                return _Cache(name, count)
            return await self._create(client, request, count, str(wanted.get("ttl") or "300s"), digest)

    async def _create(
        self, client: genai.Client, request: Request, count: int, ttl: str, digest: str
    ) -> "_Cache | None":
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
            if not is_dry_run():
                raise
            return _Cache(_NOT_CREATED, count)
        if not made.name:
            return None
        self._caches[digest] = (made.name, time.monotonic() + _TOGETHER)
        tokens = made.usage_metadata.total_token_count if made.usage_metadata else None
        return _Cache(made.name, count, CacheCreated(made.name, tokens))

    def _forget(self, name: str) -> None:
        self._caches = {digest: kept for digest, kept in self._caches.items() if kept[0] != name}

    async def renew_cache(self, name: str, seconds: int) -> None:
        await self._managed(
            lambda client: client.aio.caches.update(
                name=name, config=types.UpdateCachedContentConfig(ttl=f"{seconds}s")
            )
        )

    async def delete_cache(self, name: str) -> None:
        self._forget(name)
        await self._managed(lambda client: client.aio.caches.delete(name=name))

    async def _managed(self, work: Callable[[genai.Client], Awaitable[object]]) -> None:
        """Change a cache at the server; one that is gone is no error."""
        client, key = self._client()
        failure: WeftError | None = None
        try:
            await work(client)
        except Exception as error:  # noqa: BLE001 - every error of an SDK is mapped
            if not isinstance(error, errors.ClientError) or error.code not in _NO_CACHE_THERE:
                failure = self._failure(error, key, _CACHE_TIMEOUT)
        if failure is not None:
            # Raised out here, because the SDK's error holds the request, and with it the key.
            raise failure

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


def _digest(request: Request, count: int) -> str:
    stable = [
        request.model,
        list(request.system),
        [message_to_wire(each) for each in request.messages[:count]],
    ]
    tools = [[tool.name, tool.description, tool.schema] for tool in request.tools]
    return hashlib.sha256(json.dumps([*stable, tools], sort_keys=True).encode()).hexdigest()
