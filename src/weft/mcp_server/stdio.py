"""Speaking with the one program that started us, over its pipes."""

import contextlib
import logging
import os
import sys
import threading
from collections.abc import AsyncGenerator, Generator, Iterator
from typing import IO, cast

import anyio
import anyio.from_thread
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from weft.log import log_to_stderr
from weft.mcp_server.server import McpFace

LONGEST_LINE = 64 * 1024 * 1024
"""Most bytes of one message. A longer one ends the connection."""
_CHUNK = 65_536
_AHEAD = 16
"""Messages that are read before the one in hand has been taken."""
_log = logging.getLogger("weft.mcp")


def serve_stdio(face: McpFace) -> None:
    """Answer until the other side goes away. Only the protocol is on stdout; talk is on stderr."""
    log_to_stderr("weft mcp")
    with _own_pipes() as (incoming, outgoing):
        try:
            anyio.run(_serve, face.server(), incoming, outgoing)
        except* BrokenPipeError:
            # The client closed its end: stop.
            with contextlib.suppress(BrokenPipeError):
                outgoing.close()


async def _serve(server: Server[object], incoming: int, outgoing: IO[str]) -> None:
    lines = cast("anyio.AsyncFile[str]", _Lines(incoming))
    async with stdio_server(lines, anyio.wrap_file(outgoing)) as (read, write):
        await server.run(read, write, server.create_initialization_options())


@contextlib.contextmanager
def _own_pipes() -> Generator[tuple[int, IO[str]]]:
    """The two pipes, for the protocol alone: anything else that is printed goes to stderr."""
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a device
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    writer = os.fdopen(outgoing, "w", encoding="utf-8", closefd=False)
    try:
        yield incoming, writer
    finally:
        with contextlib.suppress(OSError, ValueError):
            writer.flush()
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)


class _Lines:
    """What comes in, line by line. The thread that waits for it does not keep the process alive."""

    def __init__(self, source: int) -> None:
        self._source = source

    async def __aiter__(self) -> AsyncGenerator[str]:
        send, receive = anyio.create_memory_object_stream[str](_AHEAD)
        room = threading.Semaphore(_AHEAD)
        token = anyio.lowlevel.current_token()
        threading.Thread(target=_read, args=(self._source, send, room, token), daemon=True).start()
        async with receive:
            async for line in receive:
                room.release()
                yield line


def _read(
    source: int,
    send: MemoryObjectSendStream[str],
    room: threading.Semaphore,
    token: anyio.lowlevel.EventLoopToken,
) -> None:
    """In its own thread, until there is no more, or the reader is closed.

    What it hands over are plain calls, never coroutines: a loop that ends meanwhile can forget a call
    without a word, but complains on stderr about a coroutine that was never awaited.
    """
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.RunFinishedError):
        for line in _lines_of(source):
            room.acquire()
            anyio.from_thread.run_sync(send.send_nowait, line.decode("utf-8", "replace"), token=token)
        anyio.from_thread.run_sync(send.close, token=token)


def _lines_of(source: int) -> Iterator[bytes]:
    begun = bytearray()
    while True:
        try:
            chunk = os.read(source, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            return
        begun += chunk
        if b"\n" in chunk:
            *whole, rest = begun.split(b"\n")
            begun = bytearray(rest)
            yield from (bytes(line) for line in whole if line.strip())
        elif len(begun) > LONGEST_LINE:
            _log.error("a message of more than %s bytes: the connection is closed", f"{LONGEST_LINE:,}")
            return
