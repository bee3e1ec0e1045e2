"""What answers a question best: texts cut into passages, and passages ranked by the question's words."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from weft.tree.word_splits import fold, split_words

_LONGEST = 1_500
"""Characters of a passage, as far as lines can be told apart."""
_MOST_WORDS = 40
_TITLE_WEIGHT = 2
_SHORTEST_STEM = 3
_ENDINGS = ("ings", "ing", "ed", "es", "en", "ern", "er", "s", "e")
_VOWELS = frozenset("aeiou")
_STEEPNESS, _LENGTH_SHARE = 1.2, 0.75
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_PASSED_OVER = frozenset(
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
"""Words of questions in a few languages that tell nothing of what they are about."""


class Passage(NamedTuple):
    """Lines of a text, counted from 1, both included."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage with whatever it is a passage of."""

    source: int
    """Which of the texts it comes from."""
    passage: Passage
    score: float


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending, so that lamp, lamps and Lampen are one; told by the letters alone."""
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
    """What every word of a stem begins with: city and cities part before their last letter."""
    return stem.removesuffix("y") or stem


def asked_words(question: str) -> list[str]:
    """The stems of what a question is about, each once; of all its words, where none of them tells."""
    words = split_words(question)
    telling = [word for word in words if word not in _PASSED_OVER]
    return list(dict.fromkeys(stem(word) for word in telling or words))[:_MOST_WORDS]


def may_answer(text: str, words: Sequence[str]) -> bool:
    """Whether a text could have one of the stems: soon told, without cutting it into its words."""
    folded = fold(text)
    return any(shared_beginning(word) in folded for word in words)


def cut_passages(text: str) -> Iterator[Passage]:
    """A text at its headings, and where that is too long, at its lines; fenced code stays with its heading.

    Of a line that is too long itself each piece is a passage.
    """
    held: list[str] = []
    first, size, fenced = 1, 0, False
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        begins = not fenced and _HEADING.match(line) is not None
        if held and (begins or size + len(line) > _LONGEST):
            yield from _passage(held, first)
            held, first, size = [], number, 0
        if _FENCE.match(line):
            fenced = not fenced
        while len(line) > _LONGEST:
            piece, line = line[:_LONGEST], line[_LONGEST:]  # noqa: PLW2901 - what is left of the line
            yield from _passage([piece], number)
        held.append(line)
        size += len(line) + 1
    yield from _passage(held, first)


def _passage(lines: list[str], first: int) -> Iterator[Passage]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    skipped = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
    if skipped < len(lines):
        kept = lines[skipped:]
        yield Passage("\n".join(kept), first + skipped, first + skipped + len(kept) - 1)


def rank(
    texts: Sequence[tuple[str, str]], words: Sequence[str], *, among: int, limit: int
) -> list[RankedPassage]:
    """The passages of titled texts that have most of some stems, the best first; always the same.

    A word counts the more, the fewer of the texts have it (`among` is how many were looked
    at), and the less, the longer the passage is. A title counts for all its passages.
    """
    wanted = set(words)
    found: list[tuple[int, Passage, Counter[str], int]] = []
    holders: Counter[str] = Counter()
    for index, (title, text) in enumerate(texts):
        named = wanted.intersection(map(stem, split_words(title)))
        present: set[str] = set(named)
        for passage in cut_passages(text):
            said = [stem(word) for word in split_words(passage.text)]
            counts = Counter(word for word in said if word in wanted)
            present.update(counts)
            for word in named:
                counts[word] += _TITLE_WEIGHT
            if counts:
                found.append((index, passage, counts, len(said)))
        holders.update(present)
    if not found:
        return []
    usual = sum(length for *_, length in found) / len(found) or 1
    rarity = {word: math.log1p((among - count + 0.5) / (count + 0.5)) for word, count in holders.items()}
    ranked = [
        RankedPassage(index, passage, _score(counts, length / usual, rarity))
        for index, passage, counts, length in found
    ]
    ranked.sort(key=lambda each: (-each.score, each.source, each.passage.start))
    return ranked[:limit]


def _score(counts: Counter[str], length: float, rarity: dict[str, float]) -> float:
    damped = _STEEPNESS * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length)
    return sum(
        rarity[word] * count * (_STEEPNESS + 1) / (count + damped) for word, count in sorted(counts.items())
    )
