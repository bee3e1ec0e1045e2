"""`openai:` on OpenAI's own SDK: Responses, Chat and the legacy Completions, whichever a model speaks."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol, TypeAlias, cast

import httpx2
import openai

from weft.errors import ProviderError
from weft.providers.base import ModelInfo, ModelName, Profile, Request
from weft.providers.connecting import Connection, Connector, timeouts
from weft.providers.continuing import as_chat
from weft.providers.endpoint import Endpoint
from weft.providers.events import Event
from weft.providers.openai_chat import ChatReader, chat_body
from weft.providers.openai_completions import CompletionReader, completion_body
from weft.providers.openai_responses import ResponseReader, response_body
from weft.providers.profiles import OpenAIWay, openai_profile, openai_way
from weft.providers.secret import Secret
from weft.providers.speaking import Speech, check_request, listed, speak
from weft.providers.troubles import describe_status
from weft.tree.json import JsonValue

__all__ = ["OpenAI", "Question", "connect", "describe", "make", "put"]

ENDPOINT = Endpoint("https://api.openai.com/v1")
Body: TypeAlias = Mapping[str, JsonValue]


class _Reader(Protocol):
    def read(self, chunk: Any, request_id: str | None, /) -> Iterator[Event]: ...


def connect(http: httpx2.AsyncClient, endpoint: Endpoint, key: Secret | None) -> openai.AsyncOpenAI:
    # What the environment says about an account at OpenAI is nobody else's business.
    private = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    return openai.AsyncOpenAI(
        # Servers on the own machine want no key, but the SDK wants one.
        api_key=key.reveal() if key else "none",
        base_url=endpoint.url,
        max_retries=0,
        http_client=http,
        default_headers=None if endpoint.host == ENDPOINT.host else cast("Any", private),
    )


class Question:
    """One call in one of OpenAI's ways: its body, and who reads the answer."""

    def __init__(self, provider: str, way: OpenAIWay, body: Body, silence: float | None) -> None:
        self._provider = provider
        self._way = way
        self._body = body
        self._silence = silence

    async def put(self, client: openai.AsyncOpenAI) -> AsyncGenerator[Event]:
        create, named = self._create(client)
        given = {name: self._body[name] for name in named}
        rest = {name: value for name, value in self._body.items() if name not in named}
        stream = await create(**given, stream=True, extra_body=rest, timeout=timeouts(self._silence))
        reader, request_id = self._reader(), stream.response.headers.get("x-request-id")
        try:
            async for said in stream:
                for event in reader.read(said, request_id):
                    yield event
        finally:
            await stream.close()

    def _create(self, client: openai.AsyncOpenAI) -> tuple[Callable[..., Any], tuple[str, ...]]:
        match self._way:
            case OpenAIWay.CHAT:
                return cast("Any", client.chat.completions.create), ("model", "messages")
            case OpenAIWay.RESPONSES:
                return cast("Any", client.responses.create), ("model", "input")
            case OpenAIWay.COMPLETIONS:
                return cast("Any", client.completions.create), ("model", "prompt")

    def _reader(self) -> _Reader:
        match self._way:
            case OpenAIWay.CHAT:
                return ChatReader()
            case OpenAIWay.RESPONSES:
                return ResponseReader(self._provider)
            case OpenAIWay.COMPLETIONS:
                return CompletionReader()


async def put(
    connector: Connector[openai.AsyncOpenAI], provider: str, question: Question, choices: int, blanks: str
) -> AsyncGenerator[Event]:
    """Ask, and yield what comes."""
    client, key = connector.client()
    speech = Speech(
        provider=provider,
        choices=choices,
        key=key,
        describe=lambda error: describe(provider, error, key),
        blanks=blanks,
    )
    async with aclosing(speak(speech, lambda: question.put(client))) as events:
        async for event in events:
            yield event


def describe(provider: str, error: Exception, key: Secret | None) -> ProviderError | None:
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


class OpenAI:
    """OpenAI's models."""

    name = "openai"

    def __init__(self, connection: Connection | None = None) -> None:
        self._connector = Connector(connection or Connection(endpoint=ENDPOINT, key_name=self.name), connect)

    def profile(self, model: str) -> Profile:
        return openai_profile(model)

    async def stream(self, request: Request) -> AsyncGenerator[Event]:
        profile, way = self.profile(request.model), openai_way(request.model)
        check_request(self.name, request, profile)
        chat, blanks = (request, "") if way is OpenAIWay.COMPLETIONS else as_chat(request, profile)
        question = Question(self.name, way, _body(chat, profile, way), request.parameters.timeout)
        asked = put(self._connector, self.name, question, request.parameters.n, blanks)
        async with aclosing(asked) as events:
            async for event in events:
                yield event

    async def models(self) -> Sequence[ModelInfo]:
        client, key = self._connector.client()
        return await listed(self.name, key, self._rows(client), lambda error: describe(self.name, error, key))

    async def _rows(self, client: openai.AsyncOpenAI) -> AsyncGenerator[ModelInfo]:
        async for row in client.models.list():
            yield ModelInfo(name=ModelName(self.name, row.id), title=row.id, profile=self.profile(row.id))

    async def close(self) -> None:
        await self._connector.close()


def _body(request: Request, profile: Profile, way: OpenAIWay) -> Body:
    match way:
        case OpenAIWay.CHAT:
            return chat_body(request, profile)
        case OpenAIWay.RESPONSES:
            return response_body(request)
        case OpenAIWay.COMPLETIONS:
            return completion_body(request, profile)


def make() -> OpenAI:
    return OpenAI()
