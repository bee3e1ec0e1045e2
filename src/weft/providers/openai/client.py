"""OpenAI's own SDK on our transport: for OpenAI, and for compatible servers."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Protocol, cast

import httpx2
import openai

from weft.errors import ProviderError
from weft.providers.adapter import Connection
from weft.providers.base import ModelInfo, ModelProfile, Request
from weft.providers.endpoint import Endpoint
from weft.providers.errors import describe_status
from weft.providers.events import Event
from weft.providers.http import Connector, SdkCall, list_models, stream_call, timeouts
from weft.providers.keys import Secret
from weft.providers.openai import InterfaceCall, OpenAIInterface
from weft.providers.openai.chat import ChatReader, CompletionReader
from weft.providers.openai.responses import ResponseReader

_OPENAI = "api.openai.com"
_CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"


class _Reader(Protocol):
    def read(self, chunk: Any, request_id: str | None, /) -> Iterator[Event]: ...


def _client(http: httpx2.AsyncClient, endpoint: Endpoint, key: Secret | None) -> openai.AsyncOpenAI:
    # Local servers need no key, but the SDK does.
    api_key = key.reveal() if key else "none"
    # The environment's settings of an OpenAI account are not for other hosts.
    custom = [line.partition(":")[0].strip() for line in os.environ.get(_CUSTOM_HEADERS, "").split("\n")]
    private: dict[str, object] = {
        name: f"Bearer {api_key}" if name.lower() == "authorization" else openai.Omit()
        for name in ("OpenAI-Organization", "OpenAI-Project", *custom)
        if name
    }
    return openai.AsyncOpenAI(
        api_key=api_key,
        base_url=endpoint.url,
        max_retries=0,
        http_client=http,
        default_headers=None if endpoint.host == _OPENAI else cast("Any", private),
    )


async def _events(
    client: openai.AsyncOpenAI, call: InterfaceCall, reader: _Reader, silence: float | None
) -> AsyncGenerator[Event]:
    create, named = _create(client, call.interface)
    given = {name: call.body[name] for name in named}
    rest = {name: value for name, value in call.body.items() if name not in named}
    stream = await create(**given, stream=True, extra_body=rest, timeout=timeouts(silence))
    request_id = stream.response.headers.get("x-request-id")
    try:
        async for chunk in stream:
            for event in reader.read(chunk, request_id):
                yield event
    finally:
        await stream.close()


def _create(
    client: openai.AsyncOpenAI, interface: OpenAIInterface
) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """The SDK's function, and the fields that it takes as arguments."""
    match interface:
        case OpenAIInterface.CHAT:
            return cast("Any", client.chat.completions.create), ("model", "messages")
        case OpenAIInterface.RESPONSES:
            return cast("Any", client.responses.create), ("model", "input")
        case OpenAIInterface.COMPLETIONS:
            return cast("Any", client.completions.create), ("model", "prompt")


def _reader(provider: str, interface: OpenAIInterface) -> _Reader:
    match interface:
        case OpenAIInterface.CHAT:
            return ChatReader()
        case OpenAIInterface.RESPONSES:
            return ResponseReader(provider)
        case OpenAIInterface.COMPLETIONS:
            return CompletionReader()


def _described(provider: str, error: Exception, key: Secret | None) -> ProviderError | None:
    if not isinstance(error, openai.APIError) or isinstance(error, openai.APIConnectionError):
        return None
    status, headers = 200, None
    if isinstance(error, openai.APIStatusError):
        status, headers = error.status_code, error.response.headers
    elif isinstance(error, openai.APIResponseValidationError):
        return None
    elif (error.code or "").isdecimal():
        # Some servers send the status within a stream that began with 200.
        status = int(error.code or "")
    return describe_status(
        provider, status, words=(error.code, error.type), message=_message(error), headers=headers, key=key
    )


def _message(error: openai.APIError) -> str:
    body = error.body
    if isinstance(body, Mapping):
        fields = cast("Mapping[str, object]", body)
        inner = fields.get("error")
        message = fields.get("message") or (inner if isinstance(inner, str) else None)
        if isinstance(message, str):
            return message
    return error.message


class OpenAIClient:
    """One endpoint with OpenAI's interfaces."""

    def __init__(
        self,
        provider: str,
        connection: Connection,
        call: Callable[[Request, ModelProfile], InterfaceCall],
        info: Callable[[str, Mapping[str, object]], ModelInfo],
    ) -> None:
        """`call` makes the body of a request, `info` the facts of a model from its row in a list."""
        self._provider = provider
        self._connector = Connector(connection, _client)
        self._call = call
        self._info = info

    async def stream(self, request: Request, profile: ModelProfile) -> AsyncGenerator[Event]:
        call = self._call(request, profile)
        client, key = self._connector.client()
        provider, asked = self._provider, request.parameters
        sdk_call = SdkCall(
            provider=provider,
            choices=asked.n,
            key=key,
            describe=lambda error: _described(provider, error, key),
            read_timeout=asked.timeout,
            blanks=call.blanks,
        )
        reader = _reader(provider, call.interface)
        streamed = stream_call(sdk_call, lambda: _events(client, call, reader, asked.timeout))
        async with aclosing(streamed) as events:
            async for event in events:
                yield event

    async def models(self) -> list[ModelInfo]:
        client, key = self._connector.client()
        provider = self._provider

        async def rows() -> AsyncGenerator[ModelInfo]:
            async for row in client.models.list():
                yield self._info(row.id, row.model_extra or {})

        return await list_models(provider, key, rows(), lambda error: _described(provider, error, key))

    async def close(self) -> None:
        await self._connector.close()
