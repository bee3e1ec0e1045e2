"""SDKs over HTTP: their clients, one for each event loop, and their streams with our errors."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import httpx2

from weft.errors import ProviderError, Trouble, WeftError
from weft.providers.adapter import READ_TIMEOUT, Connection, Seam, is_dry_run
from weft.providers.base import ModelInfo
from weft.providers.capture import CaptureTransport, capture_stream
from weft.providers.endpoint import Endpoint
from weft.providers.errors import find_own, from_connection
from weft.providers.events import ChoiceFinished, Event, TextDelta
from weft.providers.keys import Secret

_CONNECT = 15.0
_NO_KEY = Secret("none")
C = TypeVar("C")


def timeouts(read: float | None) -> httpx2.Timeout:
    return httpx2.Timeout(connect=_CONNECT, read=read or READ_TIMEOUT, write=60.0, pool=60.0)


@dataclass(slots=True)
class _Kept(Generic[C]):
    client: C
    http: httpx2.AsyncClient
    key: str = field(repr=False)


class Connector(Generic[C]):
    """Keeps an SDK's client for each event loop, and makes a new one when the key has changed."""

    def __init__(
        self, connection: Connection, make: Callable[[httpx2.AsyncClient, Endpoint, Secret | None], C]
    ) -> None:
        self.connection = connection
        self._make = make
        self._kept: WeakKeyDictionary[asyncio.AbstractEventLoop, _Kept[C]] = WeakKeyDictionary()

    def client(self) -> tuple[C, Secret | None]:
        """The SDK's client for the running loop, and the key it uses."""
        if is_dry_run():
            # Nothing is sent: a key has no use, and what is made without one is not kept.
            return self._made(_NO_KEY).client, _NO_KEY
        loop = asyncio.get_running_loop()
        key = self.connection.key()
        kept = self._kept.get(loop)
        if kept is None or kept.key != _value(key):
            kept = self._kept[loop] = self._made(key)
        return kept.client, key

    def _made(self, key: Secret | None) -> _Kept[C]:
        given = self.connection
        transport = CaptureTransport(
            given.endpoint, key, limits=given.limits, resolver=given.resolver, tls=given.tls
        )
        http = httpx2.AsyncClient(
            transport=transport, trust_env=False, follow_redirects=False, timeout=timeouts(None)
        )
        return _Kept(self._make(http, given.endpoint, key), http, _value(key))

    async def close(self) -> None:
        """Close the connections of the running loop."""
        kept = self._kept.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept.http.aclose()


def _value(key: Secret | None) -> str:
    return "" if key is None else key.reveal()


_MODELS = 10_000
"""A list of models is cut there: no provider has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkCall:
    """One call of an SDK: provider, choices, key, and the mapping of the SDK's errors."""

    provider: str
    choices: int
    key: Secret | None
    describe: Callable[[Exception], ProviderError | None]
    read_timeout: float | None = None
    blanks: str = ""
    """The blanks at the end of a continued document, which its continuation may repeat."""


async def stream_call(call: SdkCall, work: Callable[[], AsyncGenerator[Event]]) -> AsyncGenerator[Event]:
    """Run an SDK's stream: its events and wire events, its errors mapped; a choice without an end is an error."""
    unfinished = set(range(call.choices))
    seams = [Seam(call.blanks) for _ in range(call.choices)]
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
        failure = find_own(error) or call.describe(error)
        failure = failure or from_connection(
            call.provider, error, key=call.key, read_timeout=call.read_timeout or READ_TIMEOUT
        )
    if failure is not None and (unfinished or not _is_cut(failure)):
        # Raised out here, because the SDK's error holds the request, and with it the key.
        raise failure
    if unfinished:
        raise ProviderError(Trouble.NETWORK, f"{call.provider}: the stream ended without a stop reason")


def _is_cut(failure: WeftError) -> bool:
    """True if a connection was lost, which does no harm once every choice is complete."""
    return isinstance(failure, ProviderError) and failure.trouble in {Trouble.NETWORK, Trouble.TIMEOUT}


async def list_models(
    provider: str,
    key: Secret | None,
    rows: AsyncIterator[ModelInfo],
    describe: Callable[[Exception], ProviderError | None],
) -> list[ModelInfo]:
    """A provider's list of models, at most 10,000, its errors mapped."""
    models: list[ModelInfo] = []
    failure: WeftError | None = None
    try:
        async for row in rows:
            models.append(row)
            if len(models) >= _MODELS:
                break
    except Exception as error:  # noqa: BLE001 - as above
        failure = (
            find_own(error)
            or describe(error)
            or from_connection(provider, error, key=key, read_timeout=READ_TIMEOUT)
        )
    if failure is not None:
        raise failure
    return models


def _joined(event: Event, seams: list[Seam]) -> Event | None:
    if not isinstance(event, TextDelta) or event.choice >= len(seams):
        return event
    text = seams[event.choice].join(event.text)
    if text == event.text:
        return event
    return TextDelta(text, event.choice, event.chances) if text else None
