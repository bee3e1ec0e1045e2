"""Sessions with MCP servers: one for each server in a process, kept while it is used, closed when it is idle.

A session that fails, hangs or whose server has ended is given up; the next call starts another. A call is never
sent twice.
"""

import asyncio
import atexit
import contextlib
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.errors import UnavailableError, WeftError
from weft.providers.keys import Secret
from weft.tree.json import JsonValue

if TYPE_CHECKING:
    from mcp import Client

IDLE_SECONDS = 60.0
_START_SECONDS = 30.0
_LOOK_EVERY = 0.5
"""Seconds between two looks whether the server is still there: the client does not tell its calls."""
_LAST_WORDS = 5.0
"""Seconds to learn why a session ended, after a call in it failed."""
_EXIT_SECONDS = 3.0


class OpenClient(NamedTuple):
    """A connected client, and the secrets that its server was given."""

    client: "Client"
    hidden: list[Secret]
    is_gone: Callable[[], bool]
    """Whether the server has ended."""


class McpSession:
    """One connection, held open by a task of its own: what it opens must be closed by the same task."""

    def __init__(
        self, name: str, opened: Callable[[], AbstractAsyncContextManager[OpenClient]], idle: float
    ) -> None:
        self._name = name
        self._opened = opened
        self._idle = idle
        self._pending = 0
        self._changed = asyncio.Event()
        self._closing = False
        self._ready: asyncio.Future[OpenClient] = asyncio.get_running_loop().create_future()
        self._error: WeftError | None = None
        self._task = asyncio.create_task(self._hold())

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], seconds: float
    ) -> tuple[Any, list[Secret]]:
        """The result of a tool; after an error or a timeout the session is closed."""
        self._pending += 1
        self._changed.set()
        try:
            client, hidden, _ = await self._connected()
            work = asyncio.ensure_future(
                client.call_tool(tool, dict(arguments), read_timeout_seconds=seconds)
            )
            try:
                await self._end_of(work, seconds)
                if work.done():
                    return work.result(), hidden
                if self._is_lost:
                    raise UnavailableError(f"{self._name}: ended without an answer")
                raise UnavailableError(f"{self._name}: timed out after {seconds:g} s")
            finally:
                work.cancel()
        except BaseException:
            self.close()
            if not self._task.done():
                await asyncio.wait({self._task}, timeout=_LAST_WORDS)
            if self._error is not None:
                # What ended the session says more than that it has ended.
                raise self._error from None
            raise
        finally:
            self._pending -= 1
            self._changed.set()

    async def _end_of(self, work: "asyncio.Future[Any]", seconds: float) -> None:
        """Wait for a call, for the end of its server, or for the end of its time."""
        end = asyncio.get_running_loop().time() + seconds
        while not work.done() and not self._is_lost:
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                return
            await asyncio.wait(
                {work, self._task}, timeout=min(left, _LOOK_EVERY), return_when=asyncio.FIRST_COMPLETED
            )

    @property
    def _is_lost(self) -> bool:
        if self._task.done():
            return True
        return self._ready.done() and self._ready.exception() is None and self._ready.result().is_gone()

    @property
    def is_over(self) -> bool:
        """Whether another must be started: it was closed, or its server has ended."""
        return self._closing or self._is_lost

    def close(self) -> None:
        """Give it up; calls under way fail."""
        self._closing = True
        self._changed.set()

    async def closed(self) -> None:
        self.close()
        await asyncio.wait({self._task}, timeout=_EXIT_SECONDS)

    async def _connected(self) -> OpenClient:
        async with asyncio.timeout(_START_SECONDS):
            return await asyncio.shield(self._ready)

    async def _hold(self) -> None:
        try:
            async with self._opened() as opened:
                self._ready.set_result(opened)
                await self._used_up()
        except WeftError as error:
            self._error = error
            if not self._ready.done():
                self._ready.set_exception(error)
        finally:
            if not self._ready.done():
                self._ready.cancel()

    async def _used_up(self) -> None:
        while not self._closing:
            self._changed.clear()
            try:
                async with asyncio.timeout(self._idle):
                    await self._changed.wait()
            except TimeoutError:
                if not self._pending:
                    self._closing = True


_sessions: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, McpSession]]" = (
    weakref.WeakKeyDictionary()
)


def session_for(
    key: str, name: str, opened: Callable[[], AbstractAsyncContextManager[OpenClient]]
) -> McpSession:
    """The session of a server, by a key that changes with how the server is started; a new one if it is over."""
    loop = asyncio.get_running_loop()
    sessions = _sessions.setdefault(loop, {})
    for other in [each for each, session in sessions.items() if session.is_over]:
        sessions.pop(other).close()
    if key not in sessions:
        sessions[key] = McpSession(name, opened, IDLE_SECONDS)
    return sessions[key]


async def close_sessions() -> None:
    """Close all sessions of this loop."""
    sessions = _sessions.pop(asyncio.get_running_loop(), {})
    await asyncio.gather(*(session.closed() for session in sessions.values()))


@atexit.register
def _close_at_exit() -> None:
    """Servers that do not end by themselves when their pipe closes are ended."""
    for loop in list(_sessions):
        if loop.is_running():
            with contextlib.suppress(Exception):
                asyncio.run_coroutine_threadsafe(close_sessions(), loop).result(_EXIT_SECONDS)
