"""What an assembly gives: the request and its manifest, also as plain messages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from weft.context.cache.controls import CacheControls
from weft.context.cache.prediction import CacheForecast, Prediction
from weft.context.cache.prefix_monitor import Instability
from weft.context.envelope import Envelope, Layer, Segment
from weft.context.items.item_types import ContextItem, LayerId
from weft.context.manifest import Manifest
from weft.context.manifest_entries import NO_LIMIT
from weft.context.manifest_view import Changes
from weft.context.payload import Payload
from weft.context.recipes.js_compat import compact_json
from weft.context.sdk_messages import Fields, MediaReader, anthropic_fields, openai_messages, plain_of
from weft.context.tokens import DEFAULT, Estimator
from weft.errors import InvalidInputError
from weft.tree.agent import Agent
from weft.tree.content import (
    Block,
    Content,
    Mixed,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    blocks_of,
    content_to_wire,
)
from weft.tree.content import plain_text as text_of
from weft.tree.json import JsonObject, JsonValue
from weft.tree.json_names import iso
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role


class RequestBody(dict[str, JsonValue]):
    """The JSON body of one request to a provider, after its adapter. Empty, with `why`, where there is none."""

    def __init__(
        self,
        value: JsonObject | None = None,
        *,
        data: bytes = b"",
        url: str = "",
        purpose: str = "generate",
        why: str = "",
    ) -> None:
        super().__init__(value or {})
        self.data = data
        """The exact bytes."""
        self.url = url
        self.purpose = purpose
        """`generate`, or `cache`: a cache at the provider that is created first."""
        self.why = why
        """Why there is no body."""

    def __repr__(self) -> str:
        return f"<no request: {self.why}>" if self.why else super().__repr__()

    def to_wire(self) -> JsonObject:
        if self.why:
            return {"purpose": self.purpose, "why": self.why}
        return {"purpose": self.purpose, "url": self.url, "body": dict(self)}


class Delivery(Protocol):
    """The way of a context to its provider."""

    @property
    def bodies(self) -> tuple[RequestBody, ...]:
        """What the provider's adapter would send, in order; one without a body if nothing can be sent."""
        ...

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all that is asked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHeads:
    """The state of the database that a context was read from: the heads of two event chains."""

    tree: str
    grove: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AssembledContext:
    """Exactly what a model will see of a place in a tree."""

    system: str
    messages: tuple[Message, ...]
    """In dialogue mode; in buffer mode the references before the document."""
    document: str | None
    """In buffer mode."""
    manifest: Manifest
    budget: int
    truncated: bool
    removed_nodes: int
    shortened: tuple[str, ...]
    """Ids of nodes whose own text had to be shortened."""
    warnings: tuple[str, ...] = ()
    """What could not be read of what its turns brought along."""
    estimator: Estimator = DEFAULT
    masked: tuple[str, ...] = ()
    """Ids of nodes whose tool results are sent as one line each."""
    envelope: Envelope | None = None
    """The same in layers, where it was made of a dialogue."""
    tree_id: str = ""
    node_id: str = ""
    agent: Agent | None = None
    """The agent that answers."""
    as_of: datetime | None = field(default=None, compare=False)
    """The moment that relative times are told from."""
    snapshot: ChainHeads | None = field(default=None, compare=False)
    turn: tuple[str, ...] = ()
    """Ids of the nodes whose words are the input."""
    controls: CacheControls = field(default_factory=CacheControls)
    """What the provider is told about caching."""
    forecast: CacheForecast | None = field(default=None, compare=False)
    """What of it the provider has cached, where a model is known."""
    instabilities: tuple[Instability, ...] = ()
    """Stable layers that changed without a recorded reason."""
    recorded: bool = False
    """Whether it is logged in layers when it is sent."""
    refreshed: tuple[ContextItem, ...] = ()
    """Items that are not as they were attached."""
    unsummarised: tuple[str, ...] = ()
    """Ids of nodes that it shows as extracts: a call that is started queues their summaries."""
    delivery: Delivery | None = field(default=None, compare=False)

    @property
    def prediction(self) -> Prediction | None:
        """What the provider has cached of it."""
        return None if self.forecast is None else self.forecast.prediction

    @property
    def requests(self) -> tuple[RequestBody, ...]:
        """What would be sent over HTTP, after the provider's adapter, in order."""
        return () if self.delivery is None else self.delivery.bodies

    @property
    def request(self) -> RequestBody:
        """The body that would be sent to the model; without one, its `why` says the reason."""
        answers = [body for body in self.requests if body.purpose == "generate"]
        return answers[0] if answers else RequestBody(why="it was made of values, for no model")

    @property
    def tokens(self) -> int:
        return self.manifest.tokens

    @property
    def removed_tokens(self) -> int:
        """By the ruler: what was cut was never read."""
        return self.manifest.removed_tokens

    @property
    def layers(self) -> tuple[Layer, ...]:
        """L1 to L5. Where nothing had to be laid out, what is in their places."""
        return _layers_in(self) if self.envelope is None else self.envelope.layers

    @property
    def laid_out(self) -> Envelope:
        """The envelope; an error where there is none."""
        if self.envelope is None:
            raise InvalidInputError("layers are made of dialogues", hint="a text in buffer mode has no turns")
        return self.envelope

    @property
    def provider(self) -> str:
        """`provider:model`, or nothing where no model is known to answer."""
        return "" if self.agent is None else self.agent.model_ref or ""

    @property
    def payload(self) -> Payload:
        """The request as a layered view."""
        return Payload(
            envelope=self.laid_out,
            provider=self.provider,
            controls=self.controls,
            prediction=self.prediction,
        )

    def __repr__(self) -> str:
        cut = f", {self.removed_nodes:,} left out" if self.truncated else ""
        limit = f" of {self.budget:,}" if self.budget < NO_LIMIT else ""
        return f"<Context {self.tokens:,}{limit} tokens{cut}>"

    def _repr_html_(self) -> str:
        return self.manifest._repr_html_()  # pyright: ignore[reportPrivateUsage] - the notebooks' name for it

    def diff(self, other: "AssembledContext") -> Changes:
        """What the other does otherwise."""
        return self.manifest.diff(other.manifest)

    def to_openai(self, media: MediaReader | None = None) -> list[Fields]:
        """The messages for `client.chat.completions.create(messages=…)`; `media` reads pictures by their ref."""
        return openai_messages(self._plain(media), self.system)

    def to_anthropic(self, media: MediaReader | None = None) -> Fields:
        """`system` and `messages` for `client.messages.create(**…)`."""
        return anthropic_fields(self._plain(media), self.system)

    def _plain(self, media: MediaReader | None) -> list[Fields]:
        document = [] if self.document is None else [Message(Role.USER, (Text(self.document),))]
        return list(plain_of([*self.messages, *document], media))

    def to_wire(self) -> JsonObject:
        return {
            "system": self.system,
            "messages": [message_to_wire(message) for message in self.messages],
            "document": self.document,
            "tokens": self.tokens,
            "budget": self.budget,
            "truncated": self.truncated,
            "removedNodes": self.removed_nodes,
            "removedTokens": self.removed_tokens,
            "shortened": list(self.shortened),
            "masked": list(self.masked),
            "layers": [layer.to_line() for layer in self.layers],
            "requests": [body.to_wire() for body in self.requests],
            "agent": None if self.agent is None else self.agent.name,
            "model": self.provider or None,
            "asOf": None if self.as_of is None else iso(self.as_of),
            "snapshot": None
            if self.snapshot is None
            else {"tree": self.snapshot.tree, "grove": self.snapshot.grove},
            "warnings": list(self.warnings),
            "manifest": self.manifest.to_wire(),
        }


