"""The exact bytes of the wire, as stream events and as a record of each exchange."""

import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias, assert_never

from weft.errors import ProviderError
from weft.tree.attempt import Usage
from weft.tree.content import Block, Content, Text, Thinking, ToolCall, content_of_blocks

Header: TypeAlias = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """A request, as it was sent; keys are replaced in its headers and address, never in its body."""

    method: str
    url: str
    headers: tuple[Header, ...]
    body: bytes
    segments: tuple[bytes, ...]
    """The body in pieces (system, each message, the rest): joined they are the body."""

    @property
    def sha256(self) -> str:
        """Of the body."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class WireHead:
    """The head of a response."""

    status: int
    headers: tuple[Header, ...] = ()
    reason: bytes = b""
    version: bytes = b"HTTP/1.1"

    def header(self, name: str) -> str | None:
        wanted = name.lower().encode()
        return next((value.decode("latin-1") for key, value in self.headers if key.lower() == wanted), None)

    def __bytes__(self) -> bytes:
        line = b"%s %d %s" % (self.version, self.status, self.reason)
        lines = [line.rstrip(b" "), *(b"%s: %s" % header for header in self.headers)]
        return b"\r\n".join([*lines, b"", b""])


@dataclass(frozen=True, slots=True)
class WireBytes:
    """A piece of a response's body as it was received, without our own key."""

    data: bytes


WireEvent: TypeAlias = WireRequest | WireHead | WireBytes


@dataclass(slots=True)
class WireRecord:
    """Everything that went over the wire for one call, retries too: feed it every event of a stream.

    A node is stored with the last exchange; those before it failed.
    """

    exchanges: list["WireExchange"] = field(default_factory=list["WireExchange"])

    def add(self, event: object) -> None:
        """Add a wire event; other events are ignored."""
        match event:
            case WireRequest():
                self.exchanges.append(WireExchange(event))
            case WireHead():
                self.exchanges[-1].answered = event
            case WireBytes():
                self.exchanges[-1].parts.append(event.data)
            case _:
                pass

    @property
    def last(self) -> "WireExchange | None":
        return self.exchanges[-1] if self.exchanges else None


@dataclass(slots=True)
class WireExchange:
    """One request and its response, as far as it was received."""

    sent: WireRequest
    answered: WireHead | None = None
    parts: list[bytes] = field(default_factory=list[bytes])

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    @property
    def response(self) -> bytes:
        """Head and body as they were received: the raw response. Empty if there is none."""
        return b"" if self.answered is None else bytes(self.answered) + self.body

    @property
    def sha256(self) -> str:
        """Of the raw response."""
        return hashlib.sha256(self.response).hexdigest()

    @property
    def status(self) -> int | None:
        return None if self.answered is None else self.answered.status


_LISTS = frozenset({b'"messages"', b'"contents"', b'"input"', b'"system"', b'"tools"'})
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]')
_TOP = 1
_INSIDE = 2


def cut_body(body: bytes) -> tuple[bytes, ...]:
    """The body in pieces: cut before every element of its lists of messages, and after the last.

    Joined they are the body; a body that is not a JSON object stays whole.
    Linear in the body, and no deeper than it.
    """
    cuts = [0, *_cuts(body), len(body)]
    return tuple(body[start:end] for start, end in pairwise(cuts) if start < end)


def _cuts(body: bytes) -> list[int]:
    cuts: list[int] = []
    depth, key, last, listed = 0, b"", b"", False
    for token in _TOKEN.finditer(body):
        sign = token.group()
        if sign == b":" and depth == _TOP:
            key = last
        elif sign in b"[{":
            depth += 1
            if depth == _INSIDE and sign == b"[" and key in _LISTS:
                listed = True
                cuts.append(token.end())
        elif sign in b"]}":
            if depth == _INSIDE and listed:
                listed = False
                cuts.append(token.start())
            depth -= 1
        elif sign == b"," and depth == _INSIDE and listed:
            cuts.append(token.end())
        last = sign
    return cuts if body[:1] == b"{" else []


class StopReason(StrEnum):
    """Why a choice ended. A stream that ends without saying why was cut, and raises instead."""

    STOP = "stop"
    """The model ended its answer, or wrote a stop sequence."""
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTERED = "content_filtered"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token with the natural logarithm of its probability, and those it might have been, best first."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of one choice."""

    text: str
    choice: int = 0
    chances: tuple[TokenChance, ...] = ()


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More thinking, to be shown; the complete block follows as `ThinkingDone`."""

    text: str
    choice: int = 0


@dataclass(frozen=True, slots=True)
class ThinkingDone:
    """A complete block of thinking, with the data that its provider wants back unchanged."""

    block: Thinking
    choice: int = 0


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of a tool call's arguments, to be shown; the complete call follows as `ToolCalled`."""

    id: str
    name: str
    arguments: str
    """Another piece of their JSON; the first piece may be empty."""
    choice: int = 0


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A complete tool call."""

    call: ToolCall
    choice: int = 0


@dataclass(frozen=True, slots=True)
class ModelReported:
    """The model as the provider reports it; may differ from the requested one."""

    model: str
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Tokens of the whole request so far; a later one replaces it. `prompt` counts cached ones too."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class ChoiceFinished:
    """One choice is complete."""

    ending: StopReason
    choice: int = 0
    detail: str = ""
    """The provider's own word."""


