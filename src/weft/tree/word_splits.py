"""A text as the words that are searched for: the same cut and folded everywhere.

Case, diacritics and the difference between compatible forms (ﬁ and fi, Ａ and a) do not
count. Scripts that are written without spaces are cut into single characters, so that any
part of a run is a sequence of words. Each character is folded alone: that takes linear
time, and a word's place in the text is never lost.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

FOLDING = 1
"""Raised whenever the same text would give other words: an older index is then built again."""

_LONGEST = 64
"""Longer runs are cut into pieces that follow one another; databases refuse endless words."""
_PLAIN = re.compile(rf"[a-z0-9]{{1,{_LONGEST}}}")

_ALONE = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f40-\u0fbc"  # Tibetan
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17d3"  # Khmer
    "\u2190-\u2bff\u2e80-\u2fdf"  # arrows, signs, pictures; radicals
    "\u3005-\u3007\u3021-\u3029\u3100-\u312f\u31a0-\u31bf"  # ideographic signs, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001f000-\U0001faff\U00020000-\U000323af"  # pictures; rarer ideographs
)
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff"
_STROKES = {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "ـ": ""}
"""Letters with a mark that Unicode does not take apart."""
_BREAK = "\u200b"
"""The invisible space, the only formatting character that ends a word."""


# Compiling these takes longer than most commands that never split a word: each is compiled when it is first used.
@cache
def _word() -> re.Pattern[str]:
    return re.compile(
        rf"[{_ALONE}]"
        rf"|[{_KANA}][\u3099\u309a]?"
        r"|[\u1100-\u115f\ua960-\ua97f]+[\u1160-\u11a7\ud7b0-\ud7c6]*[\u11a8-\u11ff\ud7cb-\ud7ff]*"
        rf"|[{_HANGUL}]"
        rf"|[^ {_ALONE}{_KANA}{_HANGUL}]{{1,{_LONGEST}}}"
    )


@cache
def _unmarked() -> re.Pattern[str]:
    """Marks that people leave out when they type. The vowel signs of Indic scripts are not among them."""
    return re.compile(
        "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
        "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
        "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe2f]"
    )


@cache
def _picture() -> re.Pattern[str]:
    return re.compile(f"[{_ALONE}]")


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_ALONE}{_KANA}{_HANGUL}]")


class WordPlace(NamedTuple):
    """A word and its offsets in a text."""

    word: str
    start: int
    end: int


def fold(text: str) -> str:
    """The text as its words are cut from it: every word of it is a part of this."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def is_unspaced(word: str) -> bool:
    """True for a character of a script that is cut into single characters."""
    return not word.isascii() and _unspaced().match(word) is not None


def split_words(text: str) -> list[str]:
    """The words of a text in order."""
    return (_PLAIN if text.isascii() else _word()).findall(fold(text))


def placed_words(text: str) -> Iterator[WordPlace]:
    """The same words, each with its offsets."""
    if text.isascii():
        for word in _PLAIN.finditer(text.lower()):
            yield WordPlace(word.group(), word.start(), word.end())
        return
    origins = _origins(text)
    for word in _word().finditer(text.translate(_FOLDED)):
        end = origins[word.end() - 1] + 1
        # Marks that were folded away belong to the letter before them.
        while end < len(text) and not _FOLDED[ord(text[end])]:
            end += 1
        yield WordPlace(word.group(), origins[word.start()], end)


def _origins(text: str) -> Sequence[int]:
    """For each character of the folded text, the offset of the one it comes from."""
    widths = [len(_FOLDED[ord(character)]) for character in text]
    origins = [0] * sum(widths)
    for offset, (end, width) in enumerate(zip(accumulate(widths), widths, strict=True)):
        for index in range(end - width, end):
            origins[index] = offset
    return origins


class _Folding(dict[int, str]):
    """Code point → what it is folded to, worked out when first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
        folded = "".join(_STROKES.get(each, each) for each in _unmarked().sub("", folded))
        self[code] = text = "".join(_searchable(each) for each in folded)
        return text


def _searchable(character: str) -> str:
    """A letter, digit, mark or picture as it is; nothing for what joins; a space for what parts."""
    category = unicodedata.category(character)
    if category[0] in "LN" or category in {"Mn", "Mc"}:
        return character
    if category == "So" and _picture().match(character):
        return character
    if category == "Cf" and character != _BREAK:
        return ""
    return " "


_FOLDED = _Folding()
