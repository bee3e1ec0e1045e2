"""Carrying out commands for clients: one run for each of them in each tree, as long as it is used."""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import anyio
import anyio.from_thread
from sqlalchemy import select

from weft.commands.actions import Command, ContinueCommand
from weft.commands.reply import Result
from weft.error_hints import Face
from weft.errors import WeftError
from weft.grove.grove import Grove
from weft.runtime.collaboration.commands.session import CommandSession, session_for
from weft.runtime.generation.stream import GenerationEvent, NodeCompleted, TextChunk
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import agent_row, tree_for
from weft.store import schema
from weft.tree.agent import Agent, Permission

MOST_SESSIONS = 64
_MOST_RESULTS = 200
_MOST_CHARACTERS = 5_000_000
"""Of the results of one run: then another begins, so that memory stays bounded."""

R = TypeVar("R")


class InThread(Protocol):
    async def __call__(self, work: Callable[[], R]) -> R: ...


class Progress(Protocol):
    def __call__(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> Awaitable[None]: ...


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The result of a command, and the cursor of its agent afterwards."""

    result: Result
    tree: str
    at: str | None
    numbered: bool
    """Whether the result can be asked for again by its number."""


@dataclass(slots=True)
class _ClientSession:
    session: CommandSession
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def is_full(self) -> bool:
        results = self.session.results
        characters = sum(len(each.text) + len(each.command) for each in results)
        return len(results) >= _MOST_RESULTS or characters > _MOST_CHARACTERS


class CommandSessions:
    """Runs under way, by who acts in which tree; what has not been used for longest goes first."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[object, str], _ClientSession] = OrderedDict()
        self._finding = threading.Lock()

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, grove: Grove, tree: str) -> _ClientSession:
        """Blocking. A run asks for its rights with every command, so it may be kept."""
        key = (grove.read.actor, tree)
        with self._finding:
            client = self._sessions.get(key)
            if client is None or client.is_full:
                client = _ClientSession(session_for(grove.caller, tree, face=Face.AGENT))
            self._sessions[key] = client
            self._sessions.move_to_end(key)
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
            return client


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """One call of a tool: for whom, and what it may use."""

    grove: Grove
    sessions: CommandSessions
    in_thread: InThread
    progress: Progress
    offered: Collection[str]
    """Names of the tools that the connection has."""


async def run_command(caller: ToolCaller, tree: str, command: Command) -> CommandReply:
    """Do what a command asks for, as a value; errors are in the result."""
    grove = caller.grove
    tree_id = await caller.in_thread(lambda: _tree_id(grove, tree))
    if isinstance(command.action, ContinueCommand):
        return await _generate(caller, tree_id, command, command.action.n)
    client = await caller.in_thread(lambda: caller.sessions.find(grove, tree_id))
    async with client.lock:
        return await caller.in_thread(lambda: _done(client.session, command, numbered=True))


async def _generate(caller: ToolCaller, tree: str, command: Command, n: int) -> CommandReply:
    """In a run of its own, so that it blocks no other call; if cancelled it stops, and what came is kept."""
    session = await caller.in_thread(lambda: session_for(caller.grove.caller, tree, face=Face.AGENT))
    progress = _Progress(n)
    session.on_event = progress.take
    ended: list[CommandReply | WeftError] = []
    with contextlib.closing(progress):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch, session, progress, caller.progress)
            try:
                ended.append(await caller.in_thread(lambda: _done(session, command, numbered=False)))
            except WeftError as error:
                # Not raised in here: it would come out as a group of one.
                ended.append(error)
            tasks.cancel_scope.cancel()
    if isinstance(ended[0], WeftError):
        raise ended[0]
    return ended[0]


async def _watch(session: CommandSession, progress: "_Progress", report: Progress) -> None:
    """Report progress; stop the generation if the client cancels."""
    try:
        async for each in progress.reports:
            await report(*each)
    finally:
        session.stop()


class _Progress:
    """The progress of a generation; a report that was not sent yet is replaced by the next."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._characters = 0
        self._nodes: list[str] = []
        self._send, self.reports = anyio.create_memory_object_stream[tuple[float, None, str]](1)

    def take(self, event: GenerationEvent) -> None:
        """In the thread that waits for the generation."""
        if isinstance(event, TextChunk):
            self._characters += len(event.text)
        elif isinstance(event, NodeCompleted):
            self._nodes.append(f"[{event.node.local_id}]")
            self._characters += 1
        else:
            return
        anyio.from_thread.run_sync(self._report)

    def _report(self) -> None:
        ready = f"{len(self._nodes)} of {self._n} there"
        message = " · ".join([ready, *self._nodes, f"{self._characters:,} characters"])
        with contextlib.suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._send.send_nowait((float(self._characters), None, message))

    def close(self) -> None:
        self._send.close()
        self.reports.close()


def _done(session: CommandSession, command: Command, *, numbered: bool) -> CommandReply:
    result = session.perform(command)
    looks = result.ok and Permission.LOOM_AWARE in session.permissions
    at = session.see.row(session.tree_id, None).local_id if looks else None
    return CommandReply(result, session.tree_id, at, numbered)


def _tree_id(grove: Grove, reference: str) -> str:
    """Which tree is meant, of those that may be read."""
    with grove.read.store.read() as session:
        key = schema.trees.c.key == tree_for(session, grove.read.actor, reference)
        return session.execute(select(schema.trees.c.ulid).where(key)).scalar_one()


def agent_of(grove: Grove) -> Agent:
    """The agent that acts through a grove; needs no permission."""
    with grove.read.store.read() as session:
        return agent_value(agent_row(session, grove.read.actor.agent))
