"""The envelope: one turn's request in layers, with its hashes, its breakpoints and the account of it."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from weft.context.cache.breakpoints import Breakpoint, breakpoints
from weft.context.items.item_types import (
    FIND_ABOVE,
    FIND_IN_LIBRARY,
    LABELS,
    LIBRARY_HEADING,
    REFERENCES,
    LayerId,
)
from weft.context.manifest import Manifest
from weft.context.rows import tokens_of_content
from weft.context.sdk_messages import Fields, MediaReader, anthropic_fields, openai_messages, plain_of
from weft.context.tokens import DEFAULT, JOINT, Estimator
from weft.tree.content import Block, Text, content_to_wire
from weft.tree.json import JsonObject, JsonValue
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role
from weft.tree.tool_spec import ToolSpec

if TYPE_CHECKING:
    from weft.context.manifest_view import Changes
    from weft.context.result import Context

VERSION = 1
TOOLS = "tools"
"""The kind of the block with all tools."""
_BEFORE = -1
_STABLE = (LayerId.SYSTEM, LayerId.LIBRARY)


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: JsonValue) -> str:
    """One text for one value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a layer: a block of L1, an item, a message."""

    id: str
    content: str
    stable: bool
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    def to_wire(self) -> JsonObject:
        return {
            "id": self.id,
            "content": self.content,
            "stable": self.stable,
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. Its text follows from its segments, its hash from its text."""

    id: LayerId
    segments: tuple[Segment, ...]
    tokens: int
    text: str = field(init=False)
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        text = _text_of(self.id, self.segments)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "hash", sha256_of(text))

    @property
    def label(self) -> str:
        return LABELS[self.id]

    @property
    def stable(self) -> bool:
        return self.id in _STABLE

    def to_wire(self) -> JsonObject:
        return {
            "id": self.id.value,
            "label": self.label,
            "text": self.text,
            "segments": [segment.to_wire() for segment in self.segments],
            "stable": self.stable,
            "hash": self.hash,
        }

    def to_line(self) -> JsonObject:
        """What a bar of the window needs of it."""
        return {
            "id": self.id.value,
            "label": self.label,
            "tokens": self.tokens,
            "stable": self.stable,
            "hash": self.hash,
        }


def _text_of(layer: LayerId, segments: Sequence[Segment]) -> str:
    texts = [segment.content for segment in segments]
    match layer:
        case LayerId.LIBRARY:
            return JOINT.join([LIBRARY_HEADING, *texts]) if texts else ""
        case LayerId.TURN:
            lines = [each.content for each in segments if each.metadata.get("outcome") == "referenced"]
            inline = any(each.metadata.get("inline") for each in segments)
            given = [each.content for each in segments if each.metadata.get("outcome") != "referenced"]
            find = FIND_ABOVE if inline else FIND_IN_LIBRARY
            return JOINT.join(["\n".join([REFERENCES, *lines, find]), *given] if lines else given)
        case LayerId.HISTORY:
            # A document is nobody's turn.
            spoken = ((segment.metadata.get("role"), segment.content) for segment in segments)
            return JOINT.join(f"{role}: {said}" if role else said for role, said in spoken)
        case LayerId.SYSTEM | LayerId.USER:
            return JOINT.join(texts)


