"""The answer of one call as it arrives, and what it becomes in the end."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import orjson

from weft.commands.scanner import scan
from weft.context.agent_view.loom_block import strip_headings
from weft.context.tokens import DEFAULT
from weft.context.tool_text import with_calls
from weft.error_hints import Hint, HintKind
from weft.errors import ProviderError, Trouble, WeftError
from weft.providers.adapter import OWN_CALL
from weft.providers.base import Request
from weft.providers.events import (
    Choice,
    Event,
    ModelAnswer,
    Retried,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ThinkingDone,
    ToolCallDelta,
    ToolCalled,
    WireBytes,
    WireExchange,
    WireHead,
    WireRequest,
)
from weft.redaction import redact
from weft.runtime.generation.finish_call import Continuation
from weft.runtime.generation.live_text import LiveText
from weft.runtime.generation.provider_caches import CreatedCache
from weft.runtime.generation.start_call import EndedCall, PlannedCall
from weft.runtime.operations.scope import Scope
from weft.store.model_calls import PieceRow
from weft.store.rows import NodeRow, TreeState
from weft.tree.attempt import AttemptOutcome, RawResponse, Usage
from weft.tree.content import (
    CONTENT_LIMIT,
    Content,
    Mixed,
    Text,
    Thinking,
    content_from_wire,
    content_of_blocks,
    content_to_wire,
    makes_calls,
    plain_text,
    spoken_text,
)
from weft.tree.json import JsonValue
from weft.tree.json_names import from_microseconds
from weft.tree.node import Status
from weft.tree.run import RunStatus

STOPPED = RunStatus.STOPPED.value
"""The mark of an attempt that a person stopped."""
EMPTY = "empty: the model returned no text"
"""The mark of an attempt that is complete and has an empty node."""
_UNHOLDABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that no text in a database can hold."""
_CUT = ProviderError(
    Trouble.NETWORK,
    "the answer ended without a stop reason",
    hint="what came is kept as interrupted; ask again for another",
)


