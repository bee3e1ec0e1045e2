"""A path or a tree as Markdown, to read and to keep."""

import json
from collections.abc import Iterator

from weft.interop.exports.exported_tree import ExportedTree
from weft.tree.content import Audio, Block, Image, Text, Thinking, ToolCall, ToolResult, blocks_of, is_blank
from weft.tree.node import Node, node_marks
from weft.tree.tree import Mode


def write_markdown(source: ExportedTree) -> Iterator[str]:
    """One heading a message; a branch says which of how many it is."""
    yield f"# {source.tree.title}\n"
    if source.tree.system_context.strip():
        yield f"\n{_quoted(source.tree.system_context)}\n"
    if source.tree.mode is Mode.BUFFER and all(len(source.children(node)) < 2 for node in source.nodes):
        yield "\n" + "".join(_text(node) for node, *_ in source.walk()) + "\n"
        return
    for node, _, index, count in source.walk():
        if is_blank(node.content):
            continue
        branch = f" · branch {index + 1} of {count}" if count > 1 else ""
        marks = "".join(f" · {mark}" for mark in node_marks(node))
        yield f"\n## {source.author(node)} [{node.local_id}]{branch}{marks}\n\n{_text(node)}\n"
        for note in source.annotations(node):
            yield f"\n{_quoted(f'{source.author(note)}: {_text(note)}')}\n"


def _text(node: Node) -> str:
    return "\n\n".join(map(_block, blocks_of(node.content)))


def _block(block: Block) -> str:
    match block:
        case Text():
            return block.text
        case Thinking():
            return _quoted(f"*thinking*\n\n{block.text}")
        case ToolCall():
            return _fenced(f"{block.name} {json.dumps(block.arguments, ensure_ascii=False)}", "tool call")
        case ToolResult():
            result = (
                block.content
                if isinstance(block.content, str)
                else json.dumps(block.content, ensure_ascii=False)
            )
            return _fenced(result, "tool result")
        case Image():
            return f"![{block.alt_text or 'image'}](sha256:{block.ref})"
        case Audio():
            return block.transcript or f"[audio](sha256:{block.ref})"


def _fenced(text: str, label: str) -> str:
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{label}\n{text}\n{ticks}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
