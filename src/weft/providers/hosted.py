"""A provider behind its own SDK, which takes long to import and so is made when it is first asked."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import ClassVar, Protocol

from weft.providers.base import ModelInfo, Profile, Request
from weft.providers.checking import check_request
from weft.providers.connection import Connection
from weft.providers.endpoint import Endpoint
from weft.providers.events import Event

__all__ = ["Hosted", "SdkClient"]


class SdkClient(Protocol):
    def stream(self, request: Request, profile: Profile) -> AsyncGenerator[Event]: ...
    async def models(self) -> Sequence[ModelInfo]: ...
    async def close(self) -> None: ...


class Hosted(ABC):
    """Says who it is and how its client is made; the rest is the same for all."""

    name: str
    endpoint: ClassVar[Endpoint]
    composes = True

    def __init__(self, connection: Connection | None = None) -> None:
        self._connection = connection or Connection(endpoint=self.endpoint, key_name=self.name)
        self._made: SdkClient | None = None

    @abstractmethod
    def profile(self, model: str) -> Profile: ...

    @abstractmethod
    def _make_client(self, connection: Connection) -> SdkClient: ...

    def _client(self) -> SdkClient:
        if self._made is None:
            self._made = self._make_client(self._connection)
        return self._made

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
