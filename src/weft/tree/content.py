"""What a node says: text, media by reference, tool traffic, thinking, or a mix."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never, cast

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, LimitExceededError
from weft.tree.json import JsonObject, JsonValue, snake

CONTENT_LIMIT = 16 * 1024 * 1024
"""Characters one node may hold; longer texts belong in documents or several nodes."""
_DEPTH_LIMIT = 64
_SAFE_INTEGER = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLOB = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    ref: str
    """SHA-256 of the bytes in the blob store."""
    mime_type: str
    width: int
    height: int
    alt_text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    ref: str
    mime_type: str
    duration_ms: int
    transcript: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str
    name: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    call_id: str
    content: JsonValue
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    text: str
    opaque: JsonValue = None
    """What the provider wants back untouched (signatures, encrypted blocks)."""


@dataclass(frozen=True, slots=True)
class Mixed:
    blocks: tuple["Block", ...]


Block: TypeAlias = Text | Image | Audio | ToolCall | ToolResult | Thinking
Content: TypeAlias = Block | Mixed


def as_content(value: "str | Content") -> Content:
    """A plain string is text."""
    return Text(value) if isinstance(value, str) else value


_FIELDS: dict[str, tuple[type[Block], dict[str, str]]] = {
    "text": (Text, {"text": "text"}),
    "image": (
        Image,
        {"ref": "text", "mimeType": "text", "width": "count", "height": "count", "altText": "optional_text"},
    ),
    "audio": (
        Audio,
        {"ref": "text", "mimeType": "text", "durationMs": "count", "transcript": "optional_text"},
    ),
    "tool_call": (ToolCall, {"id": "text", "name": "text", "arguments": "get"}),
    "tool_result": (ToolResult, {"callId": "text", "content": "get", "isError": "flag"}),
    "thinking": (Thinking, {"text": "text", "opaque": "optional"}),
}
"""The JSON form of each kind of block: its fields in order, each with the method of `_Fields` that reads it."""
_KIND_OF: dict[type, str] = {Mixed: "mixed", **{block: kind for kind, (block, _) in _FIELDS.items()}}


def kind_of(content: Content) -> str:
    return _KIND_OF[type(content)]


def blocks_of(content: Content) -> tuple[Block, ...]:
    return content.blocks if isinstance(content, Mixed) else (content,)


def content_of_blocks(blocks: Sequence[Block]) -> Content:
    """One content of some blocks; no blocks are an empty text."""
    if not blocks:
        return Text("")
    return blocks[0] if len(blocks) == 1 else Mixed(tuple(blocks))


def spoken_text(content: Content) -> str:
    """The words of a node: its text blocks, without thinking, tools or media."""
    if isinstance(content, Text):
        return content.text
    return "".join(block.text for block in blocks_of(content) if isinstance(block, Text))


def is_blank(content: Content) -> bool:
    """Whether a node holds white space and nothing else."""
    return all(isinstance(block, Text) and not block.text.strip() for block in blocks_of(content))


def plain_text(content: Content) -> str:
    """Everything in a node that is text, for measuring, searching and summarising."""
    if isinstance(content, Text):
        return content.text
    return "\n".join(part for block in blocks_of(content) for part in _texts(block) if part)


def sent_text(content: Content) -> str:
    """Everything of a node that goes out as characters, for measuring: tool traffic is JSON there."""
    if isinstance(content, Text):
        return content.text
    return "\n".join(part for block in blocks_of(content) for part in _sent(block) if part)


def makes_calls(content: Content) -> bool:
    """Whether a node asks for a tool."""
    return any(isinstance(block, ToolCall) for block in blocks_of(content))


def holds_results(content: Content) -> bool:
    """Whether a node says what a tool gave."""
    return any(isinstance(block, ToolResult) for block in blocks_of(content))


def is_tool_results(content: Content) -> bool:
    """Whether a node holds what tools gave, and nothing else."""
    return all(isinstance(block, ToolResult) for block in blocks_of(content))


def blob_refs(content: Content) -> Iterator[str]:
    """The media a node points to."""
    for block in blocks_of(content):
        if isinstance(block, Image | Audio):
            yield block.ref


def _texts(block: Block) -> Iterator[str]:
    match block:
        case Text() | Thinking():
            yield block.text
        case Image():
            yield block.alt_text or ""
        case Audio():
            yield block.transcript or ""
        case ToolCall():
            yield block.name
            yield from _strings(block.arguments)
        case ToolResult():
            yield from _strings(block.content)
        case _:
            assert_never(block)


def _sent(block: Block) -> Iterator[str]:
    match block:
        case ToolCall():
            yield block.name
            yield _as_json(block.arguments)
        case ToolResult():
            yield (
                block.content if isinstance(block.content, str) and block.content else _as_json(block.content)
            )
        case Thinking():
            yield block.text
            if block.opaque is not None:
                yield _as_json(block.opaque)
        case _:
            yield from _texts(block)


def _as_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _strings(value: JsonValue) -> Iterator[str]:
    """Strings of a JSON value in order; iterative, so that depth cannot hurt."""
    pending: list[JsonValue] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            pending.extend(reversed(list(item.values())))
        elif isinstance(item, Sequence):
            pending.extend(reversed(item))


def content_to_wire(content: Content) -> JsonObject:
    """The JSON form, camelCase, with absent options left out."""
    if isinstance(content, Text):
        return {"type": "text", "text": content.text}
    if isinstance(content, Mixed):
        return {"type": "mixed", "blocks": [content_to_wire(block) for block in content.blocks]}
    kind = kind_of(content)
    wire: dict[str, JsonValue] = {"type": kind}
    for name, reader in _FIELDS[kind][1].items():
        value = getattr(content, snake(name))
        if value is not None or not reader.startswith("optional"):
            wire[name] = value
    return wire


def content_from_wire(value: JsonValue, *, path: str = "content") -> Content:
    """Read the JSON form; errors name the field."""
    reader = _Fields(value, path)
    kind = reader.text("type")
    if kind == "mixed":
        return _mixed_from_wire(reader.get("blocks"), path)
    if kind not in _FIELDS:
        raise InvalidInputError(
            f"{path}.type is {kind!r}",
            hint="use text, image, audio, tool_call, tool_result, thinking or mixed",
        )
    block, fields = _FIELDS[kind]
    values = {snake(name): getattr(reader, method)(name) for name, method in fields.items()}
    return cast("Any", block)(**values)


def _mixed_from_wire(blocks: JsonValue, path: str) -> Mixed:
    if not isinstance(blocks, Sequence) or isinstance(blocks, str) or not blocks:
        raise InvalidInputError(f"{path}.blocks must be a list of at least one block")
    read: list[Block] = []
    for index, item in enumerate(blocks):
        inner = content_from_wire(item, path=f"{path}.blocks[{index}]")
        if isinstance(inner, Mixed):
            raise InvalidInputError(f"{path}.blocks[{index}] is mixed: blocks do not nest")
        read.append(inner)
    return Mixed(tuple(read))


class _Fields:
    """Typed reading of one JSON object, with the field's path in every error."""

    def __init__(self, value: JsonValue, path: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{path} must be an object")
        self.path = path
        self._value: Mapping[str, JsonValue] = value

    def get(self, name: str) -> JsonValue:
        return self._value.get(name)

    optional = get

    def text(self, name: str) -> str:
        value = self._value.get(name)
        if not isinstance(value, str):
            raise InvalidInputError(f"{self.path}.{name} must be a string")
        return value

    def optional_text(self, name: str) -> str | None:
        return None if self._value.get(name) is None else self.text(name)

    def count(self, name: str) -> int:
        value = self._value.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise InvalidInputError(f"{self.path}.{name} must be a whole number of at least 0")
        return value

    def flag(self, name: str) -> bool:
        value = self._value.get(name, False)
        if not isinstance(value, bool):
            raise InvalidInputError(f"{self.path}.{name} must be true or false")
        return value


def is_storable(text: str) -> bool:
    """Whether a database could give it back unchanged, however long it is."""
    return "\x00" not in text and (text.isascii() or _SURROGATE.search(text) is None)


def check_text(text: str, *, what: str = "text", limit: int = CONTENT_LIMIT) -> str:
    """Refuse what no database or wire could give back unchanged."""
    if len(text) > limit:
        raise LimitExceededError(
            f"{what} has {len(text):,} characters, the limit is {limit:,}",
            hint=Hint(HintKind.SHORTEN),
        )
    if "\x00" in text:
        raise InvalidInputError(
            f"{what} contains a NUL character at offset {text.index(chr(0)):,}",
            hint=Hint(HintKind.REMOVE_NUL),
        )
    if not text.isascii() and (surrogate := _SURROGATE.search(text)):
        raise InvalidInputError(
            f"{what} contains a lone surrogate at offset {surrogate.start():,}",
            hint=Hint(HintKind.DECODE_AGAIN),
        )
    return text


def check_content(content: Content) -> Content:
    """Refuse content that could not be kept exactly as it is."""
    if isinstance(content, Text):
        check_text(content.text)
        return content
    if isinstance(content, Mixed) and not content.blocks:
        raise InvalidInputError("mixed content needs at least one block")
    total = 0
    for block in blocks_of(content):
        if isinstance(block, Image | Audio) and _BLOB.match(block.ref) is None:
            raise InvalidInputError(
                f"{kind_of(block)} ref must be the SHA-256 of a stored blob, in hex",
                hint=Hint(HintKind.STORE_BYTES),
            )
        total += _check_json(content_to_wire(block), kind_of(block))
    if total > CONTENT_LIMIT:
        raise LimitExceededError(
            f"content has {total:,} characters, the limit is {CONTENT_LIMIT:,}",
            hint="split it into several nodes",
        )
    return content


def _check_json(value: JsonValue, what: str) -> int:
    """Walk a JSON value; return its characters. Iterative, so that depth cannot hurt."""
    total = 0
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > _DEPTH_LIMIT:
            raise LimitExceededError(f"{what} is nested deeper than {_DEPTH_LIMIT} levels")
        if isinstance(item, str):
            total += len(check_text(item, what=what))
        elif isinstance(item, Mapping):
            fields = cast("Mapping[object, object]", item)
            total += sum(len(_check_key(key, what)) for key in fields)
            pending.extend((inner, depth + 1) for inner in fields.values())
        elif isinstance(item, list | tuple):
            pending.extend((inner, depth + 1) for inner in cast("Sequence[object]", item))
        else:
            _check_number(item, what)
    return total


def _check_key(key: object, what: str) -> str:
    if not isinstance(key, str):
        raise InvalidInputError(f"{what} has a key that is not a string: {key!r}")
    return check_text(key, what=what)


def _check_number(item: object, what: str) -> None:
    if isinstance(item, float) and not math.isfinite(item):
        raise InvalidInputError(f"{what} contains a number that JSON cannot hold: {item}")
    if isinstance(item, int) and abs(item) > _SAFE_INTEGER:
        raise InvalidInputError(
            f"{what} contains an integer that JSON readers do not keep exactly: {item}",
            hint="pass it as a string",
        )
    if not isinstance(item, int | float | None):
        raise InvalidInputError(f"{what} contains a value that is not JSON: {type(item).__name__}")
