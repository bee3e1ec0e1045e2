"""Anthropic's own SDK on our transport."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, cast

import anthropic
import httpx2

from weft.errors import ProviderError
from weft.providers.adapter import as_chat
from weft.providers.anthropic.mapping import AnthropicReader, body_of, without_last_blanks
from weft.providers.base import ModelInfo, ModelProfile, Request
from weft.providers.endpoint import Endpoint
from weft.providers.errors import describe_status
from weft.providers.events import Event
from weft.providers.http import EndpointClient, timeouts
from weft.providers.keys import Secret
from weft.tree.json import JsonValue


class AnthropicClient(EndpointClient[anthropic.AsyncAnthropic]):
    """The Messages interface, streaming."""

    def connect(
        self, http: httpx2.AsyncClient, endpoint: Endpoint, key: Secret | None
    ) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(
            api_key=key.reveal() if key else "",
            base_url=endpoint.url,
            max_retries=0,
            http_client=http,
            open_telemetry=False,
        )

    def events(
        self, client: anthropic.AsyncAnthropic, request: Request, profile: ModelProfile
    ) -> tuple[AsyncGenerator[Event], str]:
        chat, blanks = as_chat(request, profile)
        chat, more = without_last_blanks(chat)
        return _events(client, body_of(chat, profile), request.parameters.timeout), blanks or more

    async def rows(self, client: anthropic.AsyncAnthropic) -> AsyncIterator[ModelInfo]:
        async for row in client.models.list(limit=1_000):
            if row.lifecycle == "retired":
                continue
            listed: dict[str, object] = {
                "title": row.display_name,
                "window": row.max_input_tokens or None,
                "output_limit": row.max_tokens or None,
            }
            if row.capabilities:
                listed["images"] = row.capabilities.image_input.supported
            yield self.info(row.id, listed)

    def describe(self, error: Exception, key: Secret | None) -> ProviderError | None:
        if not isinstance(error, anthropic.APIStatusError):
            return None
        return describe_status(
            self.provider,
            error.status_code,
            words=(error.type, error.error_code),
            message=error.api_message or str(error.body or ""),
            headers=error.response.headers,
            key=key,
        )


async def _events(
    client: anthropic.AsyncAnthropic, body: Mapping[str, JsonValue], read_timeout: float | None
) -> AsyncGenerator[Event]:
    named = {name: body[name] for name in ("model", "max_tokens", "messages")}
    rest = {name: value for name, value in body.items() if name not in named}
    stream = await client.messages.create(
        **cast("dict[str, Any]", named), stream=True, extra_body=rest, timeout=timeouts(read_timeout)
    )
    reader, request_id = AnthropicReader(), stream.response.headers.get("request-id")
    try:
        async for chunk in stream:
            for event in reader.read(chunk, request_id):
                yield event
    finally:
        await stream.close()
