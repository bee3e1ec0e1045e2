"""A scripted model, for our tests and for yours."""

import asyncio
import json
import re
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from weft.errors import ProviderError, Trouble
from weft.providers.adapter import is_dry_run
from weft.providers.base import FREE, ModelInfo, ModelName, ModelProfile, Request
from weft.providers.events import (
    ChoiceFinished,
    Event,
    ModelReported,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ThinkingDone,
    TokenChance,
    ToolCallDelta,
    ToolCalled,
    UsageReported,
    WireBytes,
    WireHead,
    WireRequest,
)
from weft.tree.attempt import Usage
from weft.tree.cache_profile import AUTOMATIC_CACHE
from weft.tree.content import Thinking, ToolCall, plain_text
from weft.tree.json import JsonObject
from weft.tree.message import message_to_wire
from weft.tree.node import Role


class Gate:
    """Blocks a scripted stream until a test lets its chunks through. Any thread may open it."""

    def __init__(self, allowed: int = 0) -> None:
        self._allowed: int | None = allowed
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._changed = threading.Condition()
        self.passed = 0
        """How many chunks went through."""

    async def go_through(self) -> None:
        with self._changed:
            if self._allowed is None or self._allowed > 0:
                self._allowed = None if self._allowed is None else self._allowed - 1
                self.passed += 1
                return
            loop = asyncio.get_running_loop()
            ticket = loop.create_future()
            self._waiting.append((loop, ticket))
            self._changed.notify_all()
        try:
            await ticket
        except asyncio.CancelledError:
            with self._changed:
                self._waiting = deque(each for each in self._waiting if each[1] is not ticket)
            raise

    def let(self, count: int = 1) -> None:
        """Let so many more chunks through."""
        with self._changed:
            for _ in range(count):
                if self._waiting:
                    self._release()
                elif self._allowed is not None:
                    self._allowed += 1

    def open(self) -> None:
        """Let everything through from now on."""
        with self._changed:
            self._allowed = None
            while self._waiting:
                self._release()

    def _release(self) -> None:
        loop, ticket = self._waiting.popleft()
        self.passed += 1
        loop.call_soon_threadsafe(_settle, ticket)

    def wait(self, count: int = 1, *, timeout: float = 30) -> None:
        """Block this thread until so many streams wait at the gate."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._waiting) >= count, timeout):
                raise TimeoutError(f"{len(self._waiting)} of {count} streams reached the gate")

    async def reached(self, count: int = 1) -> None:
        """The same without blocking the event loop."""
        await asyncio.to_thread(self.wait, count)


def _settle(ticket: asyncio.Future[None]) -> None:
    if not ticket.done():
        ticket.set_result(None)


_RESULT = re.compile(r"^\[result:\d+\] → ", re.MULTILINE)
_PIECE = re.compile(r"\s*\S+\s*\Z|\s*\S+|\s+\Z")
PROFILE = ModelProfile(
    window=100_000,
    output_limit=10_000,
    images=True,
    audio=True,
    tools=True,
    logprobs=20,
    completion=True,
    prefill=True,
    choices=1_000,
    seed=True,
    temperatures=(0, 10),
    cache=AUTOMATIC_CACHE,
    prices=FREE,
    local=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one choice says, and how it ends."""

    text: str = ""
    chunks: tuple[str, ...] | None = None
    """The chunks of the text; words if not given."""
    thinking: Thinking | None = None
    calls: tuple[ToolCall, ...] = ()
    ending: StopReason | None = StopReason.STOP
    """None: the connection is cut after the last chunk."""
    error: ProviderError | None = None
    """Raised after the last chunk; with no chunks, instead of an answer."""
    usage: Usage | None = None
    chances: tuple[TokenChance, ...] = ()
    """One for each chunk; made up where they are asked for and not given."""

    @property
    def pieces(self) -> tuple[str, ...]:
        return tuple(_PIECE.findall(self.text)) if self.chunks is None else self.chunks


Script: TypeAlias = (
    "Iterable[str | Reply | ProviderError] | Callable[[Request, int], str | Reply | ProviderError]"
)