@dataclass(frozen=True, slots=True)
class Retried:
    """A try failed before any text; the same request is sent again after a wait."""

    error: ProviderError
    wait: float
    """In seconds."""
    tries: int
    """So far."""


@dataclass(frozen=True, slots=True)
class CacheCreated:
    """The provider holds a cache from now on, made by the request before this event."""

    name: str
    tokens: int | None = None
    """As the provider counts them: they are paid once."""


@dataclass(frozen=True, slots=True)
class CacheLost:
    """The provider holds no cache of that name any more."""

    name: str


@dataclass(frozen=True, slots=True)
class Warned:
    """Something optional failed, and the call goes on without it."""

    message: str


Event: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ThinkingDone
    | ToolCallDelta
    | ToolCalled
    | ModelReported
    | UsageReported
    | ChoiceFinished
    | Retried
    | CacheCreated
    | CacheLost
    | Warned
    | WireEvent
)


@dataclass(slots=True)
class Choice:
    """One of n continuations, as far as it was received."""

    finished: ChoiceFinished | None = None
    """None: the choice is incomplete."""
    chances: list[TokenChance] = field(default_factory=list[TokenChance])
    _parts: list[str | Thinking | ToolCall] = field(default_factory=list[str | Thinking | ToolCall])
    _thought: list[str] = field(default_factory=list[str])

    def add(self, event: TextDelta | ThinkingDelta | ThinkingDone | ToolCalled) -> None:
        match event:
            case TextDelta():
                self._parts.append(event.text)
                self.chances.extend(event.chances)
            case ThinkingDelta():
                self._thought.append(event.text)
            case ThinkingDone():
                self._thought.clear()
                self._parts.append(event.block)
            case ToolCalled():
                self._parts.append(event.call)
            case _:
                assert_never(event)

    @property
    def text(self) -> str:
        return "".join(part for part in self._parts if isinstance(part, str))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Words, thinking and tool calls in order; thinking that was cut comes without its provider's data."""
        blocks: list[Block] = []
        words: list[str] = []
        for part in [*self._parts, *([Thinking(text="".join(self._thought))] if self._thought else ())]:
            if isinstance(part, str):
                words.append(part)
                continue
            if words:
                blocks.append(Text("".join(words)))
                words.clear()
            blocks.append(part)
        if words:
            blocks.append(Text("".join(words)))
        return tuple(blocks)

    @property
    def content(self) -> Content:
        """The content of a node for this choice."""
        return content_of_blocks(self.blocks)


@dataclass(slots=True)
class ModelAnswer:
    """The answer of a call so far: add every event of its stream."""

    choices: dict[int, Choice] = field(default_factory=dict[int, Choice])
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    request_id: str | None = None
    recording: WireRecord = field(default_factory=WireRecord)
    warnings: list[str] = field(default_factory=list[str])
    cache: CacheCreated | None = None
    cache_exchange: "WireExchange | None" = None
    """The request that created it, and its response."""
    lost_cache: str | None = None

    def add(self, event: Event) -> None:
        match event:
            case TextDelta() | ThinkingDelta() | ThinkingDone() | ToolCalled():
                self.choice(event.choice).add(event)
            case ChoiceFinished():
                self.choice(event.choice).finished = event
            case UsageReported():
                self.usage = event.usage
            case ModelReported():
                self.model, self.request_id = event.model, event.request_id or self.request_id
            case Retried():
                # Each try has its own usage; what a failed one reported is not this answer's.
                self.usage = Usage()
            case CacheCreated() | CacheLost():
                self._note_cache(event)
            case ToolCallDelta():
                # A call that is cut is no call: nothing could run it.
                pass
            case Warned():
                self.warnings.append(event.message)
            case WireRequest() | WireHead() | WireBytes():
                self.recording.add(event)
            case _:
                assert_never(event)

    def _note_cache(self, event: CacheCreated | CacheLost) -> None:
        if isinstance(event, CacheLost):
            self.lost_cache = event.name
        else:
            self.cache, self.cache_exchange = event, self.recording.last

    def choice(self, number: int = 0) -> Choice:
        return self.choices.setdefault(number, Choice())
