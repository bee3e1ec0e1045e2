"""Messages in the shapes of OpenAI's and Anthropic's clients, from either shape and from the engine's own."""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from weft.context.message_dict import SYSTEM_ROLES, PlainMessage, merged, named_calls
from weft.context.recipes.js_compat import compact_json
from weft.context.tokens import JOINT
from weft.errors import InvalidInputError
from weft.tree.content import Audio, Block, Image, Text, Thinking, ToolCall, ToolResult
from weft.tree.json import JsonObject
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role

if TYPE_CHECKING:
    from weft.context.result import Context

MediaReader: TypeAlias = Callable[[str], bytes]
"""The bytes of a picture or a recording by its `ref`: a grove's `blob`."""
Fields: TypeAlias = dict[str, Any]
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_SIGNED = frozenset({"thinking", "redacted_thinking"})
_DATA = "data:"


def plain_context(context: "Context[Any, Any, Any]", media: MediaReader | None) -> list[Fields]:
    """The messages of a context as dictionaries; a document is the last. A list's messages are its own."""
    if context.fitted is not None:
        return list(context.messages)
    document = [] if context.document is None else [Message(Role.USER, (Text(context.document),))]
    return list(plain_of([*context.messages, *document], media))


def message_fields(context: "Context[Any, Any, Any]") -> list[JsonObject]:
    """The messages of a context as they are on the wire."""
    return [each if context.fitted is not None else message_to_wire(each) for each in context.messages]


def plain_of(messages: Iterable[Message], media: MediaReader | None) -> Iterator[Fields]:
    """The engine's messages as dictionaries with blocks, signed thinking among them."""
    for message in messages:
        blocks = [part for block in message.blocks if (part := _part(block, media)) is not None]
        role = message.role if message.role in {Role.ASSISTANT, Role.SYSTEM} else Role.USER
        if blocks:
            words = len(blocks) == 1 and blocks[0]["type"] == "text"
            yield {"role": role.value, "content": blocks[0]["text"] if words else blocks}


def _part(block: Block, media: MediaReader | None) -> Fields | None:
    match block:
        case Text():
            return {"type": "text", "text": block.text} if block.text else None
        case Image():
            source = {"type": "base64", "media_type": block.mime_type, "data": _encoded(block, media)}
            return {"type": "image", "source": source}
        case Audio():
            if block.mime_type not in _SOUNDS or media is None:
                return {"type": "text", "text": block.transcript} if block.transcript else None
            sound = {"data": _encoded(block, media), "format": _SOUNDS[block.mime_type]}
            return {"type": "input_audio", "input_audio": sound, "transcript": block.transcript}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": _object(block.arguments)}
        case ToolResult():
            text = block.content if isinstance(block.content, str) else json.dumps(block.content)
            part = {"type": "tool_result", "tool_use_id": block.call_id, "content": text}
            return {**part, "is_error": True} if block.is_error else part
        case Thinking():
            # Only what its provider signed is taken back.
            signed = isinstance(block.opaque, Mapping) and block.opaque.get("type") in _SIGNED
            return cast("Fields", block.opaque) if signed else None


def _encoded(block: Image | Audio, media: MediaReader | None) -> str:
    if media is None:
        raise InvalidInputError(
            "the messages hold media, which are sent as bytes", hint="give media=, such as a grove's blob"
        )
    return base64.b64encode(media(block.ref)).decode()


def openai_messages(messages: Iterable[PlainMessage], system: object = None) -> list[Fields]:
    """For `client.chat.completions.create(messages=…)`."""
    listed: list[Fields] = [{"role": "system", "content": system_text(system)}] if system else []
    for message in messages:
        content = message.get("content")
        if not isinstance(content, list | tuple):
            listed.append(dict(message))
            continue
        parts, calls = list[Fields](), list[Fields]()
        for block in map(_fields, cast("Sequence[object]", content)):
            kind = block.get("type")
            if kind == "tool_use":
                function = {"name": block.get("name"), "arguments": compact_json(block.get("input"))}
                calls.append({"id": block.get("id"), "type": "function", "function": function})
            elif kind == "tool_result":
                text = system_text(block.get("content"))
                listed.append({"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": text})
            elif kind not in _SIGNED:
                parts.append(_openai_part(block))
        words = all(part.get("type") == "text" for part in parts)
        told = "".join(part["text"] for part in parts) if words else parts
        if calls:
            listed.append({**message, "content": told or None, "tool_calls": calls})
        elif parts:
            listed.append({**message, "content": told})
    return listed


