"""`anthropic:` on Anthropic's own SDK, which is imported when it is used."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from weft.providers.base import ModelInfo, Profile, Request
from weft.providers.checking import check_request
from weft.providers.connection import Connection
from weft.providers.endpoint import Endpoint
from weft.providers.events import Event
from weft.providers.profiles import anthropic_profile

if TYPE_CHECKING:
    from weft.providers.anthropic_client import Client

__all__ = ["Anthropic", "make"]

ENDPOINT = Endpoint("https://api.anthropic.com")


class Anthropic:
    """Claude."""

    name = "anthropic"

    def __init__(self, connection: Connection | None = None) -> None:
        self._connection = connection or Connection(endpoint=ENDPOINT, key_name=self.name)
        self._made: Client | None = None

    def _client(self) -> "Client":
        if self._made is None:
            from weft.providers.anthropic_client import Client  # noqa: PLC0415 - an SDK takes long to import

            self._made = Client(self._connection)
        return self._made

    def profile(self, model: str) -> Profile:
        return anthropic_profile(model)

    async def stream(self, request: Request) -> AsyncGenerator[Event]:
        profile = self.profile(request.model)
        check_request(self.name, request, profile)
        async with aclosing(self._client().stream(request, profile)) as events:
            async for event in events:
                yield event

    async def models(self) -> Sequence[ModelInfo]:
        return await self._client().models()

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


def make() -> Anthropic:
    return Anthropic()
