"""Context items as layers see them: what a turn brings along, each with an id that stays."""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from weft.errors import InvalidInputError
from weft.tree.content import Image
from weft.tree.item import Item


class LayerId(StrEnum):
    """Layers in the order of their stability."""

    SYSTEM = "L1_SYSTEM"
    LIBRARY = "L2_LIBRARY"
    TURN = "L3_TURN"
    HISTORY = "L4_HISTORY"
    USER = "L5_USER"


LABELS = {
    LayerId.SYSTEM: "System & Policies",
    LayerId.LIBRARY: "Context Library",
    LayerId.TURN: "Smart References",
    LayerId.HISTORY: "Chat History",
    LayerId.USER: "User Message",
}


class ItemType(StrEnum):
    """The types that have a shape of their own; any other is rendered as a plain context item."""

    NOTE = "note"
    ACTIVE_NOTE = "active_note"
    URL = "url"
    SELECTION = "selection"
    QUERY = "query"
    DOCUMENT = "document"
    NODE = "node"


EXPANDED = frozenset({"tag", "folder"})
"""Types of items that stand for others beside them: kept with a turn, and never shown to a model."""


LIBRARY_HEADING = "## Context Library"


REFERENCES = "Context attached:"


FIND_IN_LIBRARY = "Find them in the Context Library above."


FIND_ABOVE = "Find them above."


SEPARATOR = "---\n\n[User query]:\n"
"""Between context and question, so that the question stands last and clear."""


ADDITIONAL = "# Additional context:"


SUMMARY_HEADING = "Summary of the conversation so far:"


ELEMENTS = frozenset(
    {
        *("note_context", "active_note", "url_content", "selected_text", "query_block"),
        *("document_context", "node_context", "context_item"),
        *("title", "path", "url", "id", "type", "ctime", "mtime", "start_line", "end_line", "revision"),
        *("content", "outline", "rest"),
        *("user_memory", "project_system_prompt", "project_context", "reference", "guidance"),
    }
)
"""Tags that nothing from outside may close."""


_SELECTION = re.compile(r"(?P<path>.*)#L(?P<start>\d+)-L(?P<end>\d+)\Z", re.DOTALL)
_QUERY = re.compile(r"(?P<path>.*)#query-[0-9a-f]+\Z", re.DOTALL)
_HASH_LENGTH = 12
_EMBEDS = re.compile(
    r"!\[\[(?P<wiki>[^\[\]\n|#^]+)(?:[|#^][^\[\]\n]*)?\]\]"
    r"|!\[[^\[\]\n]*\]\(<(?P<angled>[^<>\n]+)>\)"
    r"|!\[[^\[\]\n]*\]\((?P<plain>(?:[^()\s<>]|\([^()\s<>]*\))+)(?:[ \t]+\"[^\"\n]*\")?\)"
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".avif", ".heic", ".svg")


class SelectedLines(NamedTuple):
    """Where a selection was made."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One thing that a turn brings along, with what is shown of it besides its content.

    Title and times are for the model to read; whether an item changed is a matter of its
    content alone.
    """

    item: Item
    title: str | None = None
    """None: the name that follows from its id."""
    created: str | None = None
    modified: str | None = None
    """ISO 8601, as it is to be shown."""
    images: tuple[Image, ...] = ()
    """Of the active note only; what bears images is never promoted."""

    @property
    def id(self) -> str:
        return self.item.id

    @property
    def type(self) -> str:
        return self.item.type

    @property
    def content(self) -> str:
        return self.item.content

    @property
    def sha256(self) -> str:
        return self.item.sha256

    @property
    def recoverable(self) -> bool:
        return self.item.recoverable

    @property
    def lines(self) -> SelectedLines | None:
        """Of a selection whose id says them."""
        selection = _SELECTION.match(self.id) if self.type == ItemType.SELECTION else None
        return (
            None
            if selection is None
            else SelectedLines(selection["path"], int(selection["start"]), int(selection["end"]))
        )

    @property
    def path(self) -> str:
        """The note it comes from, where it comes from one."""
        query = _QUERY.match(self.id) if self.type == ItemType.QUERY else None
        if query is not None:
            return query["path"]
        return self.id if self.lines is None else self.lines.path

    @property
    def shown_title(self) -> str:
        if self.title is not None:
            return self.title
        return self.path.rsplit("/", 1)[-1].removesuffix(".md")


def note(path: str, content: str, **shown: str | None) -> ContextItem:
    """A note of a vault. Its id is its path."""
    return _made(path, ItemType.NOTE, content, shown)


def active_note(path: str, content: str, **shown: str | None) -> ContextItem:
    """The note that is open. Its id is its path, so that it is the same item as the note."""
    return _made(path, ItemType.ACTIVE_NOTE, content, shown)


def url(address: str, content: str, **shown: str | None) -> ContextItem:
    return _made(address, ItemType.URL, content, shown)


def selection(path: str, start: int, end: int, content: str, **shown: str | None) -> ContextItem:
    """Lines of a note, both counted. Nobody can fetch them again, so they are never compacted."""
    if not 0 < start <= end:
        raise InvalidInputError(f"a selection of {path} goes from line {start} to line {end}")
    return _made(f"{path}#L{start}-L{end}", ItemType.SELECTION, content, shown, recoverable=False)


def query(path: str, asked: str, content: str, **shown: str | None) -> ContextItem:
    """What a query block of a note gave. The id follows from the question, not from the answer."""
    digest = hashlib.sha256(asked.strip().encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return _made(f"{path}#query-{digest}", ItemType.QUERY, content, shown)


def document(name: str, content: str, **shown: str | None) -> ContextItem:
    return _made(f"doc:{name}", ItemType.DOCUMENT, content, shown)


def node(local_id: str, content: str, **shown: str | None) -> ContextItem:
    return _made(f"[{local_id}]", ItemType.NODE, content, shown)


def _made(
    name: str, kind: ItemType, content: str, shown: dict[str, str | None], *, recoverable: bool = True
) -> ContextItem:
    unknown = shown.keys() - {"title", "created", "modified"}
    if unknown:
        raise TypeError(f"an item has no {', '.join(sorted(unknown))}")
    item = Item(id=name, type=kind.value, content=content, recoverable=recoverable)
    return ContextItem(
        item=item, title=shown.get("title"), created=shown.get("created"), modified=shown.get("modified")
    )


def image_embeds(content: str) -> tuple[str, ...]:
    """The pictures that a note embeds, in order, each once; what stands in a fenced block is code."""
    names: dict[str, None] = {}
    for line in _outside_fences(content):
        for match in _EMBEDS.finditer(line):
            target = (match["wiki"] or match["angled"] or match["plain"]).strip()
            if target.lower().endswith(_PICTURES) and "://" not in target:
                names[target] = None
    return tuple(names)


def _outside_fences(content: str) -> Iterator[str]:
    fence = ""
    for line in content.splitlines():
        mark = _FENCE.match(line)
        if mark is None:
            if not fence:
                yield line
        elif not fence:
            fence = mark[1]
        elif mark[1].startswith(fence):
            fence = ""


def with_images(item: ContextItem, find: Callable[[str], Image | None]) -> ContextItem:
    """The active note with the pictures that it embeds; any other item as it is.

    `find` gives the stored image of an embed's target, or None where there is none.
    """
    if item.type != ItemType.ACTIVE_NOTE:
        return item
    images = tuple(image for target in image_embeds(item.content) if (image := find(target)) is not None)
    return replace(item, images=images)
