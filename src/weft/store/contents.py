"""How `texts.content` holds what a node says: text as it is, the rest as JSON."""

import json

from weft.store.rows import KINDS
from weft.tree.content import Content, Text, content_from_wire, content_to_wire

__all__ = ["dump_content", "load_content"]


def dump_content(content: Content) -> str:
    if isinstance(content, Text):
        return content.text
    return json.dumps(content_to_wire(content), separators=(",", ":"), ensure_ascii=False)


def load_content(kind: int, stored: str) -> Content:
    return Text(stored) if KINDS[kind] == "text" else content_from_wire(json.loads(stored))
