"""The registry of blocks: one shape for each type of item, and one for the outputs of tools."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from weft.context.layers.escapes import attribute, clean, close_nothing, leave_open, one_line
from weft.context.layers.items import ContextItem
from weft.context.layers.names import ADDITIONAL, ItemType
from weft.context.layers.outline import outline_of
from weft.errors import InvalidInputError

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_SELECTED = "attach a selection of it"


class ItemForm(StrEnum):
    """How much of an item is shown."""

    FULL = "full"
    OUTLINE = "outline"
    STUB = "stub"
    """Its name, and how to get the rest."""


@dataclass(frozen=True, slots=True)
class Block:
    """The shape of a type: its tag, and the elements before its content."""

    tag: str
    heading: Callable[[ContextItem], Sequence[tuple[str, str | None]]]
    rest: str = f"Not shown in full. For the rest, {_SELECTED}."
    """What a model is told where only an outline is shown."""


def _note(item: ContextItem) -> Sequence[tuple[str, str | None]]:
    return (("title", item.shown_title), ("path", item.path), *_times(item))


def _url(item: ContextItem) -> Sequence[tuple[str, str | None]]:
    return (("title", item.title), ("url", item.id), *_times(item))


def _selection(item: ContextItem) -> Sequence[tuple[str, str | None]]:
    lines = item.lines
    where = () if lines is None else (("start_line", str(lines.start)), ("end_line", str(lines.end)))
    return (("title", item.shown_title), ("path", item.path), *where, *_times(item))


def _named(item: ContextItem) -> Sequence[tuple[str, str | None]]:
    return (("id", item.id), ("title", item.title), *_times(item))


def _other(item: ContextItem) -> Sequence[tuple[str, str | None]]:
    return (("type", item.type), *_named(item))


def _times(item: ContextItem) -> Sequence[tuple[str, str | None]]:
    return (("ctime", item.created), ("mtime", item.modified))


BLOCKS: Mapping[str, Block] = {
    ItemType.NOTE: Block(
        "note_context", _note, f"Not shown in full. For the rest, use readNote, or {_SELECTED}."
    ),
    ItemType.ACTIVE_NOTE: Block(
        "active_note", _note, f"Not shown in full. For the rest, use readNote, or {_SELECTED}."
    ),
    ItemType.URL: Block("url_content", _url, "Not shown in full. For the rest, open the url."),
    ItemType.SELECTION: Block("selected_text", _selection),
    ItemType.QUERY: Block("query_block", lambda item: (("id", item.id), *_note(item))),
    ItemType.DOCUMENT: Block(
        "document_context", _named, "Not shown in full. For the rest, read the document by its id."
    ),
    ItemType.NODE: Block("node_context", _named, "Not shown in full. For the rest, read the node by its id."),
}
_OTHER = Block("context_item", _other)


def block_of(kind: str) -> Block:
    return BLOCKS.get(kind, _OTHER)


def render_item(
    item: ContextItem,
    *,
    form: ItemForm = ItemForm.FULL,
    revision: int = 1,
    promoted: bool = False,
    most: int | None = None,
) -> str:
    """One item as the model reads it.

    `promoted` is what stands in the library, where no note is active any more. `most` is
    the number of characters that its content may have.
    """
    kind = ItemType.NOTE if promoted and item.type == ItemType.ACTIVE_NOTE else item.type
    block = block_of(kind)
    lines = [f"<{block.tag}>"]
    lines += [f"<{name}>{one_line(text)}</{name}>" for name, text in block.heading(item) if text]
    if revision > 1:
        lines.append(f"<revision>{revision}</revision>")
    lines += _shown(item, block, form, most)
    lines.append(f"</{block.tag}>")
    return "\n".join(lines)


def _shown(item: ContextItem, block: Block, form: ItemForm, most: int | None) -> list[str]:
    if form is ItemForm.STUB:
        return [f"<rest>{block.rest}</rest>"]
    if form is ItemForm.OUTLINE:
        outline = close_nothing(outline_of(clean(item.content)))
        return ["<outline>", outline, "</outline>", f"<rest>{block.rest}</rest>"]
    content = shown_content(item)
    if most is not None:
        content = both_ends(content, most)
    return ["<content>", content, "</content>"] if content else ["<content>", "</content>"]


def shown_content(item: ContextItem) -> str:
    return close_nothing(clean(item.content))


def both_ends(content: str, most: int) -> str:
    """Beginning and end of a content that is too long for its turn, cut at coarse places."""
    if len(content) <= most:
        return content
    unit = max(1, 1 << max(0, most.bit_length() - 6))
    front = -(-most // 2) // unit * unit
    back = (most - front) // unit * unit
    return content[:front] + "\n[…]\n" + (content[len(content) - back :] if back else "")


class CitedSource(NamedTuple):
    """What a number stands for that an answer may cite."""

    number: int
    id: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """What a tool gave for this turn, whole: its instruction, its documents, its own guidance."""

    name: str
    content: str
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    sources: tuple[CitedSource, ...] = ()
    """Those that its guidance lists."""

    def __post_init__(self) -> None:
        for name in (self.name, *self.attributes):
            if _TOOL_NAME.match(name) is None:
                raise InvalidInputError(
                    f"{name[:60]!r} cannot be a tag", hint="tools and attributes are named as identifiers are"
                )

    def render(self) -> str:
        attributes = "".join(f' {name}="{attribute(value)}"' for name, value in self.attributes.items())
        content = leave_open(clean(self.content), self.name)
        inner = f"\n{content}\n" if content else "\n"
        return f"<{self.name}{attributes}>{inner}</{self.name}>"


def render_tools(outputs: Sequence[ToolOutput]) -> str:
    """All outputs of a turn, each self-contained, under one heading; nothing if there are none."""
    return "\n\n".join([ADDITIONAL, *(each.render() for each in outputs)]) if outputs else ""
