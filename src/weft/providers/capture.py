"""One HTTP transport under all SDKs: it records the wire bytes, and connects to its own endpoint only.

The SDK runs in its own task. Wire events and the SDK's events meet in one queue, so that a reader gets
the bytes before what was parsed from them, also of a call that failed.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, suppress
from contextvars import ContextVar
from functools import lru_cache
from typing import TypeAlias, cast
from weakref import WeakSet

import httpcore2
import httpx2

from weft.errors import ProviderError, Trouble
from weft.providers.adapter import ResponseLimits, is_dry_run
from weft.providers.endpoint import Endpoint, Resolver, check_name, checked_addresses, resolve
from weft.providers.events import Event, WireBytes, WireHead, WireRequest, cut_body
from weft.providers.keys import Secret
from weft.providers.redaction import KeyRedactor, redact_key

_Item: TypeAlias = "Event | Exception | None"
_TAPE: ContextVar["_Tape | None"] = ContextVar("tape", default=None)
_AHEAD = 64
"""Events that may wait to be read; the connection waits when there are more."""
_SECRET_HEADERS = frozenset(
    {b"authorization", b"proxy-authorization", b"x-api-key", b"x-goog-api-key", b"api-key", b"cookie"}
)
_REDACTED = b"[redacted]"


class _KeyFilter(logging.Filter):
    """Keeps keys out of the connection's own log, which has every header of a response."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: WeakSet[Secret] = WeakSet()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        for key in list(self.keys):
            message = redact_key(message, key.reveal())
        record.msg, record.args = message, ()
        return True


_KEY_FILTER = _KeyFilter()
logging.getLogger("httpcore2.http11").addFilter(_KEY_FILTER)


