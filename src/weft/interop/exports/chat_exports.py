"""Trees in the shapes of ChatGPT's export and of Open WebUI's chats, which their own importers read."""

import json
from collections.abc import Iterator
from datetime import datetime

from weft.interop.exports.exported_tree import ExportedTree
from weft.tree.content import Text, Thinking, ToolCall, ToolResult, blocks_of, is_blank, plain_text
from weft.tree.json import JsonValue
from weft.tree.node import Node, Role

_ROOT = "client-created-root"


def write_chatgpt(source: ExportedTree) -> Iterator[str]:
    """A list with one conversation."""
    entries: dict[str, JsonValue] = {
        _ROOT: {"id": _ROOT, "message": None, "parent": None, "children": _ids(source, None)}
    }
    for node, *_ in source.walk():
        if is_blank(node.content):
            continue
        entries[node.id] = {
            "id": node.id,
            "parent": _parent(source, node) or _ROOT,
            "children": _ids(source, node),
            "message": _chatgpt_message(source, node),
        }
    tree = source.tree
    yield json.dumps(
        [
            {
                "id": tree.id,
                "conversation_id": tree.id,
                "title": tree.title,
                "create_time": _seconds(tree.created_at),
                "update_time": _seconds(tree.updated_at),
                "current_node": source.current if source.current in entries else _ROOT,
                "is_archived": tree.archived_at is not None,
                "mapping": entries,
            }
        ],
        ensure_ascii=False,
    )


def _chatgpt_message(source: ExportedTree, node: Node) -> JsonValue:
    blocks = blocks_of(node.content)
    call = next((block for block in blocks if isinstance(block, ToolCall)), None)
    hidden = node.metadata.excluded
    content: JsonValue = {"content_type": "text", "parts": [_words(node)]}
    if blocks and all(isinstance(block, Thinking) for block in blocks):
        thoughts = [{"summary": "", "content": block.text} for block in blocks if isinstance(block, Thinking)]
        content = {"content_type": "thoughts", "thoughts": thoughts}
    elif call is not None:
        content = {"content_type": "code", "text": json.dumps(call.arguments, ensure_ascii=False)}
    author: dict[str, JsonValue] = {"role": node.role.value, "name": None, "metadata": {}}
    if node.role is Role.TOOL:
        author["name"] = _tool_name(source, node)
    return {
        "id": node.id,
        "author": author,
        "create_time": _seconds(node.created_at),
        "content": content,
        "status": "finished_successfully",
        "weight": 0 if hidden else 1,
        "metadata": {
            "model_slug": source.model(node) or None,
            "is_visually_hidden_from_conversation": hidden,
        },
        "recipient": "all" if call is None else call.name,
    }


def _tool_name(source: ExportedTree, node: Node) -> str | None:
    """The name of the call that a result answers."""
    wanted = {block.call_id for block in blocks_of(node.content) if isinstance(block, ToolResult)}
    for each in reversed(source.path(node)):
        for block in blocks_of(each.content):
            if isinstance(block, ToolCall) and block.id in wanted:
                return block.name
    return None


def write_open_webui(source: ExportedTree) -> Iterator[str]:
    """A list with one chat."""
    messages: dict[str, JsonValue] = {}
    for node, *_ in source.walk():
        if is_blank(node.content):
            continue
        by_model = node.role is Role.ASSISTANT
        messages[node.id] = {
            "id": node.id,
            "parentId": _parent(source, node),
            "childrenIds": _ids(source, node),
            "role": node.role.value,
            "content": _words(node),
            "timestamp": int(node.created_at.timestamp()),
            **({"model": source.model(node), "done": True, "output": _output(node)} if by_model else {}),
        }
    tree = source.tree
    history: JsonValue = {
        "currentId": source.current if source.current in messages else None,
        "messages": messages,
    }
    chat: JsonValue = {"title": tree.title, "params": {"system": tree.system_context}, "history": history}
    yield json.dumps(
        [
            {
                "id": tree.id,
                "title": tree.title,
                "created_at": int(tree.created_at.timestamp()),
                "updated_at": int(tree.updated_at.timestamp()),
                "archived": tree.archived_at is not None,
                "meta": {"tags": []},
                "chat": chat,
            }
        ],
        ensure_ascii=False,
    )


def _output(node: Node) -> list[JsonValue]:
    items: list[JsonValue] = []
    for block in blocks_of(node.content):
        match block:
            case Thinking():
                items.append({"type": "reasoning", "content": [{"type": "output_text", "text": block.text}]})
            case ToolCall():
                arguments = json.dumps(block.arguments, ensure_ascii=False)
                items.append(
                    {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": arguments}
                )
            case ToolResult():
                items.append(
                    {"type": "function_call_output", "call_id": block.call_id, "output": block.content}
                )
            case Text():
                items.append({"type": "message", "content": [{"type": "output_text", "text": block.text}]})
            case _:
                pass
    return items


def _parent(source: ExportedTree, node: Node) -> str | None:
    """The nearest node above it that says something."""
    parent = source.parent_id(node)
    while parent is not None and is_blank(source.by_id[parent].content):
        parent = source.parent_id(source.by_id[parent])
    return parent


def _ids(source: ExportedTree, node: Node | None) -> list[JsonValue]:
    """The nodes below it that say something; an empty one is passed through."""
    found: list[JsonValue] = []
    pending = list(reversed(source.children(node)))
    while pending:
        child = pending.pop()
        if is_blank(child.content):
            pending.extend(reversed(source.children(child)))
        else:
            found.append(child.id)
    return found


def _words(node: Node) -> str:
    return node.text or plain_text(node.content)


def _seconds(moment: datetime) -> float:
    return moment.timestamp()
