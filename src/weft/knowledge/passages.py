"""Split a note into passages, and read its headings, links, tags and front matter."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LONGEST = 1_500
"""Characters of a passage; longer sections are split at lines."""
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FRONT_LIMIT = 64 * 1024
_FRONT_END = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_INLINE_TAG = re.compile(r"(?<![\w/#&\[(])#([\w/-]*[^\W\d][\w/-]*)")
_CODE = re.compile(r"`[^`\n]*`")
_KEY = re.compile(r"([A-Za-z][\w -]{0,60}?)[ \t]*:(.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_LINK = re.compile(
    r"\[\[([^\[\]\n|#^]+)(?:[|#^][^\[\]\n]*)?\]\]|\[[^\[\]\n]*\]\(<?((?:[^()\s<>]|\([^()\s<>]*\))+)>?[^()\n]*\)"
)


class Passage(NamedTuple):
    """Lines of a text, counted from 1, both included."""

    text: str
    start: int
    end: int
    headings: tuple[str, ...] = ()
    """The heading of its section, after those above it."""


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """What a note says about itself."""

    front: Mapping[str, tuple[str, ...]]
    """Front matter: the values of each key, in lower case."""
    tags: frozenset[str]
    """Without #: those of the front matter and those in the text, except in code."""
    links: tuple[str, ...]
    """Targets of its links to other notes and files, each once."""

    @property
    def names(self) -> Sequence[str]:
        """Its title and aliases, where the front matter has them."""
        return tuple(name for key in ("title", "aliases", "alias") for name in self.front.get(key, ()))


def cut_passages(text: str) -> Iterator[Passage]:
    """Split a text at its headings, and long sections at lines; fenced code stays with its heading.

    Headings without text stay with what follows. A line that is too long is split into passages of its own.
    """
    section: list[str] = []
    path: list[tuple[int, str]] = []
    first, size, fenced, bare = 1, 0, False, True
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        heading = None if fenced else _HEADING.match(line)
        if section and ((heading and not bare) or size + len(line) > _LONGEST):
            yield from _passage(section, first, path)
            section, first, size, bare = [], number, 0, True
        if heading:
            level = len(heading[1])
            path = [*(each for each in path if each[0] < level), (level, heading[2].strip())]
        elif line.strip():
            bare = False
        if _FENCE.match(line):
            fenced = not fenced
        while len(line) > _LONGEST:
            piece, line = line[:_LONGEST], line[_LONGEST:]  # noqa: PLW2901 - what is left of the line
            yield from _passage([piece], number, path)
        section.append(line)
        size += len(line) + 1
    yield from _passage(section, first, path)


def _passage(lines: list[str], first: int, path: Sequence[tuple[int, str]]) -> Iterator[Passage]:
    """The lines as a passage without blank lines around it, if any are left."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    if filled:
        start, end = filled[0], filled[-1]
        headings = tuple(name for _, name in path if name)
        yield Passage("\n".join(lines[start : end + 1]), first + start, first + end, headings)


def embedded_text(title: str, passage: Passage) -> str:
    """What a passage is compared by: its title and headings say what it is about."""
    return f"{title}\n{' › '.join(passage.headings)}\n{passage.text}"


def facts_of(text: str) -> NoteFacts:
    """Read the front matter, tags and links of a note."""
    front, rest = _parts(text)
    values = _front_values(front)
    tags = [_plain_tag(name) for key in ("tags", "tag") for name in values.get(key, ())]
    links: dict[str, None] = {}
    for line in _outside_code(rest):
        if "#" in line:
            tags += [match[1].rstrip("/-") for match in _INLINE_TAG.finditer(line)]
        if "](" in line or "[[" in line:
            links.update(dict.fromkeys(match[1] or match[2] for match in _LINK.finditer(line)))
    near = tuple(
        link.strip() for link in links if "://" not in link and not link.startswith(("#", "mailto:"))
    )
    return NoteFacts(values, frozenset(filter(None, tags)), near)


def _parts(text: str) -> tuple[list[str], str]:
    if not text.startswith(("---\n", "---\r\n")):
        return [], text
    end = _FRONT_END.search(text, 4, _FRONT_LIMIT)
    if end is None:
        return [], text
    return text[4 : end.start()].splitlines(), text[end.end() :]


def _front_values(lines: list[str]) -> dict[str, tuple[str, ...]]:
    """`key: value`, `key: [a, b]` or a list below the key; nested values are left out."""
    values: dict[str, tuple[str, ...]] = {}
    listing = ""
    for line in lines:
        key, item = _KEY.match(line), _ITEM.match(line)
        if key is not None:
            name, value = key[1].strip().lower(), key[2].strip()
            listing = "" if value else name
            several = value.startswith("[") or name in {"tags", "tag", "aliases"}
            parts = value.strip("[]").split(",") if several else [value]
            values[name] = (*values.get(name, ()), *_unquoted(parts))
        elif listing and item is not None:
            values[listing] = (*values.get(listing, ()), *_unquoted([item[1]]))
        elif line.strip():
            listing = ""
    return values


def _unquoted(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(filter(None, (value.strip().strip("\"'").strip() for value in values)))


def _plain_tag(name: str) -> str:
    tag = name.removeprefix("#").strip()
    return "" if tag.startswith("-") else tag


def _outside_code(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark is not None and not fence:
            fence = mark[1]
        elif mark is not None and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            yield _CODE.sub("", line) if "`" in line else line