@dataclass(slots=True)
class CallProgress:
    """What one call brought so far."""

    call: PlannedCall
    answer: ModelAnswer = field(default_factory=ModelAnswer)
    error: WeftError | None = None
    stopped: bool = False
    cut: bool = False
    """Whether the observer ended it: what came is all that was wanted."""
    requested_at: int | None = None
    responded_at: int | None = None
    tries: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Index of each exchange that was answered with an error before the last, and that error."""
    written: int = 0
    """How many pieces of it are durable."""
    text: LiveText = field(default_factory=LiveText)
    """What came so far, for those who follow."""
    _said: list[JsonValue] = field(default_factory=list[JsonValue])
    _wire: list[bytes] = field(default_factory=list[bytes])
    _characters: int = 0

    def add(self, event: Event, now: int) -> None:
        # Before it is taken in: what is kept stays within what a node can hold.
        if isinstance(event, TextDelta | ThinkingDelta):
            self._grow(len(event.text))
        elif isinstance(event, ToolCallDelta):
            self._grow(len(event.arguments))
        self.answer.add(event)
        match event:
            case WireRequest():
                self.requested_at = now
                self._said.clear()
                self._wire.clear()
            case WireHead():
                self._wire.append(bytes(event))
            case WireBytes():
                self._wire.append(event.data)
                self.responded_at = now
            case TextDelta() | ThinkingDelta():
                kind, said = "t" if isinstance(event, TextDelta) else "h", clean_text(event.text)
                self._said.append([kind, event.choice, said])
                self.text.add(event.choice, kind, said)
            case ThinkingDone(block) | ToolCalled(block):
                self._said.append(["b", event.choice, _clean(content_to_wire(block))])
            case Retried():
                self.tries.append((len(self.answer.recording.exchanges) - 1, error_text(event.error)))
            case _:
                pass

    def _grow(self, characters: int) -> None:
        self._characters += characters
        if self._characters > CONTENT_LIMIT:
            raise ProviderError(
                Trouble.UNKNOWN,
                f"the answer is longer than {CONTENT_LIMIT:,} characters",
                hint=Hint(HintKind.SHORTER_ANSWER),
            )

    @property
    def has_news(self) -> bool:
        """Whether something was shown that is not saved yet."""
        return bool(self._said)

    def take_news(self) -> "UnsavedOutput":
        said, self._said = self._said, []
        wire, self._wire = self._wire, []
        return UnsavedOutput(self.written + 1, said, wire)

    def put_back(self, news: "UnsavedOutput") -> None:
        """It could not be written down: it goes with the next that comes."""
        self._said[:0] = news.said
        self._wire[:0] = news.wire

    @property
    def segments(self) -> Sequence[bytes] | None:
        last = self.answer.recording.last
        return None if last is None else last.sent.segments

    def end(self) -> None:
        """The stream is over; an answer that is not was cut."""
        if self.error is None and not self.stopped and not self._is_whole():
            self.error = _CUT

    def _is_whole(self) -> bool:
        if self.cut:
            return True
        choices = self.answer.choices
        return all(
            number in choices and choices[number].finished is not None
            for number in range(len(self.call.slots))
        )

    @property
    def is_counted(self) -> bool:
        """Whether every choice came to its end, so that what the provider counted is all of it."""
        return self.error is None and not self.stopped and not self.cut and self._is_whole()

    @property
    def tokens_said(self) -> int:
        """By the estimator, of what came."""
        choices = self.answer.choices.values()
        return sum(DEFAULT.of_text(plain_text(block)) for choice in choices for block in choice.blocks)

    def continuations(self) -> list[Continuation]:
        """The choices that become nodes: all that came to an end, and all that said anything."""
        continuations: list[Continuation] = []
        for number, choice in sorted(self.answer.choices.items()):
            if number >= len(self.call.slots):
                continue
            finished = choice.finished
            if not choice.blocks and (finished is None or finished.ending is StopReason.CONTENT_FILTERED):
                if finished is not None and self.error is None:
                    self.error = ProviderError(
                        Trouble.CONTENT_FILTERED,
                        "the provider's content filter blocked the whole answer",
                        hint="rephrase it, or ask another model",
                    )
                continue
            status = Status.INTERRUPTED if finished is None and not self.cut else Status.COMPLETE
            content = storable(self._content(number, choice))
            if self.call.agent.loom_aware:
                content = without_commands(content)
            continuations.append(Continuation(number, content, status))
        return continuations

    def _content(self, number: int, choice: Choice) -> Content:
        """What a choice says; calls in words are calls."""
        if not self.call.reads_calls:
            return choice.content
        blocks = with_calls(choice.blocks, f"{OWN_CALL}{self.call.attempt}_{number}")
        return content_of_blocks(blocks)

    def thoughts(self) -> list[str]:
        """What a loom-aware agent thought between its words: for its memory, and no part of a node."""
        if not self.call.agent.loom_aware:
            return []
        texts = [clean_text(choice.text) for choice in self.answer.choices.values()]
        return [each.text for text in texts for each in scan(text).thoughts if each.text]

    def empty_slots(self, continuations: Sequence[Continuation]) -> tuple[int, ...]:
        """Slots whose answer is complete and has neither text nor a tool call."""
        return tuple(
            self.call.slots[each.choice]
            for each in continuations
            if each.status is Status.COMPLETE
            and not spoken_text(each.content)
            and not makes_calls(each.content)
        )

    def outcome(self, said: Sequence[Continuation]) -> AttemptOutcome:
        complete = said and all(each.status is Status.COMPLETE for each in said) and self.error is None
        if complete and not (self.stopped and not self._is_whole()):
            return AttemptOutcome.COMPLETE
        return AttemptOutcome.INTERRUPTED if said or self.stopped else AttemptOutcome.FAILED

    def outcome_of_turn(self) -> AttemptOutcome:
        """The same where words need not become a node: a collaborator's turn may be commands alone."""
        if self.error is None and self._is_whole():
            return AttemptOutcome.COMPLETE
        came = any(choice.blocks for choice in self.answer.choices.values())
        return AttemptOutcome.INTERRUPTED if came or self.stopped else AttemptOutcome.FAILED

    @property
    def why(self) -> str | None:
        """Why it ended as it did, for the attempt."""
        if self.error is not None:
            return error_text(self.error)
        return STOPPED if self.stopped and not self._is_whole() else None

    def response(self) -> RawResponse | None:
        """What came over the wire, also if it is not all."""
        return self._raw(self.answer.recording.last, self.answer.usage)

    def earlier(self) -> list[EndedCall]:
        exchanges = self.answer.recording.exchanges
        return [
            EndedCall(
                segments=exchanges[index].sent.segments,
                response=self._raw(exchanges[index], Usage()),
                error=error,
            )
            for index, error in self.tries
            if 0 <= index < len(exchanges) - 1
        ]

    def created_cache(self) -> CreatedCache | None:
        """The cache that the call created at its provider, with the request that made it."""
        made, exchange = self.answer.cache, self.answer.cache_exchange
        wanted = self.call.request.cache.cached_content
        if made is None or exchange is None or wanted is None or "prefix" not in wanted:
            return None
        call = EndedCall(segments=exchange.sent.segments, response=self._raw(exchange, Usage()))
        return CreatedCache(name=made.name, wanted=wanted, model=self.call.model, call=call)

    def _raw(self, exchange: WireExchange | None, usage: Usage) -> RawResponse | None:
        if exchange is None or exchange.answered is None:
            return None
        last = exchange is self.answer.recording.last
        return RawResponse(
            body=exchange.response,
            provider=self.call.provider.name,
            model=(self.answer.model if last else None) or self.call.request.model,
            attempt=self.call.attempt if last else None,
            request_id=self.answer.request_id if last else None,
            status_code=exchange.status,
            requested_at=_moment(self.requested_at if last else None),
            responded_at=_moment(self.responded_at if last else None),
            usage=usage,
        )


