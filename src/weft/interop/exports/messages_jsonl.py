"""Paths as messages, and siblings as preference pairs: one JSON object a line, in OpenAI's shape."""

import json
from collections.abc import Iterator, Sequence

from weft.context.sdk_messages import openai_messages, plain_of
from weft.interop.exports.exported_tree import ExportedTree
from weft.tree.content import blocks_of
from weft.tree.json import JsonValue
from weft.tree.message import Message
from weft.tree.node import Node, Role


def write_messages(source: ExportedTree) -> Iterator[str]:
    """One line for each leaf: the messages of its path."""
    for leaf in source.leaves():
        path = source.path(leaf)
        if path:
            yield _line({"messages": path_messages(source, path)})


def write_pairs(source: ExportedTree) -> Iterator[str]:
    """One line for each bookmarked answer beside one that was pruned, or else was not bookmarked."""
    for node, *_ in source.walk():
        answers = [child for child in source.children(node) if child.role is Role.ASSISTANT]
        chosen = [answer for answer in answers if answer.metadata.bookmarked]
        others = [answer for answer in answers if not answer.metadata.bookmarked]
        rejected = [answer for answer in others if answer.metadata.pruned] or others
        for good in chosen:
            for bad in rejected:
                prompt = path_messages(source, source.path(node))
                last = [path_messages(source, [answer], system=False) for answer in (good, bad)]
                yield _line({"prompt": prompt, "chosen": last[0], "rejected": last[1]})


def path_messages(source: ExportedTree, path: Sequence[Node], *, system: bool = True) -> list[JsonValue]:
    """The messages of a path; the tree's system context is the first, unless the path has its own."""
    context = source.tree.system_context.strip() if system else ""
    made: list[JsonValue] = [{"role": "system", "content": context}] if context else []
    for node in path:
        if node.role is Role.SYSTEM:
            made.append({"role": "system", "content": node.text})
            continue
        message = Message(node.role, blocks_of(node.content))
        made.extend(openai_messages(plain_of([message], source.media)))
    return made


def _line(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
