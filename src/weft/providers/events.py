"""Stream events, the same for every provider, and the answer that they add up to."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias, assert_never

from weft.errors import ProviderError
from weft.providers.exchange import WireBytes, WireEvent, WireHead, WireRecord, WireRequest
from weft.tree.attempt import Usage
from weft.tree.content import Block, Content, Mixed, Text, Thinking, ToolCall


class StopReason(StrEnum):
    """Why a choice ended. A stream that ends without saying why was cut, and raises instead."""

    STOP = "stop"
    """The model came to its end, or to a stop sequence."""
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


Event: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ThinkingDone
    | ToolCalled
    | ModelReported
    | UsageReported
    | ChoiceFinished
    | Retried
    | WireEvent
)


@dataclass(slots=True)
class Choice:
    """One of n continuations, as far as it came."""

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
        blocks = self.blocks
        if not blocks:
            return Text("")
        return blocks[0] if len(blocks) == 1 else Mixed(blocks)


@dataclass(slots=True)
class ModelAnswer:
    """The answer of a call so far: add every event of its stream."""

    choices: dict[int, Choice] = field(default_factory=dict[int, Choice])
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    request_id: str | None = None
    recording: WireRecord = field(default_factory=WireRecord)

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
            case WireRequest() | WireHead() | WireBytes():
                self.recording.add(event)
            case _:
                assert_never(event)

    def choice(self, number: int = 0) -> Choice:
        return self.choices.setdefault(number, Choice())