@dataclass(frozen=True, slots=True)
class UnsavedOutput:
    """What came since the last piece was written down."""

    ordinal: int
    said: list[JsonValue]
    wire: list[bytes]

    @property
    def piece(self) -> PieceRow:
        return PieceRow(self.ordinal, orjson.dumps(self.said).decode(), b"".join(self.wire))


def error_text(error: WeftError) -> str:
    kind = f"{error.trouble}: " if isinstance(error, ProviderError) else ""
    return redact(f"{kind}{error.message}")


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_microseconds(microseconds)


def storable(content: Content) -> Content:
    """What a store takes: a model may say characters that no text can hold, in an argument too."""
    wire = content_to_wire(content)
    clean = _clean(wire)
    return content if clean == wire else content_from_wire(clean)


def _clean(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return clean_text(value)
        case Mapping():
            return {clean_text(name): _clean(each) for name, each in value.items()}
        case Sequence():
            return [_clean(each) for each in value]
        case _:
            return value


def without_commands(content: Content) -> Content:
    """A loom-aware model's words without commands, thoughts, and the headings of nodes that it imitates."""
    match content:
        case Text():
            scanned = scan(content.text)
            return Text(strip_headings(scanned.prose if scanned.commands else content.text))
        case Mixed():
            blocks = tuple(without_commands(block) for block in content.blocks)
            return Mixed(blocks)  # pyright: ignore[reportArgumentType] - a block stays a block
        case _:
            return content


def clean_text(text: str) -> str:
    return _UNHOLDABLE.sub("\ufffd", text)


def choices_from(pieces: Sequence[str]) -> dict[int, Choice]:
    """What a call had said, from what was written down of it."""
    choices: dict[int, Choice] = {}
    for kind, number, value in (each for piece in pieces for each in orjson.loads(piece)):
        choice = choices.setdefault(number, Choice())
        if kind == "t":
            choice.add(TextDelta(value, number))
        elif kind == "h":
            choice.add(ThinkingDelta(value, number))
        elif isinstance(block := content_from_wire(value), Thinking):
            choice.add(ThinkingDone(block, number))
        else:
            choice.add(ToolCalled(block, number))  # pyright: ignore[reportArgumentType] - the two kinds that are kept
    return choices


class TurnObserver(Protocol):
    """Hears the one continuation of a generation, and decides when it is enough and what becomes a node."""

    cursor: str | None
    """The caller's, in the beginning: only from there it is moved to what comes."""

    def begin(self, request: Request) -> None:
        """What is going to be asked now."""
        ...

    def hear(self, text: str) -> bool:
        """Some more words. True: no more are wanted."""
        ...

    def reply(self, progress: CallProgress, said: Sequence[Continuation]) -> list[Continuation]:
        """What of it becomes a node, now that it is over."""
        ...

    def note(self, scope: Scope, tree: TreeState, nodes: Sequence[NodeRow]) -> None:
        """What is to be written down with the end of the call, in its transaction."""
        ...
