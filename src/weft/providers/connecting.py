"""Connections to one endpoint: made when they are needed, one set for each event loop."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import httpx2

from weft.providers.capture import CaptureTransport
from weft.providers.composing import is_composing
from weft.providers.connection import SILENCE, Connection
from weft.providers.endpoint import Endpoint
from weft.providers.secret import Secret

__all__ = ["Connector", "timeouts"]

_CONNECT = 15.0
_NO_KEY = Secret("none")
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
        if is_composing():
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
