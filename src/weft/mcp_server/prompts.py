"""Prompts for what people ask most: each brings along what it is about."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mcp_types import (
    EmbeddedResource,
    GetPromptResult,
    ListPromptsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    TextResourceContents,
)

from weft.errors import InvalidInputError, NotFoundError
from weft.grove.grove import Grove
from weft.mcp_server.resources import (
    MARKDOWN,
    PLAIN,
    branch_text,
    document_at,
    document_uri,
    node_text,
    node_uri,
)

_MOST_SIBLINGS = 20
Given: TypeAlias = Mapping[str, str]
Brought: TypeAlias = tuple[str, list[tuple[str, str, str]]]
"""What is asked; and (address, kind, text) of what it is about."""


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    title: str
    description: str
    arguments: tuple[tuple[str, str], ...]
    make: Callable[[Grove, Given], Brought]


def _summarise(grove: Grove, given: Given) -> Brought:
    tree, node, brought = _branch(grove, given)
    asked = (
        f"Summarise this branch of the tree {tree!r}, from its root to [{node}], in a few sentences: what it is "
        "about, what was decided, what is open. Name nodes by their ids in brackets."
    )
    return asked, brought


def _compare(grove: Grove, given: Given) -> Brought:
    tree = grove.read.tree(_needed(given, "tree"))
    node = grove.read.node(tree.id, _needed(given, "node"))
    siblings = grove.read.siblings(tree.id, node.id)[:_MOST_SIBLINGS]
    if len(siblings) < 2:
        raise NotFoundError(
            f"[{node.local_id}] has no siblings: there is nothing to compare",
            hint="name a node whose parent has several continuations, or make one with `respond` or `continue`",
        )
    listed = ", ".join(f"[{each.local_id}]" for each in siblings)
    asked = (
        f"These continuations of one node are side by side: {listed}. Compare them: what each does, where they "
        "part, which you would go on from and why. Say so by their ids."
    )
    return asked, [
        (node_uri(tree.id, each.local_id), PLAIN, node_text(grove, tree.id, each.local_id))
        for each in siblings
    ]


def _continue(grove: Grove, given: Given) -> Brought:
    tree, node, brought = _branch(grove, given)
    asked = (
        f"Go on from here. Read the branch, then write what comes next and put it below [{node}] of the tree "
        f"{tree!r} with the tool `respond`."
    )
    return asked, brought


def _review(grove: Grove, given: Given) -> Brought:
    document = document_at(grove, _needed(given, "document"))
    asked = (
        f"Review the document {document.title!r} (revision {document.revision}): what is unclear, what is missing, "
        "what contradicts itself. Name sections by their headings, and propose changes; change nothing unasked."
    )
    return asked, [(document_uri(document.id), MARKDOWN, document.content)]


_TREE = ("tree", "The tree, by its id or title.")
_NODE = ("node", "A node's local id; else where you are.")
_ROWS = {
    row.name: row
    for row in (
        _Row("summarise-branch", "Summarise a branch", "What a branch comes to.", (_TREE, _NODE), _summarise),
        _Row("compare-siblings", "Compare siblings", "Continuations side by side.", (_TREE, _NODE), _compare),
        _Row("continue-from-here", "Continue from here", "Write what comes next.", (_TREE, _NODE), _continue),
        _Row(
            "review-document",
            "Review a document",
            "What is unclear or missing in a document.",
            (("document", "The document, by its title or id."),),
            _review,
        ),
    )
}
_OPTIONAL = {("summarise-branch", "node"), ("continue-from-here", "node")}


def list_prompts() -> ListPromptsResult:
    return ListPromptsResult(
        prompts=[
            Prompt(
                name=row.name,
                title=row.title,
                description=row.description,
                arguments=[
                    PromptArgument(name=name, description=about, required=(row.name, name) not in _OPTIONAL)
                    for name, about in row.arguments
                ],
            )
            for row in _ROWS.values()
        ]
    )


def get_prompt(grove: Grove, name: str, given: Given | None) -> GetPromptResult:
    row = _ROWS.get(name)
    if row is None:
        raise NotFoundError(f"there is no prompt {name[:100]!r}", hint=f"there are {', '.join(_ROWS)}")
    strange = set(given or {}) - {known for known, _ in row.arguments}
    if strange:
        raise InvalidInputError(
            f"{min(strange)[:100]} is no argument of this prompt", path=min(strange)[:100]
        )
    asked, brought = row.make(grove, given or {})
    about = [
        PromptMessage(
            role="user",
            content=EmbeddedResource(
                type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=text)
            ),
        )
        for uri, kind, text in brought
    ]
    words = PromptMessage(role="user", content=TextContent(type="text", text=asked))
    return GetPromptResult(description=row.description, messages=[*about, words])


def _branch(grove: Grove, given: Given) -> tuple[str, str, list[tuple[str, str, str]]]:
    tree = grove.read.tree(_needed(given, "tree"))
    chosen = given.get("node")
    node = grove.read.node(tree.id, chosen or grove.read.cursor(tree.id).node_id)
    uri = node_uri(tree.id, node.local_id, "branch")
    return tree.title, node.local_id, [(uri, PLAIN, branch_text(grove, tree.id, node.id))]


def _needed(given: Given, name: str) -> str:
    value = given.get(name)
    if not value:
        raise InvalidInputError(f"{name} is missing", path=name)
    return value
