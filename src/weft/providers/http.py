"""SDKs over HTTP: their clients, one for each event loop, and their streams with our errors."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import httpx2

from weft.errors import ProviderError, Trouble, WeftError
from weft.providers.adapter import READ_TIMEOUT, Connection, Seam, is_dry_run
from weft.providers.base import ModelInfo, ModelProfile, Request
from weft.providers.capture import CaptureTransport, capture_stream
from weft.providers.endpoint import Endpoint
from weft.providers.errors import find_own, from_connection
from weft.providers.events import ChoiceFinished, Event, TextDelta
from weft.providers.keys import Secret

_CONNECT = 15.0
_MODELS = 10_000
"""A list of models is cut there: no provider has more."""
_NO_KEY = Secret("none")
C = TypeVar("C")


def timeouts(read: float | None) -> httpx2.Timeout:
    return httpx2.Timeout(connect=_CONNECT, read=read or READ_TIMEOUT, write=60.0, pool=60.0)


def http_client(given: Connection, key: Secret | None, read: float | None = None) -> httpx2.AsyncClient:
    """A client that reaches this endpoint only, and records the bytes."""
    transport = CaptureTransport(
        given.endpoint, key, limits=given.limits, resolver=given.resolver, tls=given.tls
    )
    return httpx2.AsyncClient(
        transport=transport, trust_env=False, follow_redirects=False, timeout=timeouts(read)
    )


@dataclass(slots=True)
class _Connected(Generic[C]):
    client: C
    http: httpx2.AsyncClient
    key: str = field(repr=False)


class EndpointClient(ABC, Generic[C]):
    """One endpoint over its SDK, whose client is made for each event loop, and again for another key."""

    def __init__(
        self, provider: str, connection: Connection, info: Callable[[str, Mapping[str, object]], ModelInfo]
    ) -> None:
        """`info` makes the facts of a model from its name and its row in the provider's list."""
        self.provider = provider
        self.info = info
        self._connection = connection
        self._connected: WeakKeyDictionary[asyncio.AbstractEventLoop, _Connected[C]] = WeakKeyDictionary()

    @abstractmethod
    def connect(self, http: httpx2.AsyncClient, endpoint: Endpoint, key: Secret | None) -> C:
        """The SDK's client on our transport."""

    @abstractmethod
    def events(self, client: C, request: Request, profile: ModelProfile) -> tuple[AsyncGenerator[Event], str]:
        """What the SDK streams, and the blanks of a continued document that its continuation may repeat."""

    @abstractmethod
    def rows(self, client: C) -> AsyncIterator[ModelInfo]:
        """The provider's own list of models."""

    @abstractmethod
    def describe(self, error: Exception, key: Secret | None) -> ProviderError | None:
        """The SDK's error as ours; None if it is not the SDK's."""

    async def stream(self, request: Request, profile: ModelProfile) -> AsyncGenerator[Event]:
        """The SDK's events and its wire events, errors mapped; a choice without an end is an error."""
        client, key = self._client()
        choices, read_timeout = request.parameters.n, request.parameters.timeout
        work, blanks = self.events(client, request, profile)
        unfinished = set(range(choices))
        seams = [Seam(blanks) for _ in range(choices)]
        failure: WeftError | None = None
        try:
            async with aclosing(capture_stream(work)) as events:
                async for event in events:
                    if isinstance(event, ChoiceFinished):
                        unfinished.discard(event.choice)
                    joined = _joined(event, seams)
                    if joined is not None:
                        yield joined
        except Exception as error:  # noqa: BLE001 - every error of an SDK is mapped
            failure = self._failure(error, key, read_timeout)
        if failure is not None and (unfinished or not _is_cut(failure)):
            # Raised out here, because the SDK's error holds the request, and with it the key.
            raise failure
        if unfinished:
            raise ProviderError(Trouble.NETWORK, f"{self.provider}: the stream ended without a stop reason")

    async def models(self) -> list[ModelInfo]:
        """The provider's list, at most 10,000, its errors mapped."""
        client, key = self._client()
        models: list[ModelInfo] = []
        failure: WeftError | None = None
        try:
            async for row in self.rows(client):
                models.append(row)
                if len(models) >= _MODELS:
                    break
        except Exception as error:  # noqa: BLE001 - as above
            failure = self._failure(error, key, None)
        if failure is not None:
            raise failure
        return models

    async def close(self) -> None:
        """Close the connections of the running loop."""
        connected = self._connected.pop(asyncio.get_running_loop(), None)
        if connected is not None:
            await connected.http.aclose()

    def _client(self) -> tuple[C, Secret | None]:
        """The SDK's client for the running loop, and the key it uses."""
        if is_dry_run():
            # Nothing is sent: a key has no use, and a client without one is not reused.
            return self._connect(_NO_KEY).client, _NO_KEY
        loop = asyncio.get_running_loop()
        key = self._connection.key()
        connected = self._connected.get(loop)
        if connected is None or connected.key != _value(key):
            connected = self._connected[loop] = self._connect(key)
        return connected.client, key

    def _connect(self, key: Secret | None) -> _Connected[C]:
        http = http_client(self._connection, key)
        return _Connected(self.connect(http, self._connection.endpoint, key), http, _value(key))

    def _failure(self, error: Exception, key: Secret | None, read_timeout: float | None) -> WeftError:
        known = find_own(error) or self.describe(error, key)
        return known or from_connection(
            self.provider, error, key=key, read_timeout=read_timeout or READ_TIMEOUT
        )


def _value(key: Secret | None) -> str:
    return "" if key is None else key.reveal()


def _is_cut(failure: WeftError) -> bool:
    """True if a connection was lost, which does no harm once every choice is complete."""
    return isinstance(failure, ProviderError) and failure.trouble in {Trouble.NETWORK, Trouble.TIMEOUT}


def _joined(event: Event, seams: list[Seam]) -> Event | None:
    if not isinstance(event, TextDelta) or event.choice >= len(seams):
        return event
    text = seams[event.choice].join(event.text)
    return replace(event, text=text) if text else None