class _Tape:
    """The events of one call on their way to its reader, and its open response bodies."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[_Item] = asyncio.Queue(_AHEAD)
        self.bodies: list[_Body] = []

    async def put(self, item: _Item) -> None:
        await self.events.put(item)

    async def close(self) -> None:
        """Close the bodies that an SDK left open when it failed."""
        for body in self.bodies:
            await body.aclose()


class _Backend(httpcore2.AsyncNetworkBackend):
    """Resolves the endpoint's name once, and connects to those addresses only.

    The name stays in the Host header and in the TLS handshake.
    """

    def __init__(self, endpoint: Endpoint, resolver: Resolver) -> None:
        self._endpoint = endpoint
        self._resolver = resolver
        self._inner = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())
        self._pinned: tuple[str, ...] | None = None
        self._resolving = asyncio.Lock()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the name and place that httpcore gives it
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._addresses()
        for left, address in zip(range(len(addresses) - 1, -1, -1), addresses, strict=True):
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if not left:
                    # A service may have moved: the next call resolves and checks the name again.
                    self._pinned = None
                    raise
        raise httpcore2.ConnectError(f"{host} has no address")

    async def _addresses(self) -> tuple[str, ...]:
        async with self._resolving:
            if self._pinned is None:
                self._pinned = checked_addresses(self._endpoint, await self._resolve())
            return self._pinned

    async def _resolve(self) -> list[str]:
        if (literal := self._endpoint.literal) is not None:
            return [str(literal)]
        check_name(self._endpoint)
        try:
            return list(await self._resolver(self._endpoint.host, self._endpoint.port))
        except OSError as error:
            raise httpcore2.ConnectError(f"cannot resolve {self._endpoint.host}: {error}") from error

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class CaptureTransport(httpx2.AsyncBaseTransport):
    """A transport to one endpoint. It refuses other hosts, follows no redirect, and records the bytes.

    `redirects`: a redirect is an answer like any other, and no error.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        key: Secret | None = None,
        *,
        limits: ResponseLimits | None = None,
        resolver: Resolver = resolve,
        tls: ssl.SSLContext | None = None,
        redirects: bool = False,
    ) -> None:
        self._endpoint = endpoint
        self._redirects = redirects
        self._key = key
        if key is not None:
            _KEY_FILTER.keys.add(key)
        self._limits = limits or ResponseLimits()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or (_usual_tls() if endpoint.scheme == "https" else None),
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=15,
            network_backend=_Backend(endpoint, resolver),
        )

    def __repr__(self) -> str:
        return f"<CaptureTransport to {self._endpoint.host}>"

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._require_own_host(request.url)
        # Bytes are recorded as received, and a key could not be replaced in compressed ones.
        request.headers["Accept-Encoding"] = "identity"
        self._drop_foreign_keys(request)
        body = await request.aread()
        tape = _TAPE.get()
        if tape is not None:
            await tape.put(self._sent(request, body))
        if is_dry_run():
            raise httpx2.ConnectError("dry run: not sent")
        target = httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        with _mapped():
            answer = await self._pool.handle_async_request(
                httpcore2.Request(
                    request.method,
                    target,
                    headers=request.headers.raw,
                    content=body,
                    extensions=request.extensions,
                )
            )
        return await self._answered(answer, tape)

    async def _answered(self, answer: httpcore2.Response, tape: _Tape | None) -> httpx2.Response:
        secret = self._secret
        extensions = dict(cast("dict[str, object]", answer.extensions))
        reason = _redacted(cast("bytes", extensions.get("reason_phrase", b"")), secret)
        # The SDK reads it, and clients log it.
        extensions["reason_phrase"] = reason
        head = WireHead(
            status=answer.status,
            headers=tuple(
                (_redacted(name, secret), _redacted(value, secret)) for name, value in answer.headers
            ),
            reason=reason,
            version=cast("bytes", extensions.get("http_version", b"HTTP/1.1")),
        )
        if tape is not None:
            await tape.put(head)
        if 300 <= answer.status < 400 and not self._redirects:
            await answer.aclose()
            raise ProviderError(
                Trouble.INVALID_REQUEST,
                f"{self._endpoint.host}: redirect not followed",
                hint="set the endpoint to the address of the redirect",
                status=answer.status,
            )
        encoding = (head.header("content-encoding") or "identity").strip().lower()
        if encoding != "identity":
            await answer.aclose()
            raise ProviderError(
                Trouble.UNKNOWN, f"{self._endpoint.host}: unexpected Content-Encoding {encoding!r}"
            )
        stream = _Body(answer, tape, self._limits, secret)
        if tape is not None:
            tape.bodies.append(stream)
        return httpx2.Response(
            status_code=answer.status, headers=head.headers, stream=stream, extensions=extensions
        )

    @property
    def _secret(self) -> str:
        return "" if self._key is None else self._key.reveal()

    def _require_own_host(self, url: httpx2.URL) -> None:
        port = url.port or (443 if url.scheme == "https" else 80)
        if (url.scheme, url.host.rstrip("."), port) != self._endpoint.origin:
            raise ProviderError(
                Trouble.INVALID_REQUEST,
                f"request to {url.netloc.decode()} blocked: this key is for {self._endpoint.authority}",
            )

    def _drop_foreign_keys(self, request: httpx2.Request) -> None:
        """Remove what an SDK took from the environment by itself: this host receives its own key only."""
        secret = self._secret
        for name in (each.decode() for each in _SECRET_HEADERS):
            if name in request.headers and not (secret and secret in request.headers[name]):
                del request.headers[name]

    def _sent(self, request: httpx2.Request, body: bytes) -> WireRequest:
        secret = self._secret
        headers = tuple((name, _kept_header(name, value, secret)) for name, value in request.headers.raw)
        url = redact_key(str(request.url), secret)
        return WireRequest(
            method=request.method, url=url, headers=headers, body=body, segments=cut_body(body)
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


@lru_cache(maxsize=1)
def _usual_tls() -> ssl.SSLContext:
    """Made once: reading all certificate authorities takes time."""
    return httpx2.create_ssl_context(trust_env=False)


class _Body(httpx2.AsyncByteStream):
    """A response's body on its way to the SDK: the SDK reads exactly what is recorded."""

    def __init__(
        self, answer: httpcore2.Response, tape: _Tape | None, limits: ResponseLimits, secret: str
    ) -> None:
        self._answer = answer
        self._tape = tape
        self._limits = limits
        self._secret = secret
        self._reading = self._read()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._reading

    async def _read(self) -> AsyncGenerator[bytes]:
        redactor = KeyRedactor(self._secret)
        received = 0
        raw = cast("AsyncGenerator[bytes]", aiter(cast("AsyncIterator[bytes]", self._answer.stream)))
        failure: httpx2.TransportError | None = None
        try:
            try:
                with _mapped():
                    async for data in raw:
                        received += len(data)
                        self._check_size(received)
                        if freed := redactor.feed(data):
                            await self._keep(freed)
                            yield freed
            except httpx2.TransportError as error:
                # The SDK still reads what was received before the connection broke.
                failure = error
            if held := redactor.flush():
                await self._keep(held)
                yield held
            if failure is not None:
                raise failure
        finally:
            await raw.aclose()
            if self._tape is not None and (held := redactor.flush()):
                with suppress(asyncio.QueueFull):
                    self._tape.events.put_nowait(WireBytes(held))

    def _check_size(self, received: int) -> None:
        limit = self._limits.received
        if received > limit:
            raise ProviderError(Trouble.UNKNOWN, f"the response is longer than {limit:,} bytes")

    async def _keep(self, data: bytes) -> None:
        if self._tape is not None:
            await self._tape.put(WireBytes(data))

    async def aclose(self) -> None:
        await self._reading.aclose()
        await self._answer.aclose()


def _kept_header(name: bytes, value: bytes, secret: str) -> bytes:
    if name.lower() in _SECRET_HEADERS:
        return _REDACTED
    return _redacted(value, secret)


def _redacted(value: bytes, secret: str) -> bytes:
    return redact_key(value.decode("latin-1"), secret).encode("latin-1") if secret else value


class _mapped:  # noqa: N801 - used as a statement
    """Raises httpcore's errors as httpx's, which SDKs expect of a transport."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or not type(error).__module__.startswith("httpcore2"):
            return
        name = type(error).__name__
        mapped = getattr(httpx2, name, httpx2.TransportError)
        raise mapped(str(error)) from error


async def capture_stream(work: AsyncGenerator[Event]) -> AsyncGenerator[Event]:
    """Run an SDK's stream, and yield its events together with its wire events."""
    tape = _Tape()

    async def run() -> None:
        _TAPE.set(tape)
        try:
            async with aclosing(work) as events:
                async for event in events:
                    await tape.put(event)
                    # Else what came in one piece would be read to its end before its first word is passed on.
                    await asyncio.sleep(0)
        except Exception as error:  # noqa: BLE001 - it is raised where the stream is read
            await tape.put(error)
        else:
            await tape.put(None)
        finally:
            await tape.close()

    task = asyncio.create_task(run())
    try:
        while (item := await tape.events.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