def _openai_part(block: Fields) -> Fields:
    source = block.get("source")
    if block.get("type") == "image" and isinstance(source, Mapping):
        given = cast("Fields", source)
        url = given.get("url") or f"{_DATA}{given.get('media_type')};base64,{given.get('data')}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": block["type"], "input_audio": block["input_audio"]} if "input_audio" in block else block


def anthropic_fields(messages: Iterable[PlainMessage], system: object = None) -> Fields:
    """`system` and `messages` for `client.messages.create(**…)`."""
    systems: list[object] = [system] if system else []
    listed: list[Fields] = []
    for message in messages:
        if message["role"] in SYSTEM_ROLES:
            systems.append(message.get("content"))
            continue
        blocks = list(_anthropic_blocks(message))
        role = "assistant" if message["role"] == "assistant" else "user"
        only = len(blocks) == 1 and blocks[0].get("type") == "text" and blocks[0].keys() <= {"type", "text"}
        made: Fields = {"role": role, "content": blocks[0]["text"] if only else blocks}
        if blocks and listed and listed[-1]["role"] == role:
            # Results of one message's calls are one message.
            listed[-1] = cast("Fields", merged(listed[-1], made))
        elif blocks:
            listed.append(made)
    told = systems[0] if len(systems) == 1 else JOINT.join(filter(None, map(system_text, systems)))
    return {"system": told, "messages": listed} if told else {"messages": listed}


def _anthropic_blocks(message: PlainMessage) -> Iterator[Fields]:
    content = message.get("content")
    if message["role"] in {"tool", "function"}:
        if not isinstance(call := message.get("tool_call_id"), str):
            raise InvalidInputError("a tool's result without a tool_call_id cannot be sent in this shape")
        parts: object = content if isinstance(content, str) else [*map(_anthropic_part, _list(content))]
        yield {"type": "tool_result", "tool_use_id": call, "content": parts}
        return
    if isinstance(content, str) and content.strip():
        yield {"type": "text", "text": content}
    yield from (part for part in map(_anthropic_part, _list(content)) if part.get("text", "…").strip())
    arguments = [_fields(call).get("function") for call in _list(message.get("tool_calls"))]
    calls = [*named_calls({"tool_calls": message.get("tool_calls")})]
    for (call, name), function in zip(calls, arguments, strict=True):
        given = _fields(function).get("arguments")
        yield {"type": "tool_use", "id": call, "name": name, "input": _object(_read(given))}


def _anthropic_part(given: object) -> Fields:
    block = _fields(given)
    url = _fields(block.get("image_url")).get("url") if block.get("type") == "image_url" else None
    if isinstance(url, str) and url.startswith(_DATA):
        kind, _, data = url.removeprefix(_DATA).partition(";base64,")
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    if isinstance(url, str):
        return {"type": "image", "source": {"type": "url", "url": url}}
    if block.get("type") == "input_audio":
        return {"type": "text", "text": block.get("transcript") or ""}
    return block


def system_text(content: object) -> str:
    """A string, or the words of blocks."""
    if isinstance(content, str):
        return content
    return JOINT.join(str(_fields(block).get("text", "")) for block in _list(content))


def _fields(value: object) -> Fields:
    if isinstance(value, str):
        return {"type": "text", "text": value}
    return dict(cast("PlainMessage", value)) if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _object(value: object) -> Fields:
    """Arguments are an object in this shape; what is none is one under a name."""
    return (
        dict(cast("PlainMessage", value)) if isinstance(value, Mapping) else {"input": value} if value else {}
    )


def _read(text: object) -> object:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
