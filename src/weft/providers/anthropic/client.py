"""Anthropic's own SDK on our transport."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

import anthropic
import httpx2
from anthropic.types import ModelInfo as AnthropicModel

from weft.errors import ProviderError
from weft.providers.adapter import Connection, as_chat
from weft.providers.anthropic import anthropic_profile
from weft.providers.anthropic.mapping import AnthropicReader, body_of, without_last_blanks
from weft.providers.base import ModelInfo, ModelName, ModelProfile, Request
from weft.providers.endpoint import Endpoint
from weft.providers.errors import describe_status
from weft.providers.events import Event
from weft.providers.http import Connector, SdkCall, list_models, stream_call, timeouts
from weft.providers.keys import Secret
from weft.tree.json import JsonValue

_NAME = "anthropic"


def _client(http: httpx2.AsyncClient, endpoint: Endpoint, key: Secret | None) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        api_key=key.reveal() if key else "",
        base_url=endpoint.url,
        max_retries=0,
        http_client=http,
        open_telemetry=False,
    )


async def _events(
    client: anthropic.AsyncAnthropic, body: Mapping[str, JsonValue], silence: float | None
) -> AsyncGenerator[Event]:
    named = {name: body[name] for name in ("model", "max_tokens", "messages")}
    rest = {name: value for name, value in body.items() if name not in named}
    stream = await client.messages.create(
        **cast("dict[str, Any]", named), stream=True, extra_body=rest, timeout=timeouts(silence)
    )
    reader, request_id = AnthropicReader(), stream.response.headers.get("request-id")
    try:
        async for chunk in stream:
            for event in reader.read(chunk, request_id):
                yield event
    finally:
        await stream.close()


def _described(error: Exception, key: Secret | None) -> ProviderError | None:
    if not isinstance(error, anthropic.APIStatusError):
        return None
    return describe_status(
        _NAME,
        error.status_code,
        words=(error.type, error.error_code),
        message=error.api_message or str(error.body or ""),
        headers=error.response.headers,
        key=key,
    )


def _info(row: AnthropicModel) -> ModelInfo:
    profile = anthropic_profile(row.id)
    seen = row.capabilities.image_input.supported if row.capabilities else profile.images
    return ModelInfo(
        name=ModelName(_NAME, row.id),
        title=row.display_name,
        profile=replace(
            profile,
            window=row.max_input_tokens or profile.window,
            output_limit=row.max_tokens or profile.output_limit,
            images=seen,
        ),
    )


class AnthropicClient:
    """The Messages interface, streaming."""

    def __init__(self, connection: Connection) -> None:
        self._connector = Connector(connection, _client)

    async def stream(self, request: Request, profile: ModelProfile) -> AsyncGenerator[Event]:
        chat, blanks = as_chat(request, profile)
        chat, more = without_last_blanks(chat)
        body = body_of(chat, profile)
        client, key = self._connector.client()
        call = SdkCall(
            provider=_NAME,
            choices=1,
            key=key,
            describe=lambda error: _described(error, key),
            read_timeout=request.parameters.timeout,
            blanks=blanks or more,
        )
        streamed = stream_call(call, lambda: _events(client, body, request.parameters.timeout))
        async with aclosing(streamed) as events:
            async for event in events:
                yield event

    async def models(self) -> Sequence[ModelInfo]:
        client, key = self._connector.client()
        return await list_models(_NAME, key, self._rows(client), lambda error: _described(error, key))

    async def _rows(self, client: anthropic.AsyncAnthropic) -> AsyncGenerator[ModelInfo]:
        async for row in client.models.list(limit=1_000):
            if row.lifecycle != "retired":
                yield _info(row)

    async def close(self) -> None:
        await self._connector.close()
