"""Trees, nodes, branches and documents by address, to be read whole."""

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
from weft.runtime.views.tree_list import Shelved, shelved_documents, shelved_trees
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
    found = _ADDRESS.fullmatch(uri) if len(uri) <= 1_000 else None
    if found is None:
        raise InvalidInputError(
            f"{uri[:200]!r} is not an address here",
            hint="weft://tree/ID, weft://tree/ID/node/LOCAL, weft://tree/ID/branch/LOCAL, weft://document/ID",
            path="uri",
        )
    if found["document"] is not None:
        return ResourceAddress("document", found["document"].upper())
    return ResourceAddress(found["part"] or "tree", found["tree"].upper(), unquote(found["node"] or ""))


def list_templates() -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(
                name="tree", uri_template="weft://tree/{tree}", mime_type=PLAIN, description="A tree, drawn."
            ),
            ResourceTemplate(
                name="node",
                uri_template="weft://tree/{tree}/node/{node}",
                mime_type=PLAIN,
                description="One node in full, with its annotations.",
            ),
            ResourceTemplate(
                name="branch",
                uri_template="weft://tree/{tree}/branch/{node}",
                mime_type=PLAIN,
                description="The conversation from the root to a node.",
            ),
            ResourceTemplate(
                name="document",
                uri_template="weft://document/{document}",
                mime_type=MARKDOWN,
                description="A document.",
            ),
        ]
    )


def list_resources(grove: Grove, cursor: str | None) -> ListResourcesResult:
    """Trees, then documents, the newest first; the cursor says behind which one to go on."""
    kind, after = _place(cursor)
    listed: list[Resource] = []
    if kind == "tree":
        trees = shelved_trees(grove.read, after=after, limit=PAGE + 1)
        listed = [_resource(each, tree_uri(each.id), PLAIN) for each in trees[:PAGE]]
        if len(trees) > PAGE:
            return ListResourcesResult(resources=listed, next_cursor=f"tree:{trees[PAGE - 1].id}")
        after = None
    room = PAGE - len(listed)
    documents = _documents(grove, after, room + 1)
    listed += [_resource(each, document_uri(each.id), MARKDOWN) for each in documents[:room]]
    more = len(documents) > room
    last = documents[room - 1].id if more and room else ""
    return ListResourcesResult(resources=listed, next_cursor=f"document:{last}" if more else None)


def _documents(grove: Grove, after: str | None, limit: int) -> list[Shelved]:
    try:
        return shelved_documents(grove.read, after=after, limit=limit)
    except PermissionDeniedError:
        # A caller without doc_read gets trees alone.
        return []


def _place(cursor: str | None) -> tuple[str, str | None]:
    if cursor is None:
        return "tree", None
    kind, _, after = cursor.partition(":")
    if kind not in {"tree", "document"} or not (is_ulid(after) or (kind == "document" and not after)):
        raise InvalidInputError("unknown cursor", hint="start again without it", path="cursor")
    return kind, after or None


def _resource(each: Shelved, uri: str, kind: str) -> Resource:
    return Resource(
        uri=uri,
        name=each.title or "Untitled",
        title=each.title or None,
        description=each.summary or None,
        mime_type=kind,
        annotations=Annotations(last_modified=iso(each.updated_at)),
    )


def read_resource(grove: Grove, uri: str) -> ReadResourceResult:
    address = parse_uri(uri)
    if address.kind == "document":
        text, kind = document_at(grove, address.id).content, MARKDOWN
    elif address.kind == "tree":
        text, kind = tree_text(grove, address.id), PLAIN
    elif address.kind == "branch":
        text, kind = branch_text(grove, address.id, address.node), PLAIN
    else:
        text, kind = node_text(grove, address.id, address.node), PLAIN
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=kind, text=text)])


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
    """What an argument of a prompt or an address may be."""
    found = [each.id for each in _named(grove, argument.name, argument.value)]
    shown = found[:_SHOWN]
    return CompleteResult(completion=Completion(values=shown, total=len(found), has_more=len(found) > _SHOWN))


def _named(grove: Grove, name: str, begun: str) -> list[Shelved]:
    """By the beginning of an id or of a title, in any case."""
    wanted = begun.casefold()
    try:
        if name == "tree":
            listed = shelved_trees(grove.read, limit=_LOOKED_AT)
        elif name == "document":
            listed = shelved_documents(grove.read, limit=_LOOKED_AT)
        else:
            return []
    except PermissionDeniedError:
        return []
    return [
        each
        for each in listed
        if each.id.casefold().startswith(wanted) or each.title.casefold().startswith(wanted)
    ]
