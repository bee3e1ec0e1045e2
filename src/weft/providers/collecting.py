"""Put a streamed answer together: what each choice said, in the order in which it said it."""

from dataclasses import dataclass, field
from typing import assert_never

from weft.providers.events import (
    Event,
    Finished,
    Introduced,
    Retried,
    Spent,
    TextDelta,
    ThinkingDelta,
    ThinkingDone,
    TokenChance,
    ToolCalled,
)
from weft.providers.wire import Answered, Received, Recording, Sent
from weft.tree.attempt import Usage
from weft.tree.content import Block, Content, Mixed, Text, Thinking, ToolCall

__all__ = ["Answer", "Choice"]


@dataclass(slots=True)
class Choice:
    """One of n continuations, as far as it came."""

    finished: Finished | None = None
    """None: it was cut, and is not to be taken for complete."""
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
        found: list[Block] = []
        words: list[str] = []
        for part in [*self._parts, *([Thinking(text="".join(self._thought))] if self._thought else ())]:
            if isinstance(part, str):
                words.append(part)
                continue
            if words:
                found.append(Text("".join(words)))
                words.clear()
            found.append(part)
        if words:
            found.append(Text("".join(words)))
        return tuple(found)

    @property
    def content(self) -> Content:
        """What a node made of this choice says."""
        blocks = self.blocks
        if not blocks:
            return Text("")
        return blocks[0] if len(blocks) == 1 else Mixed(blocks)


@dataclass(slots=True)
class Answer:
    """What a call brought so far: feed it every event of a stream."""

    choices: dict[int, Choice] = field(default_factory=dict[int, Choice])
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    request_id: str | None = None
    recording: Recording = field(default_factory=Recording)

    def add(self, event: Event) -> None:
        match event:
            case TextDelta() | ThinkingDelta() | ThinkingDone() | ToolCalled():
                self.choice(event.choice).add(event)
            case Finished():
                self.choice(event.choice).finished = event
            case Spent():
                self.usage = event.usage
            case Introduced():
                self.model, self.request_id = event.model, event.request_id or self.request_id
            case Retried():
                # Each try has its own usage; what a failed one reported is not this answer's.
                self.usage = Usage()
            case Sent() | Answered() | Received():
                self.recording.add(event)
            case _:
                assert_never(event)

    def choice(self, number: int = 0) -> Choice:
        return self.choices.setdefault(number, Choice())
