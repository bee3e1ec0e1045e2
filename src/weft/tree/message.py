"""One message of a request, the same for every provider: adapters translate it."""

from dataclasses import dataclass

from weft.tree.content import Block, Text, ToolCall, ToolResult, content_to_wire
from weft.tree.json import JsonObject
from weft.tree.node import Role


@dataclass(frozen=True, slots=True)
class Message:
    """A role and the blocks of a message."""

    role: Role
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The words, without thinking, tools or media."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def calls(self) -> tuple[str, ...]:
        return tuple(block.id for block in self.blocks if isinstance(block, ToolCall))

    @property
    def results(self) -> tuple[str, ...]:
        return tuple(block.call_id for block in self.blocks if isinstance(block, ToolResult))


def message_to_wire(message: Message) -> JsonObject:
    """The JSON form: words alone as a string, anything else as blocks."""
    if all(isinstance(block, Text) for block in message.blocks):
        return {"role": message.role.value, "content": message.text}
    return {"role": message.role.value, "content": [content_to_wire(block) for block in message.blocks]}
