"""Contexts as plain messages, for recipes: a system text, then one message for each node and tool result."""

from collections.abc import Iterable, Iterator, Sequence

from weft.context.envelope import Envelope
from weft.context.recipes.js_compat import compact_json
from weft.context.result import Context
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
from weft.tree.message import Message
from weft.tree.node import Role


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


def plain_request(context: Context) -> Iterator[JsonObject]:
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
