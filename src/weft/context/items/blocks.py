"""The registry of blocks: one shape for each type of item, and one for the outputs of tools."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice, pairwise

from weft.context.items.item_types import ADDITIONAL, ELEMENTS, ContextItem, ItemType
from weft.errors import InvalidInputError
from weft.tree.citation import CitedSource

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")


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
    reader: str = ""
    """The tool that reads it."""
    given: str = "a selection of it"
    """What the user can attach where no tool reads it."""

    def rest(self, readers: Collection[str]) -> str:
        """How the model gets the rest, where only an outline is shown: by a tool that it has, or from the user."""
        how = f"use {self.reader}" if self.reader in readers else f"ask the user to attach {self.given}"
        return f"Not shown in full. For the rest, {how}."


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


READ_NOTE, READ_URL, VIEW = "readNote", "readUrl", "→ view"
"""What reads on: tools, and a loom-aware agent's command."""
BLOCKS: Mapping[str, Block] = {
    ItemType.NOTE: Block("note_context", _note, READ_NOTE),
    ItemType.ACTIVE_NOTE: Block("active_note", _note, READ_NOTE),
    ItemType.URL: Block("url_content", _url, READ_URL, "its text"),
    ItemType.SELECTION: Block("selected_text", _selection),
    ItemType.QUERY: Block("query_block", lambda item: (("id", item.id), *_note(item))),
    ItemType.DOCUMENT: Block("document_context", _named),
    ItemType.NODE: Block("node_context", _named, VIEW),
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
    shown: str | None = None,
    readers: Collection[str] = (),
) -> str:
    """One item as the model reads it; `readers` are the tools that it has.

    `promoted` is what stands in the library, where no note is active any more. `shown` is
    what is left of its content, where it was shortened.
    """
    kind = ItemType.NOTE if promoted and item.type == ItemType.ACTIVE_NOTE else item.type
    block = block_of(kind)
    form = ItemForm.STUB if is_unread(item) else form
    lines = [f"<{block.tag}>"]
    lines += [f"<{name}>{one_line(text)}</{name}>" for name, text in block.heading(item) if text]
    if revision > 1:
        lines.append(f"<revision>{revision}</revision>")
    lines += _shown(item, form, shown, f"<rest>{block.rest(readers)}</rest>")
    lines.append(f"</{block.tag}>")
    return "\n".join(lines)


def _shown(item: ContextItem, form: ItemForm, shown: str | None, rest: str) -> list[str]:
    if form is ItemForm.STUB:
        return [rest]
    if form is ItemForm.OUTLINE:
        outline = close_nothing(outline_of(clean(item.content)))
        return ["<outline>", outline, "</outline>", rest]
    content = shown_content(item) if shown is None else shown
    return ["<content>", content, "</content>"] if content else ["<content>", "</content>"]


def is_unread(item: ContextItem) -> bool:
    """True for a page of which only the address is known."""
    return item.type == ItemType.URL and not item.content.strip()


def shown_content(item: ContextItem) -> str:
    return close_nothing(clean(item.content))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """What a tool gave for this turn, whole: its instruction, its documents, its own guidance."""

    name: str
    content: str
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    sources: tuple[CitedSource, ...] = ()
    """Those that its guidance lists."""
    guidance: str = ""
    """How to cite them, after the content: it stays where the content is shortened."""
    warnings: tuple[str, ...] = ()
    """What could not be read for it: said in its content, and among the warnings of the turn."""

    def __post_init__(self) -> None:
        for name in (self.name, *self.attributes):
            if not is_tag(name):
                raise InvalidInputError(
                    f"{name[:60]!r} cannot be a tag",
                    hint="use letters, digits, _ . and -, and begin with a letter or _",
                )

    @property
    def whole(self) -> str:
        """The content with its guidance."""
        return "\n\n".join(filter(None, (self.content, self.guidance)))

    def render(self) -> str:
        attributes = "".join(f' {name}="{attribute(value)}"' for name, value in self.attributes.items())
        content = leave_open(clean(self.whole), self.name)
        inner = f"\n{content}\n" if content else "\n"
        return f"<{self.name}{attributes}>{inner}</{self.name}>"


def is_tag(name: str) -> bool:
    """True if a tool or an attribute can have this name."""
    return _TOOL_NAME.match(name) is not None


