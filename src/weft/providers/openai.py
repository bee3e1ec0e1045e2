"""`openai:` on OpenAI's own SDK: Responses, Chat and the legacy Completions, whichever a model speaks.

The SDK is imported when it is used.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from weft.providers.base import ModelInfo, ModelName, Profile, Request
from weft.providers.checking import check_request
from weft.providers.connection import Connection
from weft.providers.continuing import as_chat
from weft.providers.endpoint import Endpoint
from weft.providers.events import Event
from weft.providers.keys import ADDRESSES
from weft.providers.openai_chat import chat_body
from weft.providers.openai_completions import completion_body
from weft.providers.openai_responses import response_body
from weft.providers.profiles import OpenAIWay, openai_profile, openai_way
from weft.tree.json import JsonValue

if TYPE_CHECKING:
    from weft.providers.openai_client import Client

__all__ = ["OpenAI", "make"]

ENDPOINT = Endpoint(ADDRESSES["openai"])


class OpenAI:
    """OpenAI's models."""

    name = "openai"
    composes = True

    def __init__(self, connection: Connection | None = None) -> None:
        self._connection = connection or Connection(endpoint=ENDPOINT, key_name=self.name)
        self._made: Client | None = None

    def _client(self) -> "Client":
        if self._made is None:
            from weft.providers.openai_client import Client  # noqa: PLC0415 - an SDK takes long to import

            self._made = Client(self.name, self._connection)
        return self._made

    def profile(self, model: str) -> Profile:
        return openai_profile(model)

    async def stream(self, request: Request) -> AsyncGenerator[Event]:
        profile, way = self.profile(request.model), openai_way(request.model)
        check_request(self.name, request, profile)
        chat, blanks = (request, "") if way is OpenAIWay.COMPLETIONS else as_chat(request, profile)
        client = self._client()
        from weft.providers.openai_client import Question  # noqa: PLC0415 - imported by now

        asked = request.parameters
        question = Question(
            way=way, body=_body(chat, profile, way), choices=asked.n, blanks=blanks, silence=asked.timeout
        )
        async with aclosing(client.stream(question)) as events:
            async for event in events:
                yield event

    async def models(self) -> Sequence[ModelInfo]:
        return await self._client().models(self._info)

    def _info(self, model: str, _: Mapping[str, object]) -> ModelInfo:
        return ModelInfo(name=ModelName(self.name, model), title=model, profile=self.profile(model))

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


def _body(request: Request, profile: Profile, way: OpenAIWay) -> Mapping[str, JsonValue]:
    match way:
        case OpenAIWay.CHAT:
            return chat_body(request, profile)
        case OpenAIWay.RESPONSES:
            return response_body(request)
        case OpenAIWay.COMPLETIONS:
            return completion_body(request, profile)


def make() -> OpenAI:
    return OpenAI()
