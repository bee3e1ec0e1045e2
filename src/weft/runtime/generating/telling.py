"""What a generation tells while it goes on, and the way it reaches whoever listens."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias, TypeVar

from weft.errors import WeftError
from weft.providers.events import TokenChance
from weft.tree.content import ToolCall
from weft.tree.node import Node

__all__ = [
    "Called",
    "Channel",
    "Ended",
    "Failed",
    "GenerationEvent",
    "Retrying",
    "Said",
    "Slot",
    "Started",
    "Thought",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
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
    """Everything is checked and written down; the models are asked now."""

    tree_id: str
    parent_id: str
    slots: tuple[Slot, ...]
    tokens: int
    """Of the largest request, by the estimator."""


@dataclass(frozen=True, slots=True)
class Said:
    """Some more words."""

    slot: int
    text: str
    chances: tuple[TokenChance, ...] = ()


@dataclass(frozen=True, slots=True)
class Thought:
    """Some more thinking."""

    slot: int
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a tool."""

    slot: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Retrying:
    """A try failed before a word was said; the same is asked again after some seconds."""

    slots: tuple[int, ...]
    error: WeftError
    wait: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A continuation is a node now, and durable: complete, or interrupted as far as it came."""

    slot: int
    node: Node


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing more comes of these; what had come of them is a node already."""

    slots: tuple[int, ...]
    error: WeftError


GenerationEvent: TypeAlias = Started | Said | Thought | Called | Retrying | Ended | Failed


E = TypeVar("E")


@dataclass(slots=True)
class Channel(Generic[E]):
    """From the thread that hears models to whoever listens, in order. Words nobody took yet are joined."""

    _waiting: "deque[E | Said]" = field(default_factory=deque["E | Said"])
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _wakers: list[Callable[[], None]] = field(default_factory=list["Callable[[], None]"])
    _closed: bool = False
    _error: BaseException | None = None

    def put(self, event: "E | Said") -> None:
        with self._changed:
            last = self._waiting[-1] if self._waiting else None
            if isinstance(event, Said) and isinstance(last, Said) and last.slot == event.slot:
                joined = replace(last, text=last.text + event.text, chances=last.chances + event.chances)
                self._waiting[-1] = joined
            else:
                self._waiting.append(event)
            self._wake()

    def close(self, error: BaseException | None = None) -> None:
        """Nothing more comes; whoever listens is told why, if something went wrong."""
        with self._changed:
            self._closed, self._error = True, error
            self._wake()

    def _wake(self) -> None:
        self._changed.notify_all()
        wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    def get(self) -> "E | Said | None":
        """The next event, waited for; None at the end."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            return self._take()

    async def get_async(self) -> "E | Said | None":
        """The same in an event loop."""
        loop = asyncio.get_running_loop()
        while True:
            with self._changed:
                if self._waiting or self._closed:
                    return self._take()
                woken = asyncio.Event()
                self._wakers.append(lambda woken=woken: _call_soon(loop, woken))
            await woken.wait()

    def _take(self) -> "E | Said | None":
        if self._waiting:
            return self._waiting.popleft()
        error, self._error = self._error, None
        if error is not None:
            raise error
        return None


def _call_soon(loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(woken.set)