class RequestBlock(NamedTuple):
    """A block of the request as providers see it: of the system, or of a message."""

    message: int | None
    """None: of the system."""
    number: int
    """Within the system or its message."""
    kind: str
    sha256: str
    tokens: int
    marked: bool = False
    """Whether a prefix to be cached ends here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Exactly what a model will see of a turn, and why."""

    conversation_id: str
    message_id: str
    make_layers: Callable[[], tuple[Layer, ...]] = field(compare=False, repr=False)
    """Builds the layers once, when they are first read."""
    system_blocks: tuple[str, ...]
    """What the system message is made of: L1, L2, descriptions of tools."""
    memory_block: str
    """Another system block, after the others, that is not to be cached."""
    messages: tuple[Message, ...]
    """L4, then the user message; then what tools were asked for it and gave, as far as it is answered."""
    history: int
    """How many of the messages are L4."""
    additional: str
    """What stands before L3 in the user message: outputs of tools, the loom's context."""
    manifest: Manifest
    budget: int
    tools: tuple[ToolSpec, ...] = ()
    """Those that the provider is given as such: they come before everything else."""
    truncated: bool = False
    shortened: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    version: int = VERSION
    estimator: Estimator = DEFAULT

    @property
    def layers(self) -> tuple[Layer, ...]:
        return self.make_layers()

    def layer(self, wanted: LayerId | str) -> Layer:
        return next(layer for layer in self.layers if layer.id == LayerId(wanted))

    @property
    def system(self) -> str:
        """The system message: L1 and L2 (and descriptions of tools, where an agent needs them)."""
        return JOINT.join(self.system_blocks)

    @property
    def tokens(self) -> int:
        return self.manifest.tokens

    @property
    def processed_user_text(self) -> str:
        """The user message: tool outputs, L3, L5."""
        return self.messages[self.history].text if self.history < len(self.messages) else ""

    @property
    def tools_text(self) -> str:
        """The tools as one text, their fields in the order in which they are sent; empty if there are none."""
        return f"[{','.join(tool.json for tool in self.tools)}]" if self.tools else ""

    @property
    def tools_hash(self) -> str:
        return sha256_of(self.tools_text) if self.tools else ""

    @property
    def exchange(self) -> tuple[Message, ...]:
        """Calls of tools and their results since the user message."""
        return self.messages[self.history + 1 :]

    @property
    def layer_hashes(self) -> dict[str, str]:
        return {layer.id.value: layer.hash for layer in self.layers}

    @property
    def combined_hash(self) -> str:
        return sha256_of("\n".join(f"{name}:{digest}" for name, digest in self.layer_hashes.items()))

    @property
    def llm_system(self) -> tuple[str, ...]:
        """The system blocks, with the one that is not to be cached."""
        return (*self.system_blocks, *([self.memory_block] if self.memory_block else ()))

    @property
    def llm_messages(self) -> list[JsonObject]:
        """Messages in nobody's dialect, the system first."""
        messages: list[JsonObject] = []
        if self.memory_block:
            texts = [text for text in (self.system, self.memory_block) if text]
            messages.append({"role": "system", "content": [{"type": "text", "text": text} for text in texts]})
        elif self.system:
            messages.append({"role": "system", "content": self.system})
        return messages + [message_to_wire(message) for message in self.messages]

    def to_openai(self, media: MediaReader | None = None) -> list[Fields]:
        """The messages for `client.chat.completions.create(messages=…)`; `media` reads pictures by their ref."""
        return openai_messages(plain_of(self.messages, media), self._system_text)

    def to_anthropic(self, media: MediaReader | None = None) -> Fields:
        """`system` and `messages` for `client.messages.create(**…)`."""
        return anthropic_fields(plain_of(self.messages, media), self._system_text)

    @property
    def _system_text(self) -> str:
        return JOINT.join(filter(None, (self.system, self.memory_block)))

    @property
    def rendered_segments(self) -> list[JsonObject]:
        """The layers in the order in which they are sent."""
        order = (LayerId.SYSTEM, LayerId.LIBRARY, LayerId.HISTORY, LayerId.TURN, LayerId.USER)
        return [
            {"layer": layer.value, "id": segment.id, "content": segment.content}
            for layer in order
            for segment in self.layer(layer).segments
        ]

    def diff(self, other: "Envelope") -> "Changes":
        """What the other does otherwise."""
        return self.manifest.diff(other.manifest)

    def blocks(self) -> list[RequestBlock]:
        """The request block by block, as cache controls see it."""
        return self._blocks(self.llm_system)

    def prefix(self) -> list[RequestBlock]:
        """The request in the smallest pieces that stay whole, for prediction: a library grows item by item."""
        library = self.layer(LayerId.LIBRARY).segments
        texts = [segment.content for segment in self.layer(LayerId.SYSTEM).segments]
        texts += [LIBRARY_HEADING, *(segment.content for segment in library)] if library else []
        texts += [*self.descriptions, *([self.memory_block] if self.memory_block else ())]
        return self._blocks(texts)

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Of tools: the system's blocks beyond its two layers."""
        return self.system_blocks[sum(bool(self.layer(each).text) for each in _STABLE) :]

    def _blocks(self, texts: Sequence[str]) -> list[RequestBlock]:
        blocks = [self._tools_block()] if self.tools else []
        blocks += [self._block(None, index, Text(text)) for index, text in enumerate(texts)]
        for number, message in enumerate(self.messages):
            role = message.role.value
            blocks += [self._block(number, index, block, role) for index, block in enumerate(message.blocks)]
        return blocks

    def _tools_block(self) -> RequestBlock:
        tokens = sum(self.estimator.of_text(tool.json) + self.estimator.joint for tool in self.tools)
        return RequestBlock(None, _BEFORE, TOOLS, self.tools_hash, tokens)

    def _block(self, message: int | None, index: int, block: Block, role: str = "system") -> RequestBlock:
        wire = content_to_wire(block)
        digest = sha256_of(canonical([role, wire]))
        return RequestBlock(
            message, index, str(wire["type"]), digest, tokens_of_content(block, self.estimator)
        )

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        """After L1, after L2, at the last stable point of L4, and at the end."""
        blocks = self.blocks()
        settled = all(segment.stable for segment in self.layer(LayerId.HISTORY).segments)
        stable = [
            index
            for index, block in enumerate(blocks)
            if settled and block.message is not None and block.message < self.history
        ]
        return tuple(
            breakpoints(
                [block.tokens for block in blocks],
                first=int(bool(self.tools)),
                system=bool(self.layer(LayerId.SYSTEM).text),
                library=bool(self.layer(LayerId.LIBRARY).text),
                stable=stable[-1] if stable else None,
            )
        )

    def to_wire(self) -> JsonObject:
        return {
            "version": self.version,
            "conversationId": self.conversation_id,
            "messageId": self.message_id,
            "layers": [layer.to_wire() for layer in self.layers],
            "llmMessages": self.llm_messages,
            "renderedSegments": self.rendered_segments,
            "layerHashes": self.layer_hashes,
            "combinedHash": self.combined_hash,
            "processedUserText": self.processed_user_text,
            "breakpoints": [each.to_wire() for each in self.breakpoints],
            "manifest": self.manifest.to_wire(),
            "warnings": list(self.warnings),
            **({"tools": [tool.to_wire() for tool in self.tools]} if self.tools else {}),
        }


def unlaid_layers(context: "Context") -> tuple[Layer, ...]:
    """What is in each layer's place of a context without an envelope: a document is all history."""
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
