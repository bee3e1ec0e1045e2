"""What points across a grove: links, tags, projects, vaults, folded ranges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit

from weft.errors import InvalidInputError, LimitExceededError
from weft.tree.content import check_text
from weft.tree.json import JsonObject


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


_ITEM_LIMIT = 1_000
_REFERENCE_LIMIT = 2_000


class ProjectItemKind(StrEnum):
    DOCUMENT = "document"
    FOLDER = "folder"
    URL = "url"


@dataclass(frozen=True, slots=True)
class ProjectItem:
    """An item in the context of a project's trees: a document's id, a folder of a vault, a url."""

    kind: ProjectItemKind
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    id: str
    name: str
    system_prompt: str
    context: tuple[ProjectItem, ...]
    revision: int
    created_at: datetime
    archived_at: datetime | None = None


def item_from_text(text: str) -> ProjectItem:
    """`doc:TITLE`, `folder:VAULT/PATH` or a url, as people write them."""
    kind, colon, rest = text.strip().partition(":")
    if colon and kind in {"doc", "document"}:
        return ProjectItem(ProjectItemKind.DOCUMENT, rest.strip())
    if colon and kind == "folder":
        return ProjectItem(ProjectItemKind.FOLDER, rest.strip())
    if colon and kind.lower() in {"http", "https"}:
        return ProjectItem(ProjectItemKind.URL, text.strip())
    raise InvalidInputError(
        f"{text[:60]!r} is no context of a project", hint="doc:TITLE, folder:VAULT/PATH or https://…"
    )


def check_items(items: Sequence[ProjectItem]) -> tuple[ProjectItem, ...]:
    """The items without repetition; refused if one of them can mean nothing."""
    if len(items) > _ITEM_LIMIT:
        raise LimitExceededError(f"a project's context takes at most {_ITEM_LIMIT:,} items")
    for item in items:
        reference = check_text(item.reference, what="context", limit=_REFERENCE_LIMIT)
        if not reference.strip() or "\n" in reference:
            raise InvalidInputError("a project's context names things, each on one line")
        if item.kind is ProjectItemKind.URL:
            _check_url(reference)
        if item.kind is ProjectItemKind.FOLDER and ".." in reference.replace("\\", "/").split("/"):
            raise InvalidInputError(f"{reference[:60]!r} leads out of its vault", hint="name a folder in it")
    return tuple(dict.fromkeys(items))


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        named = parts.hostname
    except ValueError:
        named, parts = None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not named:
        raise InvalidInputError(f"{url[:60]!r} is not a web address", hint="it begins with https://")
    if parts.username is not None or parts.password is not None:
        raise InvalidInputError("an address with a password in it is not kept", hint="leave the password out")


def items_to_wire(items: Sequence[ProjectItem]) -> list[JsonObject]:
    return [{"kind": item.kind.value, "reference": item.reference} for item in items]


def items_from_wire(wire: Sequence[Mapping[str, str]]) -> tuple[ProjectItem, ...]:
    return tuple(ProjectItem(ProjectItemKind(item["kind"]), item["reference"]) for item in wire)


_NAME_LIMIT = 100
_TAKEN = frozenset({"active", "doc", "document", "folder", "node", "tree", "http", "https"})
"""Words that mean something else before a colon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    id: str
    name: str
    path: str
    """Of the folder, on this machine."""
    created_at: datetime


def check_vault_name(name: str) -> str:
    """A name that can precede a path: `VAULT/PATH`, `VAULT:PATH`."""
    cleaned = check_text(name, what="name", limit=_NAME_LIMIT).strip()
    if not cleaned or cleaned.lower() in _TAKEN or any(sign in cleaned for sign in "/\\:\n\r#[]"):
        raise InvalidInputError(
            f"{name[:60]!r} cannot be the name of a vault", hint="one line, without / : # and brackets"
        )
    return cleaned
