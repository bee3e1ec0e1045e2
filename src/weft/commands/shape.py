"""The shape of a line: its words as they are, and what was given by its kind.

`show me a7x2 as "prose"` has the shape `show me ID as TEXT`. Rules about wording are written
against shapes, so that nothing in a text or an id can look like a word of the language.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from weft.commands.lexicon import known_words
from weft.commands.pieces import read_bare
from weft.commands.words import Option, Quoted, Token, Word

__all__ = ["ARTICLES", "Build", "Given", "Shape", "rewritten", "shape_of", "without_articles"]

Given = Callable[[str], Token]
"""The token that a group of a match is."""
Build = Callable[[re.Match[str], Given], list[Token] | None]

ARTICLES = frozenset({"a", "an", "the"})
_LONGEST = 60
"""Letters of a word that are looked at: no word of the language has as many."""
_NUMBERED = re.compile(r"#?(\d{1,9})\Z")
_SPELT = {"what's": "what is", "where's": "where is", "who's": "who is", "there's": "there is"}


class Shape(NamedTuple):
    """Each word, or kind, is followed by one blank."""

    text: str
    starts: list[int]
    places: list[int]
    """Which token each of them is: some are left out."""

    def place(self, offset: int) -> int:
        """The token at an offset."""
        return self.places[bisect_right(self.starts, offset) - 1]


def shape_of(tokens: Sequence[Token], leaves_out: Callable[[int], bool]) -> Shape:
    """The shape of these tokens without those that are left out."""
    parts: list[str] = []
    starts: list[int] = []
    places: list[int] = []
    length = 0
    for place, token in enumerate(tokens):
        if leaves_out(place):
            continue
        before = tokens[place - 1] if place else None
        code = _code(token, article=isinstance(before, Word) and before.text in ARTICLES) + " "
        parts.append(code)
        starts.append(length)
        places.append(place)
        length += len(code)
    return Shape("".join(parts), starts, places)


def _code(token: Token, *, article: bool) -> str:
    match token:
        case Quoted():
            return "TEXT"
        case Option(name):
            return "DOC" if name == "doc" else f":{name}"
        case Word(text, raw, bracketed):
            return _word(token, text, raw, bracketed=bracketed, article=article)


def _word(token: Word, text: str, raw: str, *, bracketed: bool, article: bool) -> str:
    text = text.replace("’", "'")
    if len(raw) > _LONGEST:
        return "_"
    numbered = _NUMBERED.match(raw)
    if numbered is not None and not bracketed:
        return numbered[1]
    known = known_words()
    if text in known and not bracketed:
        return _SPELT.get(text, text)
    items = read_bare(token, 0, known, article=article)
    if len(items) > 1:
        return "IDS"
    kind = items[0].kind
    if kind == "id":
        return "OWNER" if raw.lower().replace("’", "'").endswith("'s") else "ID"
    if kind == "range":
        return "RANGE"
    return _SPELT.get(text, f"_{text}" if text.startswith(":") else text)


def without_articles(tokens: Sequence[Token]) -> Shape:
    return shape_of(tokens, lambda place: _is_article(tokens[place]))


def rewritten(
    tokens: Sequence[Token], shape: Shape, pattern: re.Pattern[str], build: Build
) -> list[Token] | None:
    """The tokens with every stretch of this shape replaced by what `build` makes of it; None if there is none."""
    found: list[Token] = []
    done = 0
    for match in pattern.finditer(shape.text):

        def given(group: str, match: re.Match[str] = match) -> Token:
            return tokens[shape.place(match.start(group))]

        made = build(match, given)
        if made is None:
            continue
        start, end = shape.place(match.start()), shape.place(match.end() - 1) + 1
        while start > done and _is_article(tokens[start - 1]):
            start -= 1
        found += tokens[done:start]
        found += made
        done = end
    return [*found, *tokens[done:]] if done else None


def _is_article(token: Token) -> bool:
    return isinstance(token, Word) and not token.bracketed and token.text in ARTICLES
