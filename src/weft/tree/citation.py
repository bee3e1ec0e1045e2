"""Citations in an answer: the numbers in brackets, and the sources that they name."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

CITATION_LIMIT = 1_000
"""Citations that are kept of one answer."""
_MARK = re.compile(r"(?<!\\)\[(\^?\d{1,3}(?:[ \t]{0,3},[ \t]{0,3}\^?\d{1,3}){0,50})\](?!:)")
"""`[1]`, `[^1]` and `[1, 2]`, not the `[^1]:` that begins a footnote."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_NUMBER = re.compile(r"\d+")


class CitedSource(NamedTuple):
    """A source that an answer may cite by its number."""

    number: int
    id: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A number that an answer cites, where it is in the text, and the source that it names."""

    number: int
    source: str | None
    """The id of the source; None: no source of this number was offered."""
    title: str = ""
    start: int
    end: int
    """Its place in the spoken text, in characters; the end is not part of it."""

    @property
    def is_known(self) -> bool:
        return self.source is not None


def find_citations(text: str, sources: Iterable[CitedSource]) -> tuple[Citation, ...]:
    """The citations in an answer for which these sources were offered, in order.

    Where no source was offered, a number in brackets is no citation. Brackets in code are none either.
    """
    offered = {each.number: each for each in sources}
    if not offered:
        return ()
    return tuple(islice(_citations(text, offered), CITATION_LIMIT))


def cited_sources(citations: Iterable[Citation]) -> list[str]:
    """Each number once, in order, with its source: for people and models to read."""
    numbered = {each.number: each for each in citations}
    return [
        f"[{number}] {'unknown source' if each.source is None else each.source}"
        f"{f' ({each.title})' if each.title else ''}"
        for number, each in sorted(numbered.items())
    ]


def _citations(text: str, offered: dict[int, CitedSource]) -> Iterator[Citation]:
    for begin, end in _prose(text):
        for mark in _MARK.finditer(text, begin, end):
            for number in map(int, _NUMBER.findall(mark[1])):
                source = offered.get(number)
                yield Citation(
                    number=number,
                    source=None if source is None else source.id,
                    title="" if source is None else source.title,
                    start=mark.start(),
                    end=mark.end(),
                )


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a Markdown text that are not code, in linear time."""
    start, fence = 0, ""
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        opened = _FENCE.match(line)
        if fence:
            closes = opened is not None and opened[1].startswith(fence) and not line[opened.end() :].strip()
            fence = "" if closes else fence
        elif opened is not None:
            fence = opened[1]
        else:
            yield from _outside_ticks(text, start, end)
        start = end


def _outside_ticks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a line outside of `code`, which ends with as many backticks as it began."""
    runs = [each.span() for each in _TICKS.finditer(text, start, end)]
    last: dict[int, int] = {}
    closing: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        if length in last:
            closing[index] = last[length]
        last[length] = index
    at, index = start, 0
    while index < len(runs):
        if index in closing:
            yield at, runs[index][0]
            index = closing[index]
            at = runs[index][1]
        index += 1
    yield at, end
