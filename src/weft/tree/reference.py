"""What points across a grove: links, tags, projects, vaults, folded ranges."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from weft.errors import InvalidInputError
from weft.tree.content import check_text


class TargetKind(StrEnum):
    NODE = "node"
    TREE = "tree"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """One end of a link, or what a tag is on."""

    kind: TargetKind
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An undirected reference between any two of node, tree and document."""

    id: str
    ends: tuple[Target, Target]
    note: str = ""
    author_id: str
    created_at: datetime

    def other(self, end: Target) -> Target:
        return self.ends[1] if self.ends[0] == end else self.ends[0]


@dataclass(frozen=True, slots=True)
class Tag:
    """A case-sensitive label."""

    label: str
    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class CollapsedRange:
    """A range of a path folded into one placeholder in context; the tree keeps every node."""

    id: str
    name: str
    description: str = ""
    first: str
    last: str
    expanded: bool = False


def check_tag(label: str) -> str:
    cleaned = check_text(label, what="tag", limit=200).strip()
    if not cleaned or any(character.isspace() and character != " " for character in cleaned):
        raise InvalidInputError(f"{label!r} is not a tag", hint="a tag is one line of visible text")
    return cleaned
