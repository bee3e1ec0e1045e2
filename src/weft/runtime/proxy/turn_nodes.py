"""The nodes that a history becomes: results of tools, what a person said, what a model answered."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from weft.interop.conversation import EmbeddedImage, MediaImage, Part, UnpairedResult
from weft.knowledge.folder import measure_picture
from weft.runtime.proxy.history import HistoryPart, Side
from weft.store.blobs import BlobStore
from weft.tree.content import (
    Block,
    Content,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    content_of_blocks,
    is_storable,
)
from weft.tree.json import JsonValue
from weft.tree.node import Role

_DEPTH = 48
"""Levels of JSON that a node keeps as such."""
_SAFE_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class TurnNode:
    """A node before it is written."""

    role: Role
    parts: tuple[HistoryPart, ...]
    last: int
    """The index of its last part in the history."""
    notes: tuple[str, ...] = ()
    """What the client added to the turn for the model."""


def turn_nodes(parts: Sequence[HistoryPart], known: int) -> list[TurnNode]:
    """The nodes of a history after its first `known` parts.

    Results that arrived together are one node, each message of a person one, and so is what a model said at once.
    """
    nodes: list[TurnNode] = []
    fresh = list(enumerate(parts))[known:]
    for place, run in groupby(fresh, key=lambda each: _place(each[1])):
        listed = list(run)
        notes = tuple(part.note for _, part in listed if part.note)
        said = [(index, part) for index, part in listed if part.content is not None or part.is_reference]
        if any(part.key for _, part in said):
            role = place[0]
            kept = tuple(part for _, part in said)
            nodes.append(TurnNode(role, kept, said[-1][0], notes))
        elif notes and nodes:
            before = nodes.pop()
            nodes.append(TurnNode(before.role, before.parts, before.last, (*before.notes, *notes)))
    return nodes


def _place(part: HistoryPart) -> tuple[Role, int]:
    if part.side is Side.MODEL:
        return Role.ASSISTANT, 0
    return (Role.TOOL, 0) if part.result else (Role.USER, part.message)


def content_of(blobs: BlobStore, parts: Sequence[HistoryPart]) -> Content:
    """What a node keeps: pictures go to the blobs, what no database could give back is replaced."""
    return content_of_blocks([block for part in parts for block in _blocks(blobs, part.content)])


def _blocks(blobs: BlobStore, part: Part | None) -> Iterator[Block]:
    match part:
        case None:
            return
        case Text():
            yield Text(storable(part.text))
        case EmbeddedImage():
            measured = measure_picture(part.data)
            if measured is None:
                yield Text(f"[image of an unknown kind, {len(part.data):,} bytes]")
            else:
                ref = blobs.put(part.data)
                yield Image(
                    ref=ref, mime_type=measured.mime_type, width=measured.width, height=measured.height
                )
        case MediaImage():
            yield Text(f"[image: {part.file.name}]")
        case UnpairedResult():
            yield Text(storable(str(part.content)))
        case ToolCall():
            yield replace(
                part, id=storable(part.id), name=storable(part.name), arguments=_clean(part.arguments)
            )
        case ToolResult():
            yield replace(part, call_id=storable(part.call_id), content=_clean(part.content))
        case Thinking():
            yield Thinking(text=storable(part.text), opaque=_clean(part.opaque))
        case _:
            yield part


def _clean(value: JsonValue, depth: int = 0) -> JsonValue:
    """A JSON value that can be kept exactly: what is too deep, or too large a number, becomes text."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        if depth > _DEPTH:
            return storable(json.dumps(value, ensure_ascii=False))
        return {storable(name): _clean(each, depth + 1) for name, each in value.items()}
    if isinstance(value, Sequence):
        if depth > _DEPTH:
            return storable(json.dumps(value, ensure_ascii=False))
        return [_clean(each, depth + 1) for each in value]
    if isinstance(value, int) and abs(value) > _SAFE_INTEGER:
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def storable(text: str) -> str:
    """The text without what no database could give back: NUL and lone surrogates become signs."""
    if is_storable(text):
        return text
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
