"""OpenAI's own SDK, as it is, on our transport: for OpenAI, and for whoever speaks like it."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import httpx2
import openai

from weft.errors import ProviderError
from weft.providers.base import ModelInfo
from weft.providers.connecting import Connector, timeouts
from weft.providers.connection import Connection
from weft.providers.endpoint import Endpoint
from weft.providers.events import Event
from weft.providers.openai_chat import ChatReader
from weft.providers.openai_completions import CompletionReader
from weft.providers.openai_responses import ResponseReader
from weft.providers.profiles import OpenAIWay
from weft.providers.secret import Secret
from weft.providers.speaking import Speech, listed, speak
from weft.providers.troubles import describe_status
from weft.tree.json import JsonValue

__all__ = ["Client", "Question"]

_OPENAI = "api.openai.com"
_CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"
Body: TypeAlias = Mapping[str, JsonValue]


class _Reader(Protocol):
    def read(self, chunk: Any, request_id: str | None, /) -> Iterator[Event]: ...


def _client(http: httpx2.AsyncClient, endpoint: Endpoint, key: Secret | None) -> openai.AsyncOpenAI:
    # Servers on the own machine want no key, but the SDK wants one.
    api_key = key.reveal() if key else "none"
    # What the environment says about an account at OpenAI is not for other hosts.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One call in one of OpenAI's ways."""

    way: OpenAIWay
    body: Body
    choices: int = 1
    blanks: str = ""
    """What a continued document ends with and its continuation may say again."""
    silence: float | None = None


async def _spoken(client: openai.AsyncOpenAI, question: Question, reader: _Reader) -> AsyncGenerator[Event]:
    create, named = _create(client, question.way)
    given = {name: question.body[name] for name in named}
    rest = {name: value for name, value in question.body.items() if name not in named}
    stream = await create(**given, stream=True, extra_body=rest, timeout=timeouts(question.silence))
    request_id = stream.response.headers.get("x-request-id")
    try:
        async for said in stream:
            for event in reader.read(said, request_id):
                yield event
    finally:
        await stream.close()


def _create(client: openai.AsyncOpenAI, way: OpenAIWay) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """What to call, and which fields it wants by name."""
    match way:
        case OpenAIWay.CHAT:
            return cast("Any", client.chat.completions.create), ("model", "messages")
        case OpenAIWay.RESPONSES:
            return cast("Any", client.responses.create), ("model", "input")
        case OpenAIWay.COMPLETIONS:
            return cast("Any", client.completions.create), ("model", "prompt")


def _reader(provider: str, way: OpenAIWay) -> _Reader:
    match way:
        case OpenAIWay.CHAT:
            return ChatReader()
        case OpenAIWay.RESPONSES:
            return ResponseReader(provider)
        case OpenAIWay.COMPLETIONS:
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
        # Some say the status in the stream that they have begun with another.
        status = int(error.code or "")
    return describe_status(
        provider, status, words=(error.code, error.type), message=_message(error), headers=headers, key=key
    )


def _message(error: openai.APIError) -> str:
    body = error.body
    if isinstance(body, Mapping):
        found = cast("Mapping[str, object]", body)
        inner = found.get("error")
        said = found.get("message") or (inner if isinstance(inner, str) else None)
        if isinstance(said, str):
            return said
    return error.message


class Client:
    """One endpoint that speaks like OpenAI."""

    def __init__(self, provider: str, connection: Connection) -> None:
        self._provider = provider
        self._connector = Connector(connection, _client)

    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        client, key = self._connector.client()
        provider = self._provider
        speech = Speech(
            provider=provider,
            choices=question.choices,
            key=key,
            describe=lambda error: _described(provider, error, key),
            blanks=question.blanks,
        )
        spoken = speak(speech, lambda: _spoken(client, question, _reader(provider, question.way)))
        async with aclosing(spoken) as events:
            async for event in events:
                yield event

    async def models(self, told: Callable[[str, Mapping[str, object]], ModelInfo]) -> list[ModelInfo]:
        """The list of models; `told` makes what is known of one from its name and what else was said of it."""
        client, key = self._connector.client()
        provider = self._provider

        async def rows() -> AsyncGenerator[ModelInfo]:
            async for row in client.models.list():
                yield told(row.id, row.model_extra or {})

        return await listed(provider, key, rows(), lambda error: _described(provider, error, key))

    async def close(self) -> None:
        await self._connector.close()