def echo(request: Request, choice: int) -> str:
    """The default script of `scripted:` models: they repeat the last message.

    An agent may bring a script of its own, as its setting `script`: what it says in the turns of a
    run, one after another.
    """
    reply = _own_script(request)
    if reply is not None:
        return reply
    if request.prompt is not None:
        last = request.prompt[-200:].rpartition("\n")[2]
    else:
        last = request.messages[-1].text if request.messages else ""
    number = f" ({choice + 1})" if request.parameters.n > 1 else ""
    return f" {last.strip()}{number}" if request.prompt is not None else f"You said{number}: {last.strip()}"


def _own_script(request: Request) -> str | None:
    """The turn of the agent's own script that is due: after as many results as there are in this run."""
    script = request.parameters.custom.get("script")
    if not isinstance(script, list) or not script:
        return None
    turn = 0
    for message in reversed(request.messages):
        if message.role is Role.USER:
            if not _RESULT.search(message.text):
                break
            turn += 1
    return str(script[min(turn, len(script) - 1)])


class Scripted:
    """The scripted provider. Replies are taken in the order in which calls begin, one for each choice.

    A script is a list of replies, or a function of the request and the choice's number. A gate makes
    every chunk wait until the test lets it through.
    """

    composes = True

    def __init__(
        self,
        script: Script = echo,
        *,
        gate: Gate | None = None,
        profile: ModelProfile = PROFILE,
        name: str = "scripted",
    ) -> None:
        self._replies: Iterator[str | Reply | ProviderError] | None = None
        self._write: Callable[[Request, int], str | Reply | ProviderError] | None = None
        if callable(script):
            self._write = script
        else:
            self._replies = iter(script)
        self._gate = gate
        self._profile = profile
        self._name = name
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        """All requests, in order."""

    @property
    def name(self) -> str:
        return self._name

    def profile(self, model: str) -> ModelProfile:  # noqa: ARG002 - one profile for all of its models
        return self._profile

    async def models(self) -> Sequence[ModelInfo]:
        name = ModelName(self._name, "echo")
        return [ModelInfo(name=name, title="Says the last words back", profile=self._profile)]

    async def close(self) -> None:
        """Nothing is held open."""

    async def stream(self, request: Request) -> AsyncGenerator[Event]:
        if is_dry_run():
            yield _sent(self._name, request)
            return
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            replies = self._take(request)
        yield _sent(self._name, request)
        failing = next((each.error for each in replies if each.error and not each.pieces), None)
        if failing is not None:
            yield WireHead(status=failing.status or 500, headers=())
            yield WireBytes(_line({"error": {"type": failing.trouble.value, "message": failing.message}}))
            raise failing
        request_id = f"scripted-{number}"
        yield WireHead(status=200, headers=((b"request-id", request_id.encode()),), reason=b"OK")
        yield ModelReported(request.model, request_id)
        for piece in _interleaved(replies, request):
            if self._gate is not None:
                await self._gate.go_through()
            yield WireBytes(piece.line)
            for event in piece.events:
                yield event
            if piece.error is not None:
                raise piece.error
        usage = _usage(request, replies)
        yield WireBytes(_line({"usage": {"prompt": usage.prompt, "completion": usage.completion}}))
        yield UsageReported(usage)

    def _take(self, request: Request) -> list[Reply]:
        count = request.parameters.n
        if count > self._profile.choices:
            raise ProviderError(
                Trouble.INVALID_REQUEST, f"n is {count:,}; one request has at most {self._profile.choices:,}"
            )
        if self._write is not None:
            return [_reply(self._write(request, choice)) for choice in range(count)]
        replies = [_reply(each) for each in islice(self._replies or (), count)]
        if len(replies) < count:
            raise ProviderError(
                Trouble.INVALID_REQUEST,
                "the script has no more replies",
                hint="give it one for each choice of each call",
            )
        return replies


@dataclass(frozen=True, slots=True)
class _Piece:
    line: bytes
    events: tuple[Event, ...]
    error: ProviderError | None = None


def _reply(script: str | Reply | ProviderError) -> Reply:
    if isinstance(script, ProviderError):
        return Reply(error=script)
    return Reply(text=script) if isinstance(script, str) else script


