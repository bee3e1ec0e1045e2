"""Who wrote which characters of an edited text.

Unchanged characters stay their author's, the rest are the editor's. Texts are
compared by lines, then words, then characters, each level only where the one
above found a difference, so that long texts stay cheap and the result is the
same every time.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, groupby
from operator import itemgetter

from weft.tree.text_diff import shared_length

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_WORK_LIMIT = 4_000_000
"""Largest pair of pieces (their product) that is compared; a larger one counts as rewritten."""


@dataclass(frozen=True, slots=True)
class AuthorSpan:
    """Characters start to end (exclusive) of the text, by one author."""

    start: int
    end: int
    author_id: str


@dataclass(frozen=True, slots=True)
class TextVersion:
    """A text on its way to the last one, and the places of those it was made from, in order."""

    author_id: str
    text: str
    origins: tuple[int, ...] = ()


def authorship(versions: Sequence[tuple[str, str]]) -> tuple[AuthorSpan, ...]:
    """Spans of the last text, from (author, text) pairs, the original first."""
    return authorship_of(
        [
            TextVersion(author, text, (number - 1,) if number else ())
            for number, (author, text) in enumerate(versions)
        ]
    )


def authorship_of(versions: Sequence[TextVersion]) -> tuple[AuthorSpan, ...]:
    """Spans of the last text. What was made from several is compared with all of them, put together."""
    if not versions:
        return ()
    owned: list[list[tuple[int, str]]] = []
    for version in versions:
        before = "".join(versions[origin].text for origin in version.origins)
        owners = [run for origin in version.origins for run in owned[origin]]
        runs = common_runs(before, version.text)
        owned.append(list(_carry_over(owners, runs, version.author_id, len(version.text))))
    return _spans(owned[-1])


def _spans(owners: Sequence[tuple[int, str]]) -> tuple[AuthorSpan, ...]:
    """Runs by one author as one span."""
    spans: list[AuthorSpan] = []
    start = 0
    for author, runs in groupby(owners, key=itemgetter(1)):
        end = start + sum(length for length, _ in runs)
        spans.append(AuthorSpan(start, end, author))
        start = end
    return tuple(spans)


def _carry_over(
    owners: list[tuple[int, str]], runs: Iterator[tuple[int, int, int]], editor: str, length: int
) -> Iterator[tuple[int, str]]:
    """Ownership of the edited text as (length, author) runs."""
    ends = list(accumulate(size for size, _ in owners))
    index = 0
    written = 0
    for old, new, size in runs:
        if new > written:
            yield new - written, editor
        position, stop = old, old + size
        while position < stop:
            while ends[index] <= position:
                index += 1
            step = min(stop, ends[index]) - position
            yield step, owners[index][1]
            position += step
        written = new + size
    if length > written:
        yield length - written, editor


def common_runs(old: str, new: str) -> Iterator[tuple[int, int, int]]:
    """(offset in old, offset in new, length) of what both texts share, in order."""
    prefix = shared_length(old, new)
    suffix = shared_length(old[prefix:][::-1], new[prefix:][::-1])
    if prefix:
        yield 0, 0, prefix
    middle_old, middle_new = old[prefix : len(old) - suffix], new[prefix : len(new) - suffix]
    for a, b, size in _refine(middle_old, middle_new, (_LINES, _WORDS, None)):
        yield prefix + a, prefix + b, size
    if suffix:
        yield len(old) - suffix, len(new) - suffix, suffix


def _refine(old: str, new: str, levels: Sequence[re.Pattern[str] | None]) -> Iterator[tuple[int, int, int]]:
    if not old or not new:
        return
    pattern, finer = levels[0], levels[1:]
    pieces_old = pattern.findall(old) if pattern else list(old)
    pieces_new = pattern.findall(new) if pattern else list(new)
    if len(pieces_old) * len(pieces_new) > _WORK_LIMIT:
        return
    starts_old = [0, *accumulate(len(piece) for piece in pieces_old)]
    starts_new = [0, *accumulate(len(piece) for piece in pieces_new)]
    matcher = SequenceMatcher(None, pieces_old, pieces_new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            yield starts_old[i1], starts_new[j1], starts_old[i2] - starts_old[i1]
        elif tag == "replace" and finer:
            inner_old = old[starts_old[i1] : starts_old[i2]]
            inner_new = new[starts_new[j1] : starts_new[j2]]
            for a, b, size in _refine(inner_old, inner_new, finer):
                yield starts_old[i1] + a, starts_new[j1] + b, size