def render_tools(outputs: Sequence[ToolOutput]) -> str:
    """All outputs of a turn, each self-contained, under one heading; nothing if there are none."""
    return "\n\n".join([ADDITIONAL, *(each.render() for each in outputs)]) if outputs else ""


_NUL, _SHOWN = "\x00", "\ufffd"
_NAMES = "|".join(sorted(ELEMENTS, key=len, reverse=True))
_CLOSING = re.compile(rf"</(?=\s*(?:{_NAMES})\b)", re.IGNORECASE)
_SPACED = re.compile(rf"<(\s+)/(?=\s*(?:{_NAMES})\b)", re.IGNORECASE)
"""Apart, because the common form is replaced many times faster without a group."""
_UNSEEN = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")
_ATTRIBUTE = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\n": "&#10;",
    "\r": "&#13;",
    "\t": "&#9;",
}


def has_nul(text: str) -> bool:
    return _NUL in text


def clean(text: str) -> str:
    """The text with one kind of newline, nothing at the ends of lines, and no NUL.

    Line by line, because a pattern for spaces before a newline takes quadratic time on a
    long run of spaces.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace(_NUL, _SHOWN)
    if " \n" in text or "\t\n" in text or text.endswith((" ", "\t")):
        text = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    return text.strip("\n")


def close_nothing(text: str) -> str:
    """Turn the slash of every tag that would close one of ours. As long as it was, so it costs no token."""
    return _SPACED.sub(r"<\1\\", _CLOSING.sub(r"<\\", text)) if "/" in text else text


def leave_open(text: str, name: str) -> str:
    """The same for one tag alone, around a text that may hold blocks of ours."""
    if "/" not in text:
        return text
    return re.sub(rf"<(\s*)/(?=\s*{re.escape(name)}(?!\w))", r"<\1\\", text, flags=re.IGNORECASE)


def one_line(text: str) -> str:
    """An id, path or title on one line, as it is wherever possible.

    What has a newline in it, could close a tag, or could be taken for something quoted, is written
    as a JSON string: two ids never look alike.
    """
    plain = _UNSEEN.search(text) is None and not text.startswith('"') and text == text.strip()
    if plain and close_nothing(text) == text:
        return text
    quoted = _UNSEEN.sub(_escaped, json.dumps(text, ensure_ascii=False))
    return _SPACED.sub(r"<\1\\/", _CLOSING.sub(r"<\\/", quoted))


def _escaped(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"


def attribute(text: str) -> str:
    """A value between double quotes."""
    text = text.replace(_NUL, _SHOWN)
    return "".join(_ATTRIBUTE.get(character, character) for character in text)


_HEADING = re.compile(r"^[^\S\n]*#{1,6}[ \t]+\S", re.MULTILINE)
_WORD = re.compile(r"\S")
_LINE = 100
_SECTIONS = 12
_PLAIN_LINES = 3


def outline_of(content: str) -> str:
    """Headings, and the first line of each section; of a text without headings its first lines.

    It follows from the content alone, so that it is the same on every turn. A text may have
    millions of lines: patterns look for those that are shown.
    """
    headings = (match.start() for match in _HEADING.finditer(content))
    starts = list(islice(headings, _SECTIONS + 1))
    left_out = len(starts[_SECTIONS:]) + sum(1 for _ in headings)
    ends = [*starts, len(content)][: _SECTIONS + 1]
    shown = list(islice(_lines(content, 0, ends[0]), _PLAIN_LINES))
    for start, end in pairwise(ends):
        shown += islice(_lines(content, start, end), 2)
    if left_out:
        shown.append(f"[{left_out:,} more sections]")
    return "\n".join(shown)


def _lines(content: str, start: int, stop: int) -> Iterator[str]:
    """Those with something in them, each no longer than what is shown of it."""
    while (word := _WORD.search(content, start, stop)) is not None:
        end = content.find("\n", word.start(), stop)
        end = stop if end < 0 else end
        # A line may be megabytes long; its beginning is enough.
        yield _short(content[word.start() : min(end, word.start() + _LINE + 1)].rstrip())
        start = end


def _short(line: str) -> str:
    return line if len(line) <= _LINE else line[: _LINE - 1].rstrip() + "…"
