"""Envelopes as they are kept: L3's entries, and pointers to snapshots that turns share."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from weft.context.envelope import Envelope, Layer, Segment, canonical, sha256_of
from weft.context.items.item_types import SEPARATOR, LayerId
from weft.context.manifest import Manifest
from weft.context.tokens import DEFAULT, JOINT, Estimator
from weft.errors import InvalidInputError
from weft.tree.content import Block, Mixed, Text, content_from_wire
from weft.tree.json import JsonObject, JsonValue
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role
from weft.tree.tool_spec import ToolSpec

_POINTED = (LayerId.SYSTEM, LayerId.LIBRARY, LayerId.HISTORY)
_PART = 32
_COMPUTED = "computed"


@dataclass(frozen=True, slots=True)
class StoredEnvelope:
    """What is written for a turn. The words of the user are the node's own and are not in it."""

    record: JsonObject
    snapshots: Mapping[str, str]
    """Texts by their SHA-256; those that are there already need not be written again."""


def store_envelope(envelope: Envelope) -> StoredEnvelope:
    """Take an envelope apart: what turns have in common is kept once."""
    shelf = _Shelf()
    user = envelope.layer(LayerId.USER)
    record: dict[str, JsonValue] = {
        "version": envelope.version,
        "conversationId": envelope.conversation_id,
        "messageId": envelope.message_id,
        "layers": {layer.value: _pointer(envelope.layer(layer), shelf) for layer in _POINTED},
        "entries": [_entry(segment, shelf) for segment in envelope.layer(LayerId.TURN).segments],
        "layerHashes": envelope.layer_hashes,
        "tokens": {layer.id.value: layer.tokens for layer in envelope.layers},
        "user": user.segments[0].id if user.segments else None,
        "toolDescriptions": [shelf.put(text) for text in envelope.descriptions],
        "memoryBlock": shelf.put(envelope.memory_block) if envelope.memory_block else None,
        "additional": shelf.put(envelope.additional) if envelope.additional else None,
        "userMessage": _user_message(envelope, shelf),
        "budget": envelope.budget,
        "truncated": envelope.truncated,
        "shortened": list(envelope.shortened),
        "warnings": list(envelope.warnings),
        "manifest": envelope.manifest.stored(),
    }
    if envelope.tools:
        record["tools"] = shelf.put(envelope.tools_text)
    if envelope.exchange:
        record["exchange"] = [shelf.put(canonical(message_to_wire(each))) for each in envelope.exchange]
    return StoredEnvelope(record, shelf.texts)


class _Shelf:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def put(self, text: str) -> str:
        digest = sha256_of(text)
        self.texts[digest] = text
        return digest


def _pointer(layer: Layer, shelf: _Shelf) -> str:
    """A layer is a list of parts, each a list of some segments, so that one that grew shares all but its end."""
    rows: list[JsonValue] = [
        [segment.id, shelf.put(segment.content), segment.stable, dict(segment.metadata)]
        for segment in layer.segments
    ]
    parts = [canonical(rows[start : start + _PART]) for start in range(0, len(rows), _PART)]
    return shelf.put(canonical([shelf.put(part) for part in parts]))


def _entry(segment: Segment, shelf: _Shelf) -> JsonObject:
    return {"id": segment.id, "content": shelf.put(segment.content), **segment.metadata}


def _user_message(envelope: Envelope, shelf: _Shelf) -> JsonValue:
    """Nothing where it follows from the rest; the whole message where it is more than that."""
    if envelope.history >= len(envelope.messages):
        return None
    message = envelope.messages[envelope.history]
    simple = len(message.blocks) == 1 and isinstance(message.blocks[0], Text)
    if simple and _said(envelope.additional, envelope.layers) == message.text:
        return _COMPUTED
    return shelf.put(canonical(message_to_wire(message)))


def _said(additional: str, layers: Sequence[Layer]) -> str:
    """The user message from its parts: tool outputs, L3, L5."""
    context = JOINT.join(filter(None, [additional, layers[2].text]))
    typed = layers[4].text
    return f"{context}{JOINT}{SEPARATOR}{typed}" if context and typed else context + typed


