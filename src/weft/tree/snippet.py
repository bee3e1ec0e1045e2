"""The part of a text that answers a query, with what to highlight in it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.tree.query import Atom, Query

_WIDTH = 160
_BEFORE = 40
"""How much of the text before the first match is shown."""
_READ = 1_000_000
_BLANK = re.compile(r"\s+")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A line of text. `highlights` are the (start, end) offsets of what was looked for, in order."""

    text: str
    highlights: tuple[tuple[int, int], ...] = ()

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """The text in runs, each with whether it is highlighted."""
        done = 0
        for start, end in self.highlights:
            if start > done:
                yield self.text[done:start], False
            yield self.text[start:end], True
            done = end
        if done < len(self.text):
            yield self.text[done:], False


def cut_snippet(text: str, query: Query, width: int = _WIDTH) -> Snippet:
    """The stretch of a text with most of what was looked for; its beginning, where nothing was."""
    text = text[:_READ]
    places = query.places(text)
    start, end = _window(text, places, width)
    return _one_line(text, start, end, _merged(places, start, end))


def _window(text: str, places: Sequence[tuple[Atom, int, int]], width: int) -> tuple[int, int]:
    """Begin shortly before the match after which most different atoms follow within the width."""
    if len(text) <= width:
        return _word_start(text, 0), len(text)
    best, first = 0, 0
    inside: Counter[Atom] = Counter()
    last = 0
    for index, (atom, start, _) in enumerate(places):
        while last < len(places) and places[last][2] <= start + width - _BEFORE:
            inside[places[last][0]] += 1
            last += 1
        kinds = sum(count > 0 for count in inside.values())
        if kinds > best:
            best, first = kinds, index
        if last > index:
            inside[atom] -= 1
        else:
            last = index + 1
    start = _word_start(text, places[first][1] - _BEFORE if places else 0)
    end = min(len(text), start + width)
    if places:
        end = max(end, min(len(text), places[first][2]))
    return start, _word_end(text, start, end)


def _word_start(text: str, wanted: int) -> int:
    """The next beginning of a word, if one is near."""
    if wanted <= 0:
        blank = _BLANK.match(text)
        return 0 if blank is None else blank.end()
    blank = _BLANK.search(text, wanted, wanted + _BEFORE)
    return wanted if blank is None else blank.end()


def _word_end(text: str, start: int, end: int) -> int:
    if end >= len(text):
        return len(text)
    for back in range(end, max(start + 1, end - 20), -1):
        if text[back].isspace():
            return back
    return end


def _merged(places: Sequence[tuple[Atom, int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Matches within the window, those that touch or overlap as one."""
    spans: list[tuple[int, int]] = []
    for _, low, high in places:
        if high <= start or low >= end:
            continue
        here = max(low, start), min(high, end)
        if spans and here[0] <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], here[1])
        else:
            spans.append(here)
    return spans


def _one_line(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> Snippet:
    """The window with runs of white space as one space, and what was moved moved along."""
    shown: list[str] = [_ELLIPSIS] if text[:start].strip() else []
    length = len(shown)
    highlights: list[tuple[int, int]] = []
    done = start
    for low, high in (*spans, (end, end)):
        for piece, marked in ((text[done:low], False), (text[low:high], True)):
            line = _BLANK.sub(" ", piece)
            if marked and line:
                highlights.append((length, length + len(line)))
            shown.append(line)
            length += len(line)
        done = high
    joined = "".join(shown)
    trimmed = joined.rstrip()
    return Snippet(trimmed + _ELLIPSIS if text[end:].strip() else trimmed, tuple(highlights))


_END = re.compile(r"(?<=[.!?…。！？])[\"”’»)]*(?=\s|$)|\n")


def first_sentence(text: str, limit: int) -> str:
    """The first sentence of a text on one line, cut at a word where it is longer than the limit."""
    start = text[: 20 * limit].strip()
    end = _END.search(start)
    line = " ".join((start if end is None else start[: end.end()]).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > limit // 2 else cut).rstrip() + "…"


EXTRACT = "[extract] "
"""The prefix of a summary that no model made."""
_LONGEST = 200
_SENTENCE = re.compile(r"(.+?[.!?。！？…])(?:[\s\"'”’)\]]|$)", re.DOTALL)


def extract(text: str) -> str:
    """The first sentence of a text on one line, or its beginning; nothing of nothing."""
    line = " ".join(text[: 20 * _LONGEST].split()).lstrip("#>*- ")
    if not line:
        return ""
    first = _SENTENCE.match(line)
    sentence = first.group(1) if first is not None else line
    if len(sentence) > _LONGEST:
        sentence = sentence[: _LONGEST - 1].rsplit(" ", 1)[0].rstrip() + "…"
    return EXTRACT + sentence


def is_extract(summary: str) -> bool:
    return summary.startswith(EXTRACT)
