"""Export a tree, or one path of it, in the shapes of other programs and readers."""

from collections.abc import Callable, Iterator, Mapping

from weft.errors import InvalidInputError
from weft.interop.exports.chat_exports import write_chatgpt, write_open_webui
from weft.interop.exports.exported_tree import ExportedTree
from weft.interop.exports.html_page import write_html
from weft.interop.exports.markdown_page import write_markdown
from weft.interop.exports.messages_jsonl import write_messages, write_pairs
from weft.runtime.operations.executor import Caller
from weft.runtime.views.reader import Reader
from weft.tree.node import Node

Writer = Callable[[ExportedTree], Iterator[str]]

WRITERS: Mapping[str, Writer] = {
    "markdown": write_markdown,
    "messages": write_messages,
    "html": write_html,
    "chatgpt": write_chatgpt,
    "open-webui": write_open_webui,
    "pairs": write_pairs,
}
"""By the name of the format, how a tree is written."""
_AT_ONCE = 1_000


def export_tree(caller: Caller, tree: str, format_name: str, *, node: str | None = None) -> Iterator[str]:
    """A tree in a format, piece by piece; with a node, only the path to it.

    Pruned nodes are left out, except of preference pairs, which tell by them what was rejected.
    """
    if format_name not in WRITERS:
        raise InvalidInputError(
            f"there is no format {format_name[:40]!r}",
            hint=f"formats are {', '.join(WRITERS)}",
            path="format",
        )
    reader = Reader.of(caller)
    value = reader.tree(tree)
    nodes = list(_nodes(reader, value.id) if node is None else reader.path(tree, node))
    if format_name != "pairs":
        nodes = [each for each in nodes if each.metadata.live]
    agents = {agent.id: agent for agent in reader.agents(archived=True)}
    current = reader.cursor(tree).node_id if node is None else nodes[-1].id
    source = ExportedTree(value, nodes, agents, current, media=caller.store.blobs.get)
    return WRITERS[format_name](source)


def _nodes(reader: Reader, tree: str) -> Iterator[Node]:
    for first in range(1, reader.skeleton(tree).nodes + 1, _AT_ONCE):
        yield from reader.numbered(tree, first, first + _AT_ONCE - 1)
