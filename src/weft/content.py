"""What a node can hold: text, images, sounds, tool calls and their results, thinking."""

from weft.tree.content import (
    Audio,
    Block,
    Content,
    Image,
    Mixed,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    as_content,
    plain_text,
)

__all__ = [
    "Audio",
    "Block",
    "Content",
    "Image",
    "Mixed",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "as_content",
    "plain_text",
]
