"""A small classifier for lines that the rows do not settle, trained on text generated from the rows.

It compares words, pairs of words and triples of letters, weighted by how rare they are. It ranks
commands for the hint. It settles a reading only together with the reader, which must consume every token.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from weft.commands.catalog import ROWS
from weft.commands.grammar import CommandRow, SlotKind
from weft.commands.vocabulary import Sort, VocabularyToken

_LEAST = 0.2
_KEPT = 4
_LONGEST = 40
_PLACEHOLDERS = {
    SlotKind.NODE: "ID",
    SlotKind.NODES: "ID",
    SlotKind.RANGE: "ID",
    SlotKind.TEXT: "TEXT",
    SlotKind.NAME: "TEXT",
    SlotKind.NUMBER: "NUMBER",
    SlotKind.LINES: "NUMBER",
}
_SORTS = {Sort.NODE: "ID", Sort.NODES: "ID", Sort.RANGE: "ID", Sort.TEXT: "TEXT", Sort.NUMBER: "NUMBER"}


class RankedCommand(NamedTuple):
    """A command that a line may mean, and how likely: 1 is certain."""

    name: str
    likeness: float


def rank(items: Sequence[VocabularyToken]) -> list[RankedCommand]:
    """The commands that these items may mean, the most likely first."""
    model = _trained()
    mine = model.weighted(_features([_code(item) for item in items]))
    best: dict[str, float] = {}
    for name, weights in model.examples:
        likeness = sum(weight * mine[feature] for feature, weight in weights.items() if feature in mine)
        if likeness > best.get(name, _LEAST):
            best[name] = likeness
    ranked = [RankedCommand(name, likeness) for name, likeness in best.items()]
    return sorted(ranked, key=lambda each: (-each.likeness, each.name))[:_KEPT]


def _code(item: VocabularyToken) -> str:
    if item.sort is Sort.OPTION:
        return "DOC" if item.text == "doc" else f"{item.text}:"
    return _SORTS.get(item.sort, item.text)


def _examples(row: CommandRow) -> Iterator[list[str]]:
    """Lines that mean this command, in the words of its row."""
    verbs = [row.name, *(verb.partition("=")[0] for verb in row.verbs)]
    for form in row.variants:
        slots = [slot for slot in form.flat if not slot.optional]
        given = [
            word
            for slot in slots
            for word in (*sorted(slot.names)[:1], _PLACEHOLDERS.get(slot.kind, ""))
            if word
        ]
        yield from ([*verb.split(), *given] for verb in verbs)
        yield from (["add", noun, *given] for noun in sorted(row.made))
        yield from (["remove", noun, *given] for noun in sorted(row.removed))
        yield from (
            [*start, noun, *given] for noun in sorted(row.listed) for start in (["show"], ["what", "is"], [])
        )
        yield from (["what", word, *given] for word in sorted(row.vocabulary))
        yield [*form.past.split()[:1], *given]


def _features(words: Sequence[str]) -> Counter[str]:
    counted: Counter[str] = Counter(words)
    counted.update(f"{one} {other}" for one, other in pairwise(words))
    for word in words:
        if len(word) > 3 and not word.isupper():
            padded = f"<{word[:_LONGEST]}>"
            counted.update(f"#{padded[index : index + 3]}" for index in range(len(padded) - 2))
    return counted


class _Model:
    def __init__(self) -> None:
        lines = {(row.name, " ".join(line)): line for row in ROWS for line in _examples(row)}
        counted = [(name, _features(line)) for (name, _), line in lines.items()]
        spread = Counter(feature for _, features in counted for feature in features)
        self.rarity = {
            feature: 1.0 + math.log((1 + len(counted)) / (1 + count)) for feature, count in spread.items()
        }
        self.unknown = 1.0 + math.log(1 + len(counted))
        self.examples = [(name, self.weighted(features)) for name, features in counted]

    def weighted(self, features: Counter[str]) -> dict[str, float]:
        """Rare features count more, triples of letters less; of length one."""
        weights = {
            name: (0.3 if name[0] == "#" else 1.0) * count * self.rarity.get(name, self.unknown)
            for name, count in features.items()
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {name: weight / length for name, weight in weights.items()}


@lru_cache(maxsize=1)
def _trained() -> _Model:
    """The same on every machine: it follows from the rows alone."""
    return _Model()
