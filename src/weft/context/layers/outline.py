"""What is left of a long text that can be had again: its headings and how each section begins."""

import re
from collections.abc import Iterator

__all__ = ["outline_of"]

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+\S")
_LINE = 100
_SECTIONS = 12
_PLAIN_LINES = 3


def outline_of(content: str) -> str:
    """Headings, and the first line of each section; of a text without headings its first lines.

    It follows from the content alone, so that it is the same on every turn.
    """
    shown: list[str] = []
    sections = left_out = 0
    wanted = _PLAIN_LINES
    for line in _lines(content):
        if _HEADING.match(line):
            sections += 1
            if sections > _SECTIONS:
                left_out += 1
                continue
            shown.append(_short(line))
            wanted = 1
        elif wanted and sections <= _SECTIONS:
            shown.append(_short(line))
            wanted -= 1
    if left_out:
        shown.append(f"[{left_out:,} more sections]")
    return "\n".join(shown)


def _lines(content: str) -> Iterator[str]:
    start = 0
    while start < len(content):
        end = content.find("\n", start)
        end = len(content) if end < 0 else end
        # A line may be megabytes long; its beginning is enough.
        line = content[start : min(end, start + _LINE + 1)].strip()
        if line:
            yield line
        start = end + 1


def _short(line: str) -> str:
    return line if len(line) <= _LINE else line[: _LINE - 1].rstrip() + "…"
