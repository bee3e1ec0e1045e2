"""Reading example files of other programs, and their conversations in short lines."""

import json
from pathlib import Path

from weft.interop.importer import ImporterRegistry, ReadConversation, UnreadableConversation, read_files
from weft.interop.source_file import opened_files
from weft.tree.content import Text, Thinking, ToolCall, ToolResult

REGISTRY = ImporterRegistry.installed()


def conversations(path: Path) -> list[ReadConversation | UnreadableConversation]:
    with opened_files(path) as files:
        return list(read_files(files, REGISTRY))


def readable(path: Path) -> list[ReadConversation]:
    read = conversations(path)
    assert all(isinstance(each, ReadConversation) for each in read), read
    return [each for each in read if isinstance(each, ReadConversation)]


def in_short(conversation: ReadConversation) -> list[str]:
    """A heading with the counts, then `role parent: words` for each node; - is the root."""
    arranged = conversation.arranged
    counts, source = arranged.counts, arranged.source
    numbers = {node.id: index for index, node in enumerate(arranged.nodes)}
    head = f"{conversation.format} {source.title!r}: {counts.records} records, {counts.content_records} with content, "
    head += f"{counts.roots} roots, {counts.branch_points} branch points, {counts.leaves} leaves"
    lines = [head, *(f"lost: {loss}" for loss in source.losses), *(f"key: {key.kind}" for key in source.keys)]
    for node in arranged.nodes:
        record = node.record
        parents = [numbers[each] for each in (node.parent, *node.also) if each is not None]
        about = [
            record.model,
            *(name for name in ("excluded", "pruned", "bookmarked", "interrupted") if getattr(record, name)),
        ]
        if node.chances:
            about.append(f"{len(node.chances)} tokens")
        if record.created_at is not None:
            about.append(record.created_at.isoformat())
        words = " + ".join(map(_words, node.parts))
        place = ",".join(map(str, parents)) or "-"
        lines.append(
            f"{node.role.value} {place}: {words} | {' '.join(filter(None, about))}".removesuffix(" | ")
        )
    return lines


def _words(part: object) -> str:
    match part:
        case Text():
            return json.dumps(part.text, ensure_ascii=False)
        case Thinking():
            return f"thinks {json.dumps(part.text, ensure_ascii=False)}"
        case ToolCall():
            return f"calls {part.name} {json.dumps(part.arguments)}"
        case ToolResult():
            return f"result of {part.call_id}: {json.dumps(part.content)}"
        case _:
            return type(part).__name__
