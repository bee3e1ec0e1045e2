"""Split texts into passages, and rank passages by the words of a question."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from weft.tree.word_splits import fold, split_words

_LONGEST = 1_500
"""Characters of a passage; longer sections are split at lines."""
_MOST_WORDS = 40
_TITLE_WEIGHT = 2
_SHORTEST_STEM = 3
_ENDINGS = ("ings", "ing", "ed", "es", "en", "ern", "er", "s", "e")
_VOWELS = frozenset("aeiou")
_STEEPNESS, _LENGTH_SHARE = 1.2, 0.75
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_STOP_WORDS = frozenset(
    split_words("""
    a about all also am an and any are as at be been but by can could did do does for from had has have he how i
    if in into is it its just like me more my no not of on or our she so some tell than that the their them then
    there these they this those to up us was we were what when where which who whom whose why will with would
    you your
    aber als am auch auf aus bei bin bist da das dass dem den der des die doch du ein eine einem einen einer er
    es für hat ich ihr im in ist ja kann man mein mich mir mit nach nicht noch nur oder sich sie sind so und uns
    vom von vor war was weil wenn wer wie wir wird wo zu zum zur
    au aux avec ce ces dans de des du elle en est et il je la le les leur lui mais ne nous on ou par pas pour que
    qui sa se ses son sur un une vous
    al como con del el ella en es la las lo los no para pero por que se sin su un una y
    """)
)
"""Stop words in English, German, French and Spanish."""


class Passage(NamedTuple):
    """Lines of a text, counted from 1, both included."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage, its source and its score."""

    source: int
    """The index of its text."""
    passage: Passage
    score: float


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending, so that lamp, lamps and Lampen are one word; by spelling alone."""
    if len(word) <= _SHORTEST_STEM or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith("ss"):
        return word
    for ending in _ENDINGS:
        left = word.removesuffix(ending)
        if left != word and len(left) >= _SHORTEST_STEM:
            doubled = ending in {"ing", "ings", "ed"} and left[-1] == left[-2] and left[-1] not in _VOWELS
            return left[:-1] if doubled and len(left) > _SHORTEST_STEM else left
    return word


def shared_beginning(stem: str) -> str:
    """The beginning of every word with a stem: city and cities differ before their last letter."""
    return stem.removesuffix("y") or stem


def asked_words(question: str) -> list[str]:
    """The stems of a question's words without stop words, each once; of all words if they are all stop words."""
    words = split_words(question)
    content = [word for word in words if word not in _STOP_WORDS]
    return list(dict.fromkeys(stem(word) for word in content or words))[:_MOST_WORDS]


def may_answer(text: str, words: Sequence[str]) -> bool:
    """True if a text may have one of the stems: a fast check without splitting it into words."""
    folded = fold(text)
    return any(shared_beginning(word) in folded for word in words)


def cut_passages(text: str) -> Iterator[Passage]:
    """Split a text at its headings, and long sections at lines; fenced code stays with its heading.

    A line that is too long is split into passages of its own.
    """
    section: list[str] = []
    first, size, fenced = 1, 0, False
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        begins = not fenced and _HEADING.match(line) is not None
        if section and (begins or size + len(line) > _LONGEST):
            yield from _passage(section, first)
            section, first, size = [], number, 0
        if _FENCE.match(line):
            fenced = not fenced
        while len(line) > _LONGEST:
            piece, line = line[:_LONGEST], line[_LONGEST:]  # noqa: PLW2901 - what is left of the line
            yield from _passage([piece], number)
        section.append(line)
        size += len(line) + 1
    yield from _passage(section, first)


def _passage(lines: list[str], first: int) -> Iterator[Passage]:
    """The lines as a passage without blank lines around it, if any are left."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    if filled:
        start, end = filled[0], filled[-1]
        yield Passage("\n".join(lines[start : end + 1]), first + start, first + end)


def rank(
    texts: Sequence[tuple[str, str]], words: Sequence[str], *, among: int, limit: int
) -> list[RankedPassage]:
    """Rank the passages of titled texts by the stems they have (BM25), the best first.

    A word counts more if fewer of the texts have it (`among` is the number of texts searched),
    and less in a longer passage. A title counts for all its passages.
    """
    wanted = set(words)
    matches: list[tuple[int, Passage, Counter[str], int]] = []
    frequency: Counter[str] = Counter()
    for index, (title, text) in enumerate(texts):
        in_title = wanted.intersection(map(stem, split_words(title)))
        present: set[str] = set(in_title)
        for passage in cut_passages(text):
            stems = [stem(word) for word in split_words(passage.text)]
            counts = Counter(word for word in stems if word in wanted)
            present.update(counts)
            for word in in_title:
                counts[word] += _TITLE_WEIGHT
            if counts:
                matches.append((index, passage, counts, len(stems)))
        frequency.update(present)
    if not matches:
        return []
    average = sum(length for *_, length in matches) / len(matches) or 1
    rarity = {word: math.log1p((among - count + 0.5) / (count + 0.5)) for word, count in frequency.items()}
    ranked = [
        RankedPassage(index, passage, _score(counts, length / average, rarity))
        for index, passage, counts, length in matches
    ]
    ranked.sort(key=lambda each: (-each.score, each.source, each.passage.start))
    return ranked[:limit]


def _score(counts: Counter[str], length: float, rarity: dict[str, float]) -> float:
    damped = _STEEPNESS * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length)
    return sum(
        rarity[word] * count * (_STEEPNESS + 1) / (count + damped) for word, count in sorted(counts.items())
    )