def _interleaved(replies: Sequence[Reply], request: Request) -> Iterator[_Piece]:
    """The chunks of all choices in turn, as a provider with parallel choices sends them."""
    left = [_pieces(reply, choice, request) for choice, reply in enumerate(replies)]
    while left:
        going: list[Iterator[_Piece]] = []
        for pieces in left:
            piece = next(pieces, None)
            if piece is not None:
                yield piece
                going.append(pieces)
        left = going


def _pieces(reply: Reply, choice: int, request: Request) -> Iterator[_Piece]:
    if reply.thinking is not None:
        words = {"choice": choice, "thinking": reply.thinking.text}
        shown = ThinkingDelta(reply.thinking.text, choice)
        yield _Piece(_line(words), (shown, ThinkingDone(reply.thinking, choice)))
    limit = request.parameters.max_tokens
    pieces = reply.pieces[:limit]
    for index, text in enumerate(pieces):
        chances = _chances(reply, index, text, request.parameters.logprobs)
        yield _Piece(_line({"choice": choice, "text": text}), (TextDelta(text, choice, chances),))
    if len(pieces) < len(reply.pieces):
        yield _Piece(
            _line({"choice": choice, "end": "length"}), (ChoiceFinished(StopReason.LENGTH, choice, "length"),)
        )
        return
    for call in reply.calls:
        event: JsonObject = {"choice": choice, "call": {"id": call.id, "name": call.name}}
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        half = len(arguments) // 2
        for piece in (arguments[:half], arguments[half:]):
            line = _line({**event, "arguments": piece})
            yield _Piece(line, (ToolCallDelta(call.id, call.name, piece, choice),))
        yield _Piece(_line(event), (ToolCalled(call, choice),))
    yield _end(reply, choice)


def _end(reply: Reply, choice: int) -> _Piece:
    if reply.error is not None:
        return _Piece(_line({"choice": choice, "error": reply.error.trouble.value}), (), reply.error)
    if reply.ending is None:
        return _Piece(
            b"", (), ProviderError(Trouble.NETWORK, "the connection was cut before the answer ended")
        )
    ending = StopReason.TOOL_CALLS if reply.calls and reply.ending is StopReason.STOP else reply.ending
    line = _line({"choice": choice, "end": ending.value})
    return _Piece(line, (ChoiceFinished(ending, choice, ending.value),))


def _chances(reply: Reply, index: int, text: str, wanted: int | None) -> tuple[TokenChance, ...]:
    if wanted is None:
        return ()
    if index < len(reply.chances):
        return (reply.chances[index],)
    logprob = -1 / (index + 2)
    others = tuple((f"{text}{'′' * rank}", logprob - rank) for rank in range(wanted))
    return (TokenChance(text, logprob, others),)


def _usage(request: Request, replies: Sequence[Reply]) -> Usage:
    given = next((reply.usage for reply in replies if reply.usage is not None), None)
    if given is not None:
        return given
    words = request.system_text + (request.prompt or "") + request.prefill
    words += "".join(tool.json for tool in request.tools)
    words += "".join(plain_text(block) for message in request.messages for block in message.blocks)
    limit = request.parameters.max_tokens
    prompt, completion = (len(words) + 3) // 4, sum(len(reply.pieces[:limit]) for reply in replies)
    return Usage(prompt=prompt, completion=completion, total=prompt + completion)


def _sent(provider: str, request: Request) -> WireRequest:
    """The request as bytes, in pieces that later requests share."""
    fields: dict[str, object] = {"model": request.model, "n": request.parameters.n}
    if request.tools:
        fields["tools"] = [tool.to_wire() for tool in request.tools]
        fields["tool_choice"] = request.tool_choice.value
    segments = [_line({**fields, "system": list(request.system)})]
    if request.prompt is not None:
        segments.append(_line({"prompt": request.prompt}))
    segments += [_line(message_to_wire(message)) for message in request.messages]
    if request.prefill:
        segments.append(_line({"prefill": request.prefill}))
    return WireRequest(
        method="POST",
        url=f"{provider}://{request.model}",
        headers=(),
        body=b"".join(segments),
        segments=tuple(segments),
    )


def _line(value: object) -> bytes:
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
    )
