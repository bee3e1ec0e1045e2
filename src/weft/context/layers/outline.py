"""What is left of a long text that can be had again: its headings and how each section begins."""

import re
from collections.abc import Iterator
from itertools import islice, pairwise

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
    headings = (found.start() for found in _HEADING.finditer(content))
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
