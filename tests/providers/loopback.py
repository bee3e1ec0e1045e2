"""A server on this machine that says exactly the bytes a test wants, and keeps exactly those it heard."""

import asyncio
import contextlib
import ssl
import threading
import zlib
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Self

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
Saying = Callable[["Heard", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Heard:
    """One request as it came in."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    head: bytes = b""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass
class Loopback:
    """Answers each request with the next of its answers; the last one goes on answering."""

    answers: list[Saying]
    tls: ssl.SSLContext | None = None
    heard: list[Heard] = field(default_factory=list)
    said: list[bytes] = field(default_factory=list)
    """Every response as it was sent: head, and body without the framing of chunks."""
    names: list[str | None] = field(default_factory=list)
    """What TLS clients called the server."""
    url: str = ""

    async def __aenter__(self) -> Self:
        if self.tls is not None:
            self.tls.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (heard := await _hear(reader)) is not None:
                self.heard.append(heard)
                number = min(len(self.heard), len(self.answers)) - 1
                kept = _Keeping(writer)
                try:
                    await self.answers[number](heard, kept)
                finally:
                    self.said.append(bytes(kept.said))
                if kept.is_closing():
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@contextlib.contextmanager
def serving(*sayings: Saying) -> Generator[Loopback]:
    """A server in a thread of its own, for callers that wait."""
    server, ready, over = Loopback(list(sayings)), threading.Event(), threading.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        over.set()
        thread.join()


class _Keeping:
    """A writer that remembers what a client is meant to read."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.said = bytearray()
        self.drain, self.close, self.is_closing = writer.drain, writer.close, writer.is_closing
        self.transport = writer.transport

    def write(self, data: bytes) -> None:
        self.said += data
        self._writer.write(data)

    def write_chunk(self, data: bytes) -> None:
        self.said += data
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))

    def end_chunks(self) -> None:
        self._writer.write(b"0\r\n\r\n")


async def _hear(reader: asyncio.StreamReader) -> Heard | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    line, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = line.split(" ")
    headers = tuple((name, value.strip()) for name, _, value in (each.partition(":") for each in lines))
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Heard(method, target, headers, await reader.readexactly(length), head)


def _head(status: int, headers: dict[str, str], reason: str | None = None) -> bytes:
    said = reason or REASONS.get(status, "Error")
    lines = [f"HTTP/1.1 {status} {said}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def plain(status: int, body: bytes, *, reason: str | None = None, **headers: str) -> Saying:
    """A whole answer with its length."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def say(heard: Heard, writer) -> None:
        told = {"content-type": "application/json", **named, "content-length": str(len(body))}
        writer.write(_head(status, told, reason) + body)
        await writer.drain()

    return say


def streamed(
    *pieces: bytes, cut: bool = False, gate: Any = None, packed: bool = False, **headers: str
) -> Saying:
    """A streamed answer, chunk by chunk; cut: the connection ends without the last chunk."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def say(heard: Heard, writer) -> None:
        told = {"content-type": "text/event-stream", **named, "transfer-encoding": "chunked"}
        pack = zlib.compressobj(wbits=31) if packed else None
        if packed:
            told["content-encoding"] = "gzip"
        writer.write(_head(200, told))
        for piece in pieces:
            if gate is not None:
                await writer.drain()
                await gate.go_through()
            data = pack.compress(piece) + pack.flush(zlib.Z_SYNC_FLUSH) if pack else piece
            writer.write_chunk(data)
        if cut:
            await writer.drain()
            writer.close()
            return
        if pack and (rest := pack.flush()):
            writer.write_chunk(rest)
        writer.end_chunks()
        await writer.drain()

    return say


def silent() -> Saying:
    """Says nothing, and waits until the client is gone."""

    async def say(heard: Heard, writer) -> None:
        await asyncio.Event().wait()

    return say


def gone() -> Saying:
    """Closes the connection without a word."""

    async def say(heard: Heard, writer) -> None:
        writer.close()

    return say
