"""Make one text smaller than it wants to be, always at the same places."""

from collections.abc import Mapping
from typing import TypeVar

from weft.context.fit import water_level
from weft.context.tokens import Estimator

Place = TypeVar("Place")

CUT = "\n[…]\n"
ELLIPSIS = "…"
_ROOMY = 8
"""Tokens from which a text keeps both its ends; below, its beginning, or its end if that is to be gone on from."""
_JOINED = frozenset("\u200d\ufe0e\ufe0f\u20e3" + "".join(map(chr, range(0x1F3FB, 0x1F400))))
"""What belongs to the character before it: joiners, variants, the colours of a skin."""
_JOINER = "\u200d"


def least_tokens(estimator: Estimator) -> int:
    """What is left of a text that had to go to the last character."""
    return max(1, estimator.of_text(ELLIPSIS))


def shorten_text(text: str, most: int, estimator: Estimator, *, ending: bool = False) -> str:
    """The beginning and the end of a text with a mark between, in at most so many tokens.

    The ends are whole multiples of a length that depends on the room alone, so that a
    slightly different room gives the same bytes. Where there is room for one end only, it is
    the beginning, or with `ending` the end.
    """
    if estimator.of_text(text) <= most:
        return text
    if most < _ROOMY:
        return _one_end(text, most, estimator, ending=ending)
    unit = max(1, 1 << max(0, (4 * most).bit_length() - 6))
    low, high = 0, -(-len(text) // unit)
    while low < high:
        middle = (low + high + 1) // 2
        if estimator.of_text(_ends(text, middle, unit)) <= most:
            low = middle
        else:
            high = middle - 1
    # An exact count is not quite monotone, and a search may have stepped over a larger one.
    while low and estimator.of_text(_ends(text, low, unit)) > most:
        low -= 1
    shortened = _ends(text, low, unit)
    return (
        shortened if estimator.of_text(shortened) <= most else _one_end(text, most, estimator, ending=ending)
    )


def _ends(text: str, units: int, unit: int) -> str:
    front = (units + 1) // 2 * unit
    back = units // 2 * unit
    return _first(text, front) + CUT + (_last(text, back) if back else "")


def _first(text: str, length: int) -> str:
    """So many characters from the beginning, or a few less: none that people see is cut through."""
    while 0 < length < len(text) and _within(text, length):
        length -= 1
    return text[:length]


def _last(text: str, length: int) -> str:
    start = len(text) - length
    while 0 < start < len(text) and _within(text, start):
        start += 1
    return text[start:]


def _within(text: str, place: int) -> bool:
    return text[place] in _JOINED or text[place - 1] == _JOINER


def _one_end(text: str, most: int, estimator: Estimator, *, ending: bool) -> str:
    for length in range(min(len(text), 4 * most), 0, -1):
        kept = _last(text, length) if ending else _first(text, length)
        if not kept:
            continue
        shortened = ELLIPSIS + kept if ending else kept + ELLIPSIS
        if estimator.of_text(shortened) <= most:
            return shortened
    return ELLIPSIS


def shorten_texts(
    texts: Mapping[Place, str], most: int, estimator: Estimator, *, ending: bool = False
) -> dict[Place, str]:
    """The longest texts, each brought down to a common size, so that all together take at most so many tokens."""
    sizes = dict(enumerate(map(estimator.of_text, texts.values())))
    least = least_tokens(estimator)
    floors = {index: min(least, size) for index, size in sizes.items()}
    level = water_level(sizes, floors, most)
    return {
        place: shorten_text(text, max(level, floors[index]), estimator, ending=ending)
        for index, (place, text) in enumerate(texts.items())
        if sizes[index] > max(level, floors[index])
    }
