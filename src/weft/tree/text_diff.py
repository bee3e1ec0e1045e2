"""Differences between two texts: word by word, and as one change that can be undone."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import attrgetter
from typing import Literal, NamedTuple

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_MOST = 4_000
"""Words beyond which texts are compared by lines: the price grows with the square."""

Turn = Literal["same", "removed", "added"]


class DiffRun(NamedTuple):
    """Some words, and whether both texts have them."""

    turn: Turn
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two nodes side by side: where their paths part, and what their texts do not share."""

    one: str
    other: str
    common: str
    """The last node of both paths."""
    one_beyond: int
    """How many nodes follow it on the way to each."""
    other_beyond: int
    words: tuple[DiffRun, ...]

    @property
    def same(self) -> bool:
        """Whether the texts are equal."""
        return all(run.turn == "same" for run in self.words)

    def __str__(self) -> str:
        signs = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
        return "".join(f"{signs[turn][0]}{text}{signs[turn][1]}" for turn, text in self.words)

    def _repr_html_(self) -> str:
        tags = {"same": "span", "removed": "del", "added": "ins"}
        body = "".join(f"<{tags[turn]}>{html.escape(text)}</{tags[turn]}>" for turn, text in self.words)
        heading = f"[{self.one}] and [{self.other}] part after [{self.common}]"
        return f'<div><em>{heading}</em><div style="white-space:pre-wrap">{body}</div></div>'


def word_difference(one: str, other: str) -> tuple[DiffRun, ...]:
    """The runs that are the first text without the added ones, and the other without the removed ones."""
    return tuple(_joined(_runs(_WORD.findall(one), _WORD.findall(other))))


def _runs(one: list[str], other: list[str]) -> Iterator[DiffRun]:
    start = shared_length(one, other)
    end = shared_length(one[start:][::-1], other[start:][::-1])
    yield DiffRun("same", "".join(one[:start]))
    yield from _middle(one[start : len(one) - end], other[start : len(other) - end])
    yield DiffRun("same", "".join(one[len(one) - end :]))


def _middle(one: list[str], other: list[str]) -> Iterator[DiffRun]:
    if max(len(one), len(other)) > _MOST:
        one, other = "".join(one).splitlines(keepends=True), "".join(other).splitlines(keepends=True)
        if max(len(one), len(other)) > _MOST:
            yield from (DiffRun("removed", "".join(one)), DiffRun("added", "".join(other)))
            return
    for _, start, end, there, until in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        before, after = "".join(one[start:end]), "".join(other[there:until])
        if before == after:
            yield DiffRun("same", before)
        else:
            yield from (DiffRun("removed", before), DiffRun("added", after))


def _joined(runs: Iterator[DiffRun]) -> Iterator[DiffRun]:
    """Without empty ones, neighbours of one kind together."""
    for turn, same in groupby((run for run in runs if run.text), key=attrgetter("turn")):
        yield DiffRun(turn, "".join(run.text for run in same))


@dataclass(frozen=True, slots=True)
class TextChange:
    """After the characters that were kept, some were removed and others put in their place."""

    kept: int
    removed: str
    added: str

    def undone(self, text: str) -> str | None:
        """The text before the change; None if this is not a text it could have led to."""
        return _replace(text, self.kept, self.added, self.removed)

    def done(self, text: str) -> str | None:
        """The text after the change; None if this is not one it could have begun with."""
        return _replace(text, self.kept, self.removed, self.added)


def change_between(before: str, after: str) -> TextChange:
    """The smallest stretch that differs."""
    start = shared_length(before, after)
    left = shared_length(before[start:][::-1], after[start:][::-1])
    return TextChange(start, before[start : len(before) - left], after[start : len(after) - left])


def shared_length(one: Sequence[str], other: Sequence[str]) -> int:
    """How much two texts, or two lists of words, begin with alike, by halves: comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _replace(text: str, at: int, there: str, instead: str) -> str | None:
    if len(text) < at or not text.startswith(there, at):
        return None
    return text[:at] + instead + text[at + len(there) :]
