"""Make one text smaller than it wants to be, always at the same places."""

from weft.context.tokens import Estimator

__all__ = ["CUT", "ELLIPSIS", "least_tokens", "shorten_text"]

CUT = "\n[…]\n"
ELLIPSIS = "…"
_ROOMY = 8
"""Tokens from which a text keeps both its ends; below, its beginning."""


def least_tokens(estimator: Estimator) -> int:
    """What is left of a text that had to go to the last character."""
    return max(1, estimator.of_text(ELLIPSIS))


def shorten_text(text: str, most: int, estimator: Estimator) -> str:
    """The beginning and the end of a text with a mark between, in at most so many tokens.

    The ends are whole multiples of a length that depends on the room alone, so that a
    slightly different room gives the same bytes.
    """
    if estimator.of_text(text) <= most:
        return text
    if most < _ROOMY:
        return _beginning(text, most, estimator)
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
    found = _ends(text, low, unit)
    return found if estimator.of_text(found) <= most else _beginning(text, most, estimator)


def _ends(text: str, units: int, unit: int) -> str:
    front = (units + 1) // 2 * unit
    back = units // 2 * unit
    return text[:front] + CUT + (text[len(text) - back :] if back else "")


def _beginning(text: str, most: int, estimator: Estimator) -> str:
    for length in range(min(len(text), 4 * most), 0, -1):
        found = text[:length] + ELLIPSIS
        if estimator.of_text(found) <= most:
            return found
    return ELLIPSIS
