"""Connections to one endpoint: made when they are needed, one set for each event loop."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import httpx2

from weft.providers.capture import CaptureTransport
from weft.providers.connection import SILENCE, Connection
from weft.providers.endpoint import Endpoint
from weft.providers.secret import Secret

__all__ = ["Connector", "timeouts"]

_CONNECT = 15.0
C = TypeVar("C")


def timeouts(silence: float | None) -> httpx2.Timeout:
    return httpx2.Timeout(connect=_CONNECT, read=silence or SILENCE, write=60.0, pool=60.0)


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
        loop = asyncio.get_running_loop()
        key = self.connection.key()
        value = "" if key is None else key.reveal()
        kept = self._kept.get(loop)
        if kept is None or kept.key != value:
            given = self.connection
            transport = CaptureTransport(
                given.endpoint, key, limits=given.limits, resolver=given.resolver, tls=given.tls
            )
            http = httpx2.AsyncClient(
                transport=transport, trust_env=False, follow_redirects=False, timeout=timeouts(None)
            )
            kept = self._kept[loop] = _Kept(self._make(http, given.endpoint, key), http, value)
        return kept.client, key

    async def close(self) -> None:
        """Close the connections of the running loop."""
        kept = self._kept.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept.http.aclose()
