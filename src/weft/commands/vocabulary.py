"""The small words of the language: what may be left out, what turns a sentence, and typing slips."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from weft.commands.lexer import CURSOR, Option, Quoted, Token, Word, as_reference
from weft.ids import COMMAND_WORDS, LOCAL_ID_LIMIT


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _numbered(text: str) -> dict[str, int]:
    return {name: value for value, name in enumerate(text.split(), 1)}


FILLER = words("a an the node nodes me please kindly now just pls plz my")
"""Words that never change what a command means."""
NUMBERS = {
    **_numbered("one two three four five six seven eight nine ten"),
    "once": 1,
    "twice": 2,
}
ORDINALS = _numbered("first second third fourth fifth sixth seventh eighth ninth tenth")
GUARDED = words(
    "not don't dont do-not never no nor neither cannot can't cant won't wont shouldn't shouldnt wouldn't "
    "without unless except but instead rather if whether maybe perhaps possibly either or until before "
    "after afterwards then later once when while because although might ought every each everything all "
    "both others rest also too"
)
"""Words that turn, defer or widen a sentence. Only a command's own row can give one of them a place."""


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted((tuple(each.split()) for each in text.split("|")), key=len, reverse=True))


_OPENINGS = _phrases(
    "could you|can you|would you|will you|i want to|i'd like to|i would like to|i want you to|"
    "i'd like you to|i would like you to|i need to|i will|i'll|i shall|i am going to|i'm going to|let me|"
    "let's|lets|let us|go ahead and|ok|okay|hey|hi|hello|so|alright|right|well|and|first|next up|kindly|"
    "please|pls|plz|now|just|be so kind and|be so kind as to|feel free to|try to|time to|it's time to|"
    "quickly|weft|command|do|also|let me just|i wanna|lemme|i need you to|we need to|i am gonna|i'm gonna|"
    "i'd love to|i would love to|can i|could i|may i|can we|could we|should i|shall i|should we|shall we"
)
_CLOSINGS = _phrases(
    "please|thanks|thank you|for me|right away|now|right now|at once|ok|okay|pls|plz|thx|cheers|first|as well|"
    "too|for now|for a moment|thanks a lot|thank you very much|if you please|would you|will you|quickly"
)


