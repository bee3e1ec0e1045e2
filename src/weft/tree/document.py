"""Documents: mutable markdown whose every save names the revision it started from."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from weft.errors import InvalidInputError, NotFoundError

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    id: str
    title: str
    content: str
    summary: str | None = None
    revision: int
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One save of a document, without its text."""

    document_id: str
    revision: int
    title: str
    author_id: str
    characters: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what follows it, up to the next heading of its level or above."""

    slug: str
    title: str
    level: int
    start: int
    """Offset of the heading in the text."""
    end: int


def slug(heading: str) -> str:
    """The heading as an address: lower case, letters and digits, hyphens between."""
    folded = unicodedata.normalize("NFKC", heading).casefold()
    return re.sub(r"[^\w]+", "-", folded).strip("-_") or "section"


def sections_of(text: str) -> tuple[Section, ...]:
    """Sections in order; headings inside code fences do not count, repeated slugs are numbered."""
    headings: list[tuple[int, int, str]] = []
    offset = 0
    fence: str | None = None
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark is not None:
            marker = mark.group(1)
            if fence is None:
                fence = marker
            elif marker.startswith(fence):
                fence = None
        elif fence is None and (heading := _HEADING.match(line.rstrip("\r\n"))):
            headings.append((offset, len(heading.group(1)), heading.group(2)))
        offset += len(line)
    return _close_sections(headings, len(text))


def _close_sections(headings: list[tuple[int, int, str]], end: int) -> tuple[Section, ...]:
    ends = [end] * len(headings)
    open_: list[int] = []
    for index, (start, level, _) in enumerate(headings):
        while open_ and headings[open_[-1]][1] >= level:
            ends[open_.pop()] = start
        open_.append(index)
    seen: dict[str, int] = {}
    taken: set[str] = set()
    result: list[Section] = []
    for (start, level, title), close in zip(headings, ends, strict=True):
        base = slug(title)
        seen[base] = seen.get(base, 0) + 1
        name = base if seen[base] == 1 else f"{base}-{seen[base]}"
        while name in taken:
            seen[base] += 1
            name = f"{base}-{seen[base]}"
        taken.add(name)
        result.append(Section(name, title, level, start, close))
    return tuple(result)


def section_of(text: str, name: str) -> Section:
    """The section with this slug (or heading text)."""
    sections = sections_of(text)
    wanted = slug(name)
    for section in sections:
        if section.slug in {name, wanted}:
            return section
    known = ", ".join(section.slug for section in sections[:12]) or "none: the document has no headings"
    raise NotFoundError(f"no section {name!r}", hint=f"sections: {known}")


def with_section(text: str, name: str, new: str) -> str:
    """The text with one section replaced.

    The heading stays, unless the new text begins with one of its own; so does the line
    end that the section had, and what follows begins on a line of its own.
    """
    section = section_of(text, name)
    old, rest = text[section.start : section.end], text[section.end :]
    heading, _, _ = new.partition("\n")
    if new and _HEADING.match(heading.rstrip("\r")) is None:
        line = old.splitlines(keepends=True)[0]
        new = (line if line.endswith("\n") else line + "\n") + new
    if new and (rest or old.endswith("\n")) and not new.endswith("\n"):
        # The blank lines before the next heading stay.
        gap = old[len(old.rstrip()) :]
        new += gap if rest and "\n" in gap else "\n"
    return text[: section.start] + new + rest


def lines_of(text: str, first: int, last: int) -> str:
    """Lines first to last, counted from 1, inclusive."""
    lines = text.splitlines(keepends=True)
    if not 1 <= first <= last:
        raise InvalidInputError(f"lines {first}-{last} is not a range", hint="lines count from 1")
    if first > max(1, len(lines)):
        raise NotFoundError(f"line {first} is past the end: the document has {len(lines)} lines")
    return "".join(lines[first - 1 : last])


def with_lines(text: str, first: int, last: int, new: str) -> str:
    """The text with lines first to last, counted from 1, replaced; removed if the new text is empty."""
    lines = text.splitlines(keepends=True)
    if not 1 <= first <= last:
        raise InvalidInputError(f"lines {first}-{last} is not a range", hint="lines count from 1")
    if last > len(lines):
        raise NotFoundError(f"line {last} is past the end: the document has {len(lines)} lines")
    rest = "".join(lines[last:])
    return "".join(lines[: first - 1]) + _ended(new, before=lines[last - 1], rest=rest) + rest


def with_inserted(text: str, line: int, new: str) -> str:
    """The text with another before a line, counted from 1; one past the last line is the end."""
    lines = text.splitlines(keepends=True)
    if line < 1:
        raise InvalidInputError(f"{line} is not a line", hint="lines count from 1")
    if line > len(lines) + 1:
        raise NotFoundError(f"line {line} is past the end: the document has {len(lines)} lines")
    if line == len(lines) + 1:
        return with_appended(text, new)
    before, rest = "".join(lines[: line - 1]), "".join(lines[line - 1 :])
    return before + _ended(new, before="\n", rest=rest) + rest


def with_appended(text: str, new: str) -> str:
    """The text with another at its end, which begins on a line of its own."""
    begun = text if not text or text.endswith("\n") else text + "\n"
    return begun + (new if not new or new.endswith("\n") else new + "\n")


def with_section_appended(text: str, name: str, new: str) -> str:
    """The text with another at the end of a section, below the sections that it has."""
    section = section_of(text, name)
    before, rest = text[: section.end], text[section.end :]
    body = before.rstrip()
    gap = before[len(body) :]
    added = with_appended(body, new)
    # The blank lines before the next heading stay.
    return added + (gap.partition("\n")[2] if rest else "") + rest


def _ended(new: str, *, before: str, rest: str) -> str:
    """A text that ends its line where something follows, or where what it replaces did."""
    if new and not new.endswith("\n") and (rest or before.endswith("\n")):
        return new + "\n"
    return new