def _layers_in(context: AssembledContext) -> tuple[Layer, ...]:
    """What is in each layer's place: nothing was attached, and a document is all history."""
    messages = context.messages
    has_input = bool(messages) and messages[-1].role is Role.USER and context.document is None
    history = messages[:-1] if has_input else messages
    segments = {
        LayerId.SYSTEM: [Segment("system", context.system, stable=True)] if context.system else [],
        LayerId.HISTORY: [
            Segment(str(index), message.text, True, {"role": message.role.value})
            for index, message in enumerate(history)
        ],
        LayerId.USER: [Segment("input", messages[-1].text, stable=False)] if has_input else [],
    }
    if context.document is not None:
        segments[LayerId.HISTORY].append(Segment("document", context.document, stable=True))
    of_text = context.estimator.of_text
    return tuple(
        Layer(name, tuple(parts), sum(of_text(each.content) for each in parts))
        for name in LayerId
        for parts in [segments.get(name, [])]
    )


def plain_messages_of(role: Role, content: Content) -> Iterator[JsonObject]:
    """What a node says: one message, and one more for each tool's result in it.

    Thinking stays where it was thought. Words alone are a string; with media they are parts.
    """
    blocks = blocks_of(content)
    words = [block for block in blocks if not isinstance(block, ToolCall | ToolResult | Thinking)]
    calls = [_call(block) for block in blocks if isinstance(block, ToolCall)]
    if words or calls:
        speaker = Role.ASSISTANT if calls else Role.USER if role is Role.TOOL else role
        message: dict[str, JsonValue] = {"role": speaker.value, "content": _words(words)}
        yield {**message, "tool_calls": calls} if calls else message
    for block in blocks:
        if isinstance(block, ToolResult):
            yield {"role": Role.TOOL.value, "tool_call_id": block.call_id, "content": text_of(block)}


def _words(blocks: Sequence[Block]) -> JsonValue:
    if not blocks:
        return None
    if all(isinstance(block, Text) for block in blocks):
        return "".join(block.text for block in blocks if isinstance(block, Text))
    return [content_to_wire(block) for block in blocks]


def _call(block: ToolCall) -> JsonObject:
    function = {"name": block.name, "arguments": compact_json(block.arguments)}
    return {"id": block.id, "type": "function", "function": function}


def plain_request(context: AssembledContext) -> Iterator[JsonObject]:
    """An assembled context: its system text, then its messages; a document is one message, the last."""
    if context.system:
        yield {"role": Role.SYSTEM.value, "content": context.system}
    yield from _plain_messages(context.messages)
    if context.document is not None:
        yield {"role": Role.USER.value, "content": context.document}


def plain_envelope(envelope: Envelope) -> Iterator[JsonObject]:
    """A request in layers: the system message, the memory block, then the messages."""
    for text in (envelope.system, envelope.memory_block):
        if text:
            yield {"role": Role.SYSTEM.value, "content": text}
    yield from _plain_messages(envelope.messages)


def _plain_messages(messages: Iterable[Message]) -> Iterator[JsonObject]:
    for message in messages:
        blocks = message.blocks
        yield from plain_messages_of(message.role, blocks[0] if len(blocks) == 1 else Mixed(blocks))
