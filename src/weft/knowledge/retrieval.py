"""Retrieval: a question as what is looked for, the passages that answer it, and how rankings are joined."""

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple, TypeVar

from weft.context.items.item_types import ContextItem
from weft.tree.query import Atom, Query
from weft.tree.word_splits import is_unspaced, placed_words, split_words

K = TypeVar("K", bound=Hashable)

_MOST_ATOMS = 60
_SHORTEST_CUT, _ENDINGS, _LONGEST_ENDING = 5, {5: 1, 6: 2, 7: 2}, 3
"""From this many letters on a word is looked for without its last ones, by its number of letters."""
_SHARES, _RARE = {1: 0.8, 2: 0.8, 3: 0.6, 4: 0.3, 5: 0.1}, 0.01
"""The share of passages that is expected to have a word, by its number of letters."""
_LONG_WORD = 6
_RANK_OFFSET = 5
"""Of reciprocal rank fusion: how little the first places of a list differ. Tuned by `python -m bench retrieval`."""


class Period(NamedTuple):
    """A period of time; its end is not part of it. None: open."""

    start: datetime | None
    end: datetime | None

    def has(self, moment: datetime) -> bool:
        return (self.start is None or moment >= self.start) and (self.end is None or moment < self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedPassage:
    """Lines of a note, or a part of a document or node, that may answer a question."""

    item: ContextItem
    """The passage under the id that attaches it or reads the whole."""
    place: str
    """`vaults`, `documents` or `trees`."""
    vault: str | None = None
    """The vault's name."""
    source: str
    """The id of the whole: of a note its path, with the vault's name where that is needed."""
    title: str
    headings: tuple[str, ...] = ()
    start: int
    end: int
    """Lines of the whole, both included."""
    score: float
    """More is better; only to be compared within one answer."""

    @property
    def text(self) -> str:
        return self.item.content


class Retrieval(NamedTuple):
    """The best passages, and what could not be searched or read, one line each."""

    passages: Sequence[RetrievedPassage] = ()
    warnings: Sequence[str] = ()
    semantic: bool = False
    """Whether passages were looked for by meaning, too."""


def query_of(question: str) -> Query | None:
    """Any of the words of a question; None if it has none.

    Scripts without spaces have no words to look for: pairs of characters take their place.
    """
    atoms = list(dict.fromkeys(_atoms(question)))[:_MOST_ATOMS]
    return Query((tuple(atoms),)) if atoms else None


def _atoms(question: str) -> Iterator[Atom]:
    run: list[str] = []
    end = -1
    for place in placed_words(question):
        alone = is_unspaced(place.word)
        if run and not (alone and place.start == end):
            yield from _of_run(run)
            run = []
        if alone:
            run.append(place.word)
        else:
            yield _beginning(place.word)
        end = place.end
    yield from _of_run(run)


def _beginning(word: str) -> Atom:
    """The beginning of a word, without what may be its ending: build* for building."""
    if len(word) < _SHORTEST_CUT or any(letter.isdigit() for letter in word):
        return Atom((word,))
    return Atom((word[: -_ENDINGS.get(len(word), _LONGEST_ENDING)],), prefix=True)


def _of_run(run: Sequence[str]) -> Iterator[Atom]:
    if len(run) == 1:
        yield Atom((run[0],))
    yield from (Atom(pair) for pair in pairwise(run))


def word_weights(query: Query) -> dict[Atom, float]:
    """How much each word of a question says: words of few letters are common in every language."""
    weights: dict[Atom, float] = {}
    for atom in query.atoms:
        letters = len("".join(atom.words))
        share = _RARE if len(atom.words) > 1 or atom.prefix else _SHARES.get(letters, _RARE)
        shortness = 1.0 if len(atom.words) > 1 else min(1.0, letters / _LONG_WORD)
        weights[atom] = -shortness * math.log(share)
    return weights


def words_present(texts: Sequence[str], weights: Mapping[Atom, float]) -> frozenset[Atom]:
    """What a passage has of what is looked for."""
    words = f" {' '.join(word for text in texts for word in (*split_words(text), ''))} "
    return frozenset(
        atom
        for atom in weights
        if (f" {' '.join(atom.words)}" if atom.prefix else f" {' '.join(atom.words)} ") in words
    )


def coverage(present: Collection[Atom], weights: Mapping[Atom, float]) -> float:
    """The share of what is looked for that is present, by weight."""
    whole = sum(weights.values())
    return sum(weights[atom] for atom in present) / whole if whole else 0.0


def fuse(*rankings: Sequence[K]) -> dict[K, float]:
    """Join rankings by reciprocal rank; scores in the order of the joined ranking."""
    scores: dict[K, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_RANK_OFFSET + rank)
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))


def best_score(rankings: int) -> float:
    """The score of what is first in so many rankings."""
    return rankings / (_RANK_OFFSET + 1)
