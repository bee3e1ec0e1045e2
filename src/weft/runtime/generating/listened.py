"""Something a model does, as whoever asked for it hears it: by events, plainly or in an event loop."""

import contextlib
import weakref
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from weft.errors import WeftError
from weft.runtime.generating.telling import Channel, Said

__all__ = ["Listened"]

E = TypeVar("E")
R = TypeVar("R")


class _UnderWay(Protocol[E]):
    """What goes on in the background."""

    channel: Channel[E]

    def stop(self) -> None: ...


class Listened(ABC, Generic[E, R]):
    """Iterate it for events; `result` waits for the end.

    Leave its `with` early, or call `stop`, and no more is asked for: what came is kept.
    """

    def __init__(self, under_way: _UnderWay[E]) -> None:
        self._under_way = under_way
        self._over = False
        # Whoever drops it without a word does not listen any more either.
        weakref.finalize(self, under_way.stop).atexit = False

    @abstractmethod
    def _take(self, event: E | Said) -> None:
        """Note what an event tells, before it is passed on."""

    @abstractmethod
    def _result(self) -> R:
        """What it came to, now that it is over."""

    def stop(self) -> None:
        """No more, please. The events that are still to come tell what was kept."""
        self._under_way.stop()

    def result(self) -> R:
        """Wait for the end. Raises the error, if nothing came of it."""
        for _ in self:
            pass
        return self._result()

    async def result_async(self) -> R:
        """The same in an event loop."""
        async for _ in self:
            pass
        return self._result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._over:
            self.stop()
            with contextlib.suppress(WeftError):
                for _ in self:
                    pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._over:
            self.stop()
            with contextlib.suppress(WeftError):
                async for _ in self:
                    pass

    def __iter__(self) -> Iterator[E | Said]:
        while not self._over:
            try:
                event = self._under_way.channel.get()
            except BaseException as error:
                # Somebody who is interrupted while waiting may go on waiting.
                self._over = not isinstance(error, KeyboardInterrupt)
                raise
            if event is None:
                self._over = True
                return
            self._take(event)
            yield event

    async def __aiter__(self) -> AsyncIterator[E | Said]:
        while not self._over:
            try:
                event = await self._under_way.channel.get_async()
            except WeftError:
                self._over = True
                raise
            if event is None:
                self._over = True
                return
            self._take(event)
            yield event