def load_envelope(
    record: JsonValue,
    snapshot: Callable[[str], str],
    *,
    user_text: str,
    estimator: Estimator = DEFAULT,
) -> Envelope:
    """Put an envelope together again, byte for byte, and check it against its hashes.

    `snapshot` gives a text by its hash; `user_text` is the input as it was typed.
    """
    try:
        return _Loading(record, snapshot, estimator).envelope(user_text)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InvalidInputError(f"a stored envelope cannot be read: {error!r}") from None


def load_layer(record: JsonValue, layer: LayerId, snapshot: Callable[[str], str]) -> Layer:
    """L1, L2 or L4 alone: for whoever compares."""
    try:
        return _Loading(record, snapshot, DEFAULT).pointed(layer)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InvalidInputError(f"a stored envelope cannot be read: {error!r}") from None


REFRESHED = "refreshed"
"""Of a record: items that are not as they were attached, by id: the hash of the content, and the times."""


def named_snapshots(record: JsonValue, snapshot: Callable[[str], str]) -> list[str]:
    """The hashes of all snapshots that a stored envelope is made of; the lists among them are looked into."""
    try:
        return list(_Loading(record, snapshot, DEFAULT).named())
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InvalidInputError(f"a stored envelope cannot be read: {error!r}") from None


class _Loading:
    def __init__(self, record: JsonValue, snapshot: Callable[[str], str], estimator: Estimator) -> None:
        self.record = cast("Mapping[str, JsonValue]", record)
        self.estimator = estimator
        self._snapshot = snapshot

    def text(self, digest: JsonValue) -> str:
        snapshot = self._snapshot(str(digest))
        if sha256_of(snapshot) != digest:
            raise InvalidInputError(f"the snapshot {str(digest)[:12]} is not what its hash says")
        return snapshot

    def envelope(self, user_text: str) -> Envelope:
        record = self.record
        layers = self._layers(user_text)
        for layer in layers:
            if layer.hash != self._object("layerHashes")[layer.id.value]:
                raise InvalidInputError(
                    f"{layer.id.value} of message {record['messageId']} is not what was sent"
                )
        history = [each for each in layers[3].segments if not each.metadata.get("merged")]
        messages = [_message(each) for each in history]
        last = self._user_message(layers)
        return Envelope(
            conversation_id=str(record["conversationId"]),
            message_id=str(record["messageId"]),
            make_layers=lambda: layers,
            system_blocks=(
                *(layer.text for layer in layers[:2] if layer.text),
                *(self.text(each) for each in self._list("toolDescriptions")),
            ),
            tools=self._tools(),
            memory_block=self._optional("memoryBlock"),
            messages=(*messages, *([] if last is None else [last]), *self._exchange()),
            history=len(messages),
            additional=self._optional("additional"),
            manifest=Manifest.from_stored(record["manifest"]),
            budget=int(cast("int", record["budget"])),
            truncated=record["truncated"] is True,
            shortened=tuple(str(each) for each in self._list("shortened")),
            warnings=tuple(str(each) for each in self._list("warnings")),
            version=int(cast("int", record["version"])),
            estimator=self.estimator,
        )

    def _object(self, name: str) -> Mapping[str, JsonValue]:
        return cast("Mapping[str, JsonValue]", self.record[name])

    def _list(self, name: str) -> Sequence[JsonValue]:
        return cast("Sequence[JsonValue]", self.record[name])

    def _layers(self, user_text: str) -> tuple[Layer, ...]:
        pointers, tokens = self._object("layers"), self._object("tokens")
        user = self.record["user"]
        segments = {layer: self._segments(pointers[layer.value]) for layer in _POINTED}
        segments[LayerId.TURN] = tuple(
            self._turn_segment(cast("Mapping[str, JsonValue]", each)) for each in self._list("entries")
        )
        segments[LayerId.USER] = () if user is None else (Segment(str(user), user_text, stable=False),)
        return tuple(Layer(each, segments[each], int(cast("int", tokens[each.value]))) for each in LayerId)

    def pointed(self, layer: LayerId) -> Layer:
        pointers, tokens = self._object("layers"), self._object("tokens")
        return Layer(layer, self._segments(pointers[layer.value]), int(cast("int", tokens[layer.value])))

    def named(self) -> Iterator[str]:
        if "processedText" in self.record:
            yield str(self.record["processedText"])
            return
        for pointer in self._object("layers").values():
            yield str(pointer)
            for part in json.loads(self._snapshot(str(pointer))):
                yield str(part)
                for row in json.loads(self._snapshot(str(part))):
                    yield str(row[1])
        for entry in self._list("entries"):
            yield str(cast("Mapping[str, JsonValue]", entry)["content"])
        single = [self.record[name] for name in ("memoryBlock", "additional", "userMessage")]
        later = [self.record.get("tools"), *cast("Sequence[JsonValue]", self.record.get("exchange", ()))]
        read = cast("Mapping[str, Mapping[str, str]]", self.record.get(REFRESHED, {}))
        for digest in (
            *self._list("toolDescriptions"),
            *single,
            *later,
            *(each["content"] for each in read.values()),
        ):
            if digest is not None and digest != _COMPUTED:
                yield str(digest)

    def _segments(self, digest: JsonValue) -> tuple[Segment, ...]:
        segments: list[Segment] = []
        for part in json.loads(self.text(digest)):
            rows = cast("list[tuple[str, str, bool, dict[str, JsonValue]]]", json.loads(self.text(part)))
            segments += [
                Segment(name, self.text(content), stable, about) for name, content, stable, about in rows
            ]
        return tuple(segments)

    def _turn_segment(self, entry: Mapping[str, JsonValue]) -> Segment:
        about = {name: value for name, value in entry.items() if name not in {"id", "content"}}
        return Segment(str(entry["id"]), self.text(entry["content"]), stable=False, metadata=about)

    def _user_message(self, layers: Sequence[Layer]) -> Message | None:
        kept = self.record["userMessage"]
        if kept is None:
            return None
        if kept != _COMPUTED:
            return _message_from_wire(json.loads(self.text(kept)))
        return Message(Role.USER, (Text(_said(self._optional("additional"), layers)),))

    def _tools(self) -> tuple[ToolSpec, ...]:
        digest = self.record.get("tools")
        if digest is None:
            return ()
        return tuple(
            ToolSpec.from_wire(each) for each in cast("list[JsonValue]", json.loads(self.text(digest)))
        )

    def _exchange(self) -> Iterator[Message]:
        for digest in cast("Sequence[JsonValue]", self.record.get("exchange", ())):
            yield _message_from_wire(json.loads(self.text(digest)))

    def _optional(self, name: str) -> str:
        digest = self.record[name]
        return "" if digest is None else self.text(digest)


def _message(segment: Segment) -> Message:
    content = json.loads(segment.content) if segment.metadata.get("blocks") else segment.content
    return _message_from_wire({"role": segment.metadata["role"], "content": content})


def _message_from_wire(value: JsonValue) -> Message:
    fields = cast("Mapping[str, JsonValue]", value)
    content = fields["content"]
    if isinstance(content, str):
        return Message(Role(str(fields["role"])), (Text(content),))
    blocks: list[Block] = []
    for each in cast("Sequence[JsonValue]", content):
        block = content_from_wire(each)
        if isinstance(block, Mixed):
            raise InvalidInputError("blocks do not nest")
        blocks.append(block)
    return Message(Role(str(fields["role"])), tuple(blocks))


def processed_text(envelope: Envelope | None, *, saved: str | None = None, displayed: str = "") -> str:
    """What was sent for a message: computed from its envelope; as it was saved where there is none."""
    if envelope is not None:
        return envelope.processed_user_text
    return displayed if saved is None else saved
