"""Events of a generation, and the stream that delivers them to a caller."""

import asyncio
import contextlib
import threading
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

from weft.errors import WeftError
from weft.providers.events import TokenChance
from weft.tree.content import ToolCall
from weft.tree.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSlot:
    """One of the continuations that were asked for."""

    index: int
    """Among all of this generation, from 0."""
    agent: str
    """The agent's name."""
    agent_id: str
    model: str
    """`provider:model`."""
    attempt: str
    """The id of the call that it comes with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Everything is checked and written down; the requests are sent now."""

    run: str
    """The id of the run: its own, or that of the run of several turns that it belongs to."""
    tree_id: str
    parent_id: str
    slots: tuple[StreamSlot, ...]
    tokens: int
    """Of the largest request, by the estimator."""


@dataclass(frozen=True, slots=True)
class TextChunk:
    """More text."""

    slot: int
    text: str
    chances: tuple[TokenChance, ...] = ()


@dataclass(frozen=True, slots=True)
class ThinkingChunk:
    """More thinking."""

    slot: int
    text: str


@dataclass(frozen=True, slots=True)
class ArgumentsChunk:
    """More of the arguments of a tool call that is arriving; the complete call follows."""

    slot: int
    id: str
    """The call's."""
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
    """A complete call of a tool."""

    slot: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Retrying:
    """A try failed before a word was said; the same is asked again after some seconds."""

    slots: tuple[int, ...]
    error: WeftError
    wait: float


@dataclass(frozen=True, slots=True)
class Notice:
    """Something about these that is no error: an optional cache that failed, an answer without text."""

    slots: tuple[int, ...]
    message: str


@dataclass(frozen=True, slots=True)
class NodeCompleted:
    """A continuation is a node now, and durable: complete, or interrupted as far as it came."""

    slot: int
    node: Node


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing more comes of these; what had come of them is a node already."""

    slots: tuple[int, ...]
    error: WeftError


GenerationEvent: TypeAlias = (
    Started
    | TextChunk
    | ThinkingChunk
    | ArgumentsChunk
    | ToolCallChunk
    | Retrying
    | Notice
    | NodeCompleted
    | Failed
)


E = TypeVar("E")
R = TypeVar("R")


@dataclass(slots=True)
class EventChannel(Generic[E]):
    """Carries events from the thread of the models to the reader, in order.

    Text of one slot that a slow reader has not taken yet is joined when it is taken: once, so that a
    long answer costs no more than its length.
    """

    _waiting: "deque[E | TextChunk]" = field(default_factory=deque["E | TextChunk"])
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _wakers: list[Callable[[], None]] = field(default_factory=list["Callable[[], None]"])
    _closed: bool = False
    _discarding: bool = False
    tap: "Callable[[E | TextChunk], None] | None" = None
    """Called with every event before its reader gets it, in the thread that puts it: keep it short."""
    _error: BaseException | None = None

    def put(self, event: "E | TextChunk") -> None:
        if self.tap is not None:
            self.tap(event)
        with self._changed:
            if not self._discarding:
                self._waiting.append(event)
                self._wake()

    def discard(self) -> None:
        """Nobody reads any more: keep nothing of what comes. The run goes on."""
        with self._changed:
            self._discarding = True
            self._waiting.clear()

    def close(self, error: BaseException | None = None) -> None:
        """End the stream; `error` is raised to the reader after the last event."""
        with self._changed:
            self._closed, self._error = True, error
            self._wake()

    def _wake(self) -> None:
        self._changed.notify_all()
        wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    def get(self) -> "E | TextChunk | None":
        """The next event, waited for; None at the end."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            return self._take()

    async def get_async(self) -> "E | TextChunk | None":
        """The same in an event loop."""
        loop = asyncio.get_running_loop()
        while True:
            with self._changed:
                if self._waiting or self._closed:
                    return self._take()
                woken = asyncio.Event()
                self._wakers.append(lambda woken=woken: _call_soon(loop, woken))
            await woken.wait()

    def _take(self) -> "E | TextChunk | None":
        if self._waiting:
            event = self._waiting.popleft()
            return self._joined(event) if isinstance(event, TextChunk) else event
        error, self._error = self._error, None
        if error is not None:
            raise error
        return None

    def _joined(self, first: TextChunk) -> TextChunk:
        chunks = [first]
        while self._waiting:
            following = self._waiting[0]
            if not isinstance(following, TextChunk) or following.slot != first.slot:
                break
            chunks.append(following)
            self._waiting.popleft()
        if len(chunks) == 1:
            return first
        text = "".join(chunk.text for chunk in chunks)
        return TextChunk(first.slot, text, tuple(chain.from_iterable(chunk.chances for chunk in chunks)))


def _call_soon(loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(woken.set)


class _UnderWay(Protocol[E]):
    """What goes on in the background."""

    channel: EventChannel[E]

    def stop(self) -> None: ...


class EventStream(ABC, Generic[E, R]):
    """Iterate it for events; `result` waits for the end.

    Leave its `with` early, or call `stop`, and no more is asked for: what came is kept.
    """

    def __init__(self, under_way: _UnderWay[E]) -> None:
        self._under_way = under_way
        self._over = False
        # A stream that is dropped stops too.
        weakref.finalize(self, under_way.stop).atexit = False

    @abstractmethod
    def _take(self, event: E | TextChunk) -> None:
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

    def __exit__(self, *exception: object) -> None:
        if not self._over:
            self.stop()
            with contextlib.suppress(WeftError):
                for _ in self:
                    pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        if not self._over:
            self.stop()
            with contextlib.suppress(WeftError):
                async for _ in self:
                    pass

    def __iter__(self) -> Iterator[E | TextChunk]:
        while not self._over:
            try:
                event = self._under_way.channel.get()
            except BaseException as error:
                # A reader that is interrupted may go on waiting.
                self._over = not isinstance(error, KeyboardInterrupt)
                raise
            if event is None:
                self._over = True
                return
            self._take(event)
            yield event

    async def __aiter__(self) -> AsyncIterator[E | TextChunk]:
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