def plain_words(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without the politeness around them."""
    line = list(tokens)
    while opening := next((each for each in _OPENINGS if _says(line[: len(each)], each, line)), None):
        del line[: len(opening)]
    while closing := next((each for each in _CLOSINGS if _says(line[-len(each) :], each, line)), None):
        del line[len(line) - len(closing) :]
    return line


def _says(tokens: Sequence[Token], phrase: Sequence[str], line: Sequence[Token]) -> bool:
    return len(line) > len(phrase) and all(
        isinstance(token, Word) and not token.bracketed and token.text.replace("’", "'") == word
        for token, word in zip(tokens, phrase, strict=True)
    )


class Sort(Enum):
    """What a token can be, before it is known what it is for."""

    WORD = "word"
    NODE = "node"
    NODES = "nodes"
    RANGE = "range"
    NUMBER = "number"
    TEXT = "text"
    OPTION = "option"


@dataclass(frozen=True, slots=True)
class VocabularyToken:
    """A token with its sort."""

    sort: Sort
    text: str
    """In lower case if it is a word; a reference if it is a node."""
    raw: str = ""
    option: Option | None = None
    owner: bool = False
    """`a7x2's`."""


_RANGE = re.compile(
    r"(\[?[0-9a-z]{4,26}['’′]*\]?)(?:-|–|—|\.{2,3}|…)(\[?[0-9a-z]{4,26}['’′]*\]?)\Z", re.IGNORECASE
)
_NUMBERED = re.compile(r"#?(?:(\d{1,3}|\d{27,})|(\d)(?:st|nd|rd|th))\Z")
"""Shorter or longer than an id: `79nd` is one, `2nd` is none."""
_POSSESSIVE = re.compile(r"['’]s\Z")
_ARTICLES = words("a an the")
_SIGNS = {"→": "to", "->": "to", "=>": "to", "⟶": "to", "+": "and", "&": "and"}
_DASHES = words("- – — = : -- :=")
_SPELT_OUT = {"what's": "what is", "where's": "where is", "who's": "who is", "there's": "there is"}
_SAYING = {("by", "saying"), ("that", "says"), ("which", "says"), ("that", "reads"), ("which", "reads")}
_LONGEST = 60


def items_of(tokens: Sequence[Token]) -> list[VocabularyToken]:
    """The tokens by sort, without fillers. A bare word is a node if it can be one and is no word."""
    items: list[VocabularyToken] = []
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        match token:
            case Quoted(text):
                if items and items[-1].sort is Sort.WORD and items[-1].text in _DASHES and len(items) > 1:
                    items.pop()
                if _is_pinned_document(before):
                    items.append(
                        VocabularyToken(Sort.OPTION, "doc", option=Option("doc", (text,), quoted=True))
                    )
                else:
                    items.append(VocabularyToken(Sort.TEXT, text))
            case Option() if _is_pinned_document(token):
                items.append(VocabularyToken(Sort.WORD, "pin", "pin"))
            case Option(name):
                items.append(VocabularyToken(Sort.OPTION, name, option=token))
            case Word():
                article = isinstance(before, Word) and before.text in _ARTICLES
                following = tokens[place + 1] if place + 1 < len(tokens) else None
                items += _bare_items(token, following, article=article)
                if len(items) > 1 and (items[-2].text, items[-1].text) in _SAYING:
                    items[-2:] = [VocabularyToken(Sort.WORD, "saying", "saying")]
    return items


def _is_pinned_document(token: Token | None) -> bool:
    """`pin:doc:"…"`, whose title is a token of its own."""
    return isinstance(token, Option) and token.name == "pin" and token.values in {("doc:",), ("document:",)}


def _bare_items(token: Word, following: Token | None, *, article: bool) -> list[VocabularyToken]:
    text = token.text.replace("’", "'")
    if not token.bracketed:
        if text in FILLER and not (text == "nodes" and not _names_node(following)):
            return []
        if text in _SPELT_OUT:
            return [VocabularyToken(Sort.WORD, each, each) for each in _SPELT_OUT[text].split()]
        if text in _SIGNS:
            return [VocabularyToken(Sort.WORD, _SIGNS[text], token.raw)]
    return [_bare(token, text, article=article)]


def _names_node(token: Token | None) -> bool:
    """Whether `nodes` before this only says what it is; in `as nodes` it says how."""
    return isinstance(token, Word) and _bare(token, token.text, article=False).sort is not Sort.WORD


def _bare(token: Word, text: str, *, article: bool) -> VocabularyToken:
    raw = token.raw
    if raw == CURSOR:
        return VocabularyToken(Sort.NODE, CURSOR, raw)
    if len(raw) > _LONGEST and "," not in raw:
        return VocabularyToken(Sort.WORD, text[:_LONGEST], raw)
    if not token.bracketed:
        numbered = _NUMBERED.match(raw)
        if numbered is not None:
            return VocabularyToken(Sort.NUMBER, numbered[1] or numbered[2], raw)
        if raw.isalpha() and (article or text in COMMAND_WORDS or not _looks_like_id(text)):
            return VocabularyToken(Sort.WORD, text, raw)
    if _RANGE.match(raw) is not None and (token.bracketed or any(map(str.isdecimal, raw)) or "[" in raw):
        # Without a digit it is a compound: `turning-point`.
        return VocabularyToken(Sort.RANGE, raw, raw)
    if "," in raw:
        parts = [as_reference(part) for part in raw.split(",") if part]
        if parts and all(parts):
            return VocabularyToken(Sort.NODES, " ".join(part for part in parts if part), raw)
    reference = as_reference(raw)
    owner = False
    if reference is None and not token.bracketed and len(raw) <= _LONGEST:
        stem = _POSSESSIVE.sub("", raw)
        owner = stem != raw and not stem.isalpha()
        reference = as_reference(stem) if owner else None
    return (
        VocabularyToken(Sort.WORD, text, raw)
        if reference is None
        else VocabularyToken(Sort.NODE, reference, raw, owner=owner)
    )


def _looks_like_id(word: str) -> bool:
    """Whether an id of letters only is ever written like this."""
    return len(word) <= LOCAL_ID_LIMIT and not set(word) & set("ilou")


def range_of(text: str) -> tuple[str, str] | None:
    """The two ends of `r001-a7x2`."""
    parts = _RANGE.match(text.strip())
    if parts is None:
        return None
    first, last = as_reference(parts[1]), as_reference(parts[2])
    return None if first is None or last is None else (first, last)


_LONG = 7
_TYPED = range(3, 21)


def corrected(tokens: Iterable[Token], known: frozenset[str]) -> list[Token] | None:
    """The tokens with misspelt words of the language put right; None if none is sure."""
    given = list(tokens)
    right = [_right_spelling(token, known) for token in given]
    return None if right == given else right


def _right_spelling(token: Token, known: frozenset[str]) -> Token:
    if not isinstance(token, Word) or token.bracketed or token.text in known:
        return token
    if not token.text.isalpha() or len(token.text) not in _TYPED:
        return token
    meant = [word for word in known if len(word) > 3 and is_typo(token.text, word)]
    return Word(meant[0], meant[0], after=token.after) if len(meant) == 1 else token


def is_typo(typed: str, word: str) -> bool:
    """True if the words differ by one typing slip that does not make another real word."""
    if typed == word or typed[0] != word[0]:
        return False
    if len(typed) == len(word):
        differ = [index for index, (one, other) in enumerate(zip(typed, word, strict=True)) if one != other]
        first, last = differ[0], differ[-1] + 1
        swapped = last - first == 2 and typed[first:last] == word[first:last][::-1]
        return swapped or (len(differ) == 1 and len(word) >= _LONG)
    if len(typed) == len(word) - 1:
        return any(word[:index] + word[index + 1 :] == typed for index in range(1, len(word)))
    if len(typed) == len(word) + 1:
        # An ending is no slip: `excluded` tells of something, and asks for nothing.
        places = [index for index in range(1, len(typed)) if typed[:index] + typed[index + 1 :] == word]
        doubled = any(typed[index] == typed[index - 1] for index in places)
        return doubled or (len(word) >= _LONG and bool(places) and len(typed) - 1 not in places)
    return False
