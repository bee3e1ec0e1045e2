"""A small classifier for what patterns do not settle, learned from the catalog's phrases.

Phrases and what is said are compared by words, pairs of words and triples of letters,
weighted by how rare they are. A likeness alone settles nothing: every word must belong to
the way in which that command is spoken of, and no other command may come close.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from weft.commands.catalog import CATALOG, ROWS, Row
from weft.commands.lexicon import DOUBTFUL, GUARDED, known_words, listed, phrase_words, verbs
from weft.commands.pieces import FILLER, NUMBERS, Pieces
from weft.commands.words import Quoted, Token, Word
from weft.tree.agent import Permission

__all__ = ["Reading", "classify"]

_ENOUGH = 0.5
_MARGIN = 0.12
_SAME = 0.9
"""From here on it is the phrase itself: even small words tell then."""
_ASKING = frozenset({"can", "may", "could", "should", "shall", "must", "might", "do", "did"})
_MODAL = listed("can could would may might should shall must will i'd we'd you'd he'd she'd they'd")
"""What could, would or should be done is not yet asked for."""
_FRAMES = listed(
    "how what which who where when why want need like do does did you he she they is are was were"
)
_ACTING = listed("let have make get ask use tell with as by via through using")
"""Before a text, these name somebody: in `have "Base" reply to a7x2` the name is no reply."""
_NEGATING = listed("remove delete clear drop discard forget erase ignore skip stop cancel")
"""Beside the name of a command, these may turn it: `remove exclude a7x2`."""
_LOOKING = frozenset({"view", "list", "tree", "search", "help", "memory", "read", "recall"})
_NEUTRAL = listed(
    "i i'd i'm i'll you we us to can could would will like want need of in on at for with that it is are does do "
    "my your this here there what which who where how be and some any have has say says said text"
)
"""Small words that change nothing about what is asked."""
_SMALL = _NEUTRAL - listed("say says said text have has like want need")
_SLOTTED = frozenset({"ID", "TEXT", "DOC", "NUMBER"})
_LONGEST = 40
"""Letters of a word that are looked at."""
_SLOTS = {"id": "ID", "range": "ID", "string": "TEXT", "number": "NUMBER"}


class Reading(NamedTuple):
    """The commands that come closest, closest first, and whether the first is beyond doubt."""

    names: tuple[str, ...]
    explained: frozenset[str]
    """Words of the first that need no place of their own."""
    settled: bool


class _Phrase(NamedTuple):
    name: str
    weights: Mapping[str, float]
    telling: frozenset[str]
    """Words without which this is not the phrase any more."""
    bare: bool
    """Whether it is a verb and no more: then it stands first, or it may be an adjective or a noun."""


def classify(tokens: Sequence[Token]) -> Reading:
    """Which command these tokens speak of."""
    pieces = Pieces.of(tokens, known_words())
    slots = [_SLOTS.get(item.kind, item.text) for item in pieces.items]
    slots += ["DOC" for _ in pieces.options.get("doc", ())]
    said = [item.text for item in pieces.items if item.kind == "word"]
    model = _trained()
    mine = model.weighted(_features(slots))
    nearest: dict[str, float] = {}
    whole: dict[str, float] = {}
    words = frozenset(said)
    for phrase in model.phrases:
        likeness = sum(weight * mine[name] for name, weight in phrase.weights.items() if name in mine)
        if likeness > nearest.get(phrase.name, 0.2):
            nearest[phrase.name] = likeness
        told = phrase.telling <= words and not (phrase.bare and slots[:1] and slots[0] in _SLOTTED)
        if told and likeness > whole.get(phrase.name, 0.0):
            whole[phrase.name] = likeness
    ranked = sorted(nearest.items(), key=lambda pair: (-pair[1], pair[0]))[:4]
    names = tuple(name for name, _ in ranked)
    if not names:
        return Reading((), frozenset(), settled=False)
    explained = phrase_words(CATALOG[names[0]]) | _NEUTRAL
    second = ranked[1][1] if len(ranked) > 1 else 0.0
    best = ranked[0][1]
    sure = whole.get(names[0], 0.0) >= _ENOUGH and best - second >= _MARGIN
    # What ends in -ed tells of something that was done, and asks for nothing.
    told = best >= _SAME or any(
        word not in _NEUTRAL and word not in DOUBTFUL and not word.endswith("ed") for word in said
    )
    asking = CATALOG[names[0]].permission is not Permission.LOOM_AWARE and _asks(said)
    framed = best < _SAME and _is_framed(tokens, said, CATALOG[names[0]])
    settled = sure and told and not asking and not framed and _all_explained(said, names[0], explained)
    return Reading(names, explained, settled)


def _is_framed(tokens: Sequence[Token], said: Sequence[str], row: Row) -> bool:
    """Whether it is spoken about rather than asked for: how to do it, who wants it, after what."""
    parted = any(isinstance(token, Word) and set(token.after) & set(";.?!") for token in tokens[:-1])
    if parted or (said and said[0] in GUARDED):
        return True
    own = phrase_words(row)
    if row.name in _LOOKING:
        return False
    turned = row.name in said and any(word in _NEGATING and word != row.name for word in said)
    return (
        turned
        or _names_another(tokens)
        or any(word in _MODAL or word == "stop" or (word in _FRAMES and word not in own) for word in said)
    )


def _names_another(tokens: Sequence[Token]) -> bool:
    first, second = (*tokens[:2], None, None)[:2]
    return isinstance(first, Word) and first.text in _ACTING and isinstance(second, Quoted)


def _asks(said: Sequence[str]) -> bool:
    """A "may I?" is a question, not yet a command: where something would change, it is not taken for one."""
    return any(one in _ASKING and other in {"i", "we"} for one, other in pairwise(said))


def _all_explained(said: Iterable[str], name: str, explained: frozenset[str]) -> bool:
    """No word is left that could mean more, or something else."""
    words = [word for word in said if word not in NUMBERS]
    others = {verb[0] for verb, other in verbs().items() if other != name and len(verb) == 1}
    return (
        all(word in explained for word in words)
        and not any(word in GUARDED and word not in phrase_words(CATALOG[name]) for word in words)
        and not any(word in others and word not in phrase_words(CATALOG[name]) for word in words)
    )


def _features(words: Sequence[str]) -> Counter[str]:
    kept = [word for word in words if word not in FILLER]
    found: Counter[str] = Counter(kept)
    found.update(f"{one} {other}" for one, other in pairwise(kept))
    for word in kept:
        if len(word) > 3 and word not in _SLOTS.values():
            padded = f"<{word[:_LONGEST]}>"
            found.update(f"#{padded[index : index + 3]}" for index in range(len(padded) - 2))
    return found


class _Model:
    def __init__(self) -> None:
        said = [(row.name, phrase.split()) for row in ROWS for phrase in row.phrases]
        said += [(row.name, [*verb.split(), "ID"]) for row in ROWS for verb in (row.name, *row.synonyms)]
        phrases = sum(len(row.phrases) for row in ROWS)
        counted = [(name, _features(words)) for name, words in said]
        spread = Counter(feature for _, features in counted for feature in features)
        self.rarity = {
            feature: 1.0 + math.log((1 + len(counted)) / (1 + count)) for feature, count in spread.items()
        }
        self.unknown = 1.0 + math.log(1 + len(counted))
        self.phrases = [
            _Phrase(
                name,
                self.weighted(features),
                frozenset(words) - _SMALL - FILLER - _SLOTTED,
                bare=index >= phrases,
            )
            for index, ((name, features), (_, words)) in enumerate(zip(counted, said, strict=True))
        ]

    def weighted(self, features: Counter[str]) -> dict[str, float]:
        """Rare features count more, triples of letters less; of length one."""
        found = {
            name: (0.3 if name[0] == "#" else 1.0) * count * self.rarity.get(name, self.unknown)
            for name, count in features.items()
        }
        length = math.sqrt(sum(weight * weight for weight in found.values())) or 1.0
        return {name: weight / length for name, weight in found.items()}


@lru_cache(maxsize=1)
def _trained() -> _Model:
    """The same on every machine: it follows from the catalog alone."""
    return _Model()
