"""Trees, nodes, branches and documents by address, to be read whole."""

import contextlib
import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from mcp_types import (
    Annotations,
    CompleteResult,
    Completion,
    CompletionArgument,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from weft.commands.reply import tree_drawn
from weft.context.agent_view.loom_block import absolute_heading, escape_look_alikes
from weft.errors import InvalidInputError, PermissionDeniedError
from weft.grove.grove import Grove
from weft.ids import is_ulid
from weft.runtime.contexts.linked_documents import LinkedDocuments
from weft.runtime.contexts.loom_view import LoomView, words_of
from weft.runtime.views.listings import ListingRow, document_page, tree_page
from weft.tree.document import Document
from weft.tree.json_names import iso
from weft.tree.node import Node

PAGE = 100
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
_DEPTH = 100
"""Levels of a tree that are drawn; `tree` draws from any node."""
_TAIL = 1_000
"""Nodes of a branch that are read at most, from its end."""
_ADDRESS = re.compile(
    r"weft://(?:tree/(?P<tree>[0-9A-Za-z]{26})(?:/(?P<part>node|branch)/(?P<node>[0-9A-Za-z'’′%]{4,400}))?"
    r"|document/(?P<document>[0-9A-Za-z]{26}))/?"
)


class ResourceAddress(NamedTuple):
    """What an address names."""

    kind: str
    """`tree`, `node`, `branch` or `document`."""
    id: str
    """The tree's or the document's."""
    node: str = ""


def tree_uri(tree: str) -> str:
    return f"weft://tree/{tree}"


def node_uri(tree: str, node: str, part: str = "node") -> str:
    return f"weft://tree/{tree}/{part}/{quote(node, safe='')}"


def document_uri(document: str) -> str:
    return f"weft://document/{document}"


def parse_uri(uri: str) -> ResourceAddress:
    parts = _ADDRESS.fullmatch(uri) if len(uri) <= 1_000 else None
    if parts is None:
        raise InvalidInputError(
            f"{uri[:200]!r} is not an address here",
            hint="weft://tree/ID, weft://tree/ID/node/LOCAL, weft://tree/ID/branch/LOCAL, weft://document/ID",
            path="uri",
        )
    if parts["document"] is not None:
        return ResourceAddress("document", parts["document"].upper())
    return ResourceAddress(parts["part"] or "tree", parts["tree"].upper(), unquote(parts["node"] or ""))


def list_templates() -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(name=name, uri_template=f"weft://{path}", mime_type=kind, description=about)
            for name, path, kind, about in (
                ("tree", "tree/{tree}", PLAIN, "A tree, drawn."),
                ("node", "tree/{tree}/node/{node}", PLAIN, "One node in full, with its annotations."),
                ("branch", "tree/{tree}/branch/{node}", PLAIN, "The conversation from the root to a node."),
                ("document", "document/{document}", MARKDOWN, "A document."),
            )
        ]
    )


def list_resources(grove: Grove, cursor: str | None) -> ListResourcesResult:
    """Trees, then documents, the newest first; the cursor names the last one that was listed."""
    kind, _, after = ("tree:" if cursor is None else cursor).partition(":")
    known = is_ulid(after) if kind == "tree" else kind == "document" and (is_ulid(after) or not after)
    if cursor is not None and not known:
        raise InvalidInputError("unknown cursor", hint="start again without it", path="cursor")
    listed: list[Resource] = []
    if kind == "tree":
        trees = tree_page(grove.read, after=after or None, limit=PAGE + 1)
        listed = [_resource(each, tree_uri(each.id), PLAIN) for each in trees[:PAGE]]
        if len(trees) > PAGE:
            return ListResourcesResult(resources=listed, next_cursor=f"tree:{trees[PAGE - 1].id}")
        after = ""
    room = PAGE - len(listed)
    try:
        documents = document_page(grove.read, after=after or None, limit=room + 1)
    except PermissionDeniedError:
        # A caller without doc_read gets trees alone.
        documents = []
    listed += [_resource(each, document_uri(each.id), MARKDOWN) for each in documents[:room]]
    more = len(documents) > room
    last = documents[room - 1].id if more and room else ""
    return ListResourcesResult(resources=listed, next_cursor=f"document:{last}" if more else None)


def _resource(each: ListingRow, uri: str, kind: str) -> Resource:
    return Resource(
        uri=uri,
        name=each.title or "Untitled",
        title=each.title or None,
        description=each.summary or None,
        mime_type=kind,
        annotations=Annotations(last_modified=iso(each.updated_at)),
    )


def read_resource(grove: Grove, uri: str) -> ReadResourceResult:
    kind, name, node = parse_uri(uri)
    if kind == "document":
        text = document_at(grove, name).content
    elif kind == "tree":
        text = tree_text(grove, name)
    else:
        text = (branch_text if kind == "branch" else node_text)(grove, name, node)
    mime_type = MARKDOWN if kind == "document" else PLAIN
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=mime_type, text=text)])


def document_at(grove: Grove, reference: str) -> Document:
    """A document, if the caller may read it from outside of its trees."""
    return LinkedDocuments(grove.read.store, grove.read.actor).document_anywhere(reference)


def tree_text(grove: Grove, reference: str) -> str:
    """A tree's facts, and how it is grown."""
    tree = grove.read.tree(reference)
    counters = tree.counters
    drawn = LoomView(grove.read.store, grove.read.actor).drawn(tree.id, None, depth=_DEPTH, summary=True)
    facts = (
        f'Tree: "{tree.title}" ({tree.mode} mode)',
        f"{counters.nodes:,} nodes · {counters.branches:,} branches · depth: {counters.depth:,}",
        *filter(None, (tree.description, tree.summary)),
    )
    # Without the line of success: this is no command.
    _, _, drawing = tree_drawn(drawn.rows, drawn.depth).partition("\n")
    return "\n".join([*facts, "", drawing])


def node_text(grove: Grove, tree: str, reference: str) -> str:
    node = grove.read.node(tree, reference)
    return _written(grove, [node, *grove.read.children(tree, node.id, annotations=True)])


def branch_text(grove: Grove, tree: str, reference: str) -> str:
    """What was said from the root to a node; of a very long branch, the last of it."""
    return _written(grove, list(grove.read.path(tree, reference, tail=_TAIL)))


def _written(grove: Grove, nodes: list[Node]) -> str:
    """Each under its heading; no text can pass for one."""
    seeing = LoomView(grove.read.store, grove.read.actor)
    facts = seeing.facts(nodes[0].tree_id, [node.id for node in nodes])
    return "\n\n".join(
        f"{absolute_heading(facts[node.id])}\n{escape_look_alikes(words_of(node.content))}" for node in nodes
    )


_LOOKED_AT = 1_000
_SHOWN = 100
"""More the protocol does not take."""


def complete(grove: Grove, argument: CompletionArgument) -> CompleteResult:
    """What an argument of a prompt or an address may be: by the beginning of an id or of a title, in any case."""
    begun, listed = argument.value.casefold(), list[ListingRow]()
    with contextlib.suppress(PermissionDeniedError):
        if argument.name == "tree":
            listed = tree_page(grove.read, limit=_LOOKED_AT)
        elif argument.name == "document":
            listed = document_page(grove.read, limit=_LOOKED_AT)
    ids = [
        each.id for each in listed if any(text.casefold().startswith(begun) for text in (each.id, each.title))
    ]
    return CompleteResult(
        completion=Completion(values=ids[:_SHOWN], total=len(ids), has_more=len(ids) > _SHOWN)
    )
