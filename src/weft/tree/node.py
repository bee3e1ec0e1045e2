"""Nodes: immutable pieces of content, with the only mutable part kept apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from weft.tree.agent import AgentType
from weft.tree.citation import Citation
from weft.tree.content import Content, kind_of, spoken_text
from weft.tree.edge import Edge, EdgeType
from weft.tree.item import Item


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Status(StrEnum):
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


def role_of(author_type: AgentType) -> Role:
    return Role.USER if author_type is AgentType.HUMAN else Role.ASSISTANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The part of a node that may change; identity and hash do not depend on it."""

    excluded: bool = False
    pruned: bool = False
    bookmarked: bool = False
    bookmark_label: str | None = None
    hidden: bool = False

    @property
    def live(self) -> bool:
        return not (self.pruned or self.hidden)


@runtime_checkable
class Identified(Protocol):
    """Anything with an id: a node, or the handle of one."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One immutable piece of content in a tree."""

    id: str
    local_id: str
    tree_id: str
    content: Content
    summary: str | None = None
    author_id: str
    author_type: AgentType
    role: Role
    status: Status = Status.COMPLETE
    content_hash: str
    created_at: datetime
    edited_from: str | None = None
    attachments: tuple[Item, ...] = ()
    citations: tuple[Citation, ...] = ()
    """What it cites of the sources that it was given."""
    edge: Edge | None
    """None for the root only."""
    depth: int
    metadata: Metadata = Metadata()

    @property
    def text(self) -> str:
        """The words, without thinking, tools or media."""
        return spoken_text(self.content)

    @property
    def kind(self) -> str:
        return kind_of(self.content)

    @property
    def is_root(self) -> bool:
        return self.edge is None

    @property
    def is_annotation(self) -> bool:
        return self.edge is not None and self.edge.type is EdgeType.ANNOTATION


def node_marks(node: Node, annotations: int = 0) -> Iterator[str]:
    """A node's marks, in words: bookmark, flags, notes, items."""
    metadata = node.metadata
    if metadata.bookmarked:
        yield f"★ {metadata.bookmark_label or ''}".rstrip()
    for name, is_set in (
        ("excluded", metadata.excluded),
        ("pruned", metadata.pruned),
        ("undone", metadata.hidden),
        ("interrupted", node.status is Status.INTERRUPTED),
    ):
        if is_set:
            yield name
    if annotations:
        yield counted(annotations, "annotation")
    if node.attachments:
        yield f"{len(node.attachments)} attached"
    if node.citations:
        yield counted(len(node.citations), "citation")
    if unknown := [each.number for each in node.citations if not each.is_known]:
        yield f"unknown source {', '.join(f'[{number}]' for number in dict.fromkeys(unknown))}"


def counted(number: int, word: str) -> str:
    """How many of something: `1 node`, `2 nodes`."""
    if number == 1:
        return f"1 {word}"
    if word.endswith("dy"):
        return f"{number:,} {word[:-1]}ies"
    return f"{number:,} {word}{'es' if word.endswith(('s', 'ch')) else 's'}"
