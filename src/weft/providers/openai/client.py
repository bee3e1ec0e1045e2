"""OpenAI's own SDK on our transport: for OpenAI, and for compatible servers."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, cast

import httpx2
import openai

from weft.errors import ProviderError
from weft.providers.adapter import Connection
from weft.providers.base import ModelInfo, ModelProfile, Request
from weft.providers.endpoint import Endpoint
from weft.providers.errors import describe_status
from weft.providers.events import Event
from weft.providers.http import EndpointClient, timeouts
from weft.providers.keys import Secret
from weft.providers.openai.chat import ChatReader, CompletionReader, InterfaceCall, OpenAIInterface
from weft.providers.openai.responses import ResponseReader

_OPENAI = "api.openai.com"
_CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"


class OpenAIClient(EndpointClient[openai.AsyncOpenAI]):
    """One endpoint with OpenAI's interfaces."""

    def __init__(
        self,
        provider: str,
        connection: Connection,
        info: Callable[[str, Mapping[str, object]], ModelInfo],
        call: Callable[[Request, ModelProfile], InterfaceCall],
    ) -> None:
        """`call` makes the body of a request."""
        super().__init__(provider, connection, info)
        self._call = call

    def connect(self, http: httpx2.AsyncClient, endpoint: Endpoint, key: Secret | None) -> openai.AsyncOpenAI:
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

    def events(
        self, client: openai.AsyncOpenAI, request: Request, profile: ModelProfile
    ) -> tuple[AsyncGenerator[Event], str]:
        call = self._call(request, profile)
        return self._events(client, call, request.parameters.timeout), call.blanks

    async def _events(
        self, client: openai.AsyncOpenAI, call: InterfaceCall, read_timeout: float | None
    ) -> AsyncGenerator[Event]:
        create: Any
        match call.interface:
            case OpenAIInterface.CHAT:
                create, named, reader = client.chat.completions.create, ("model", "messages"), ChatReader()
            case OpenAIInterface.RESPONSES:
                create, named, reader = (
                    client.responses.create,
                    ("model", "input"),
                    ResponseReader(self.provider),
                )
            case OpenAIInterface.COMPLETIONS:
                create, named, reader = client.completions.create, ("model", "prompt"), CompletionReader()
        given = {name: call.body[name] for name in named}
        rest = {name: value for name, value in call.body.items() if name not in named}
        stream = await create(**given, stream=True, extra_body=rest, timeout=timeouts(read_timeout))
        request_id = stream.response.headers.get("x-request-id")
        try:
            async for chunk in stream:
                for event in reader.read(chunk, request_id):
                    yield event
        finally:
            await stream.close()

    async def rows(self, client: openai.AsyncOpenAI) -> AsyncIterator[ModelInfo]:
        async for row in client.models.list():
            yield self.info(row.id, row.model_extra or {})

    def describe(self, error: Exception, key: Secret | None) -> ProviderError | None:
        if not isinstance(error, openai.APIError) or isinstance(
            error, openai.APIConnectionError | openai.APIResponseValidationError
        ):
            return None
        status, headers = 200, None
        if isinstance(error, openai.APIStatusError):
            status, headers = error.status_code, error.response.headers
        elif (error.code or "").isdecimal():
            # Some servers send the status within a stream that began with 200.
            status = int(error.code or "")
        words = (error.code, error.type)
        return describe_status(
            self.provider, status, words=words, message=_message(error), headers=headers, key=key
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
