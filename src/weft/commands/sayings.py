"""Reads a line as one of the sentences in `templates`: all of it, or not at all."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from weft.commands.lexicon import known_words, listed, verbs
from weft.commands.pieces import FILLER, NUMBERS, read_bare
from weft.commands.shape import Shape, shape_of
from weft.commands.strings import written
from weft.commands.templates import TEMPLATES, WORDS
from weft.commands.words import Option, Quoted, Token, Word, tokens_of

__all__ = ["readings"]

_PARTS = re.compile(r"\$\w+|[A-Z]+\d?(?![a-z])|[\[\]()|]|[^\s\[\]()|$]+")
_SLOT = re.compile(r"(ID|OWNER|RANGE|TEXT|DOC|WHAT|TAG|HASH|COMMAND|N)(\d?)\Z")
_GIVEN = re.compile(r"(?:ID|OWNER|RANGE|TEXT|DOC|WHAT|TAG|HASH|COMMAND|N)\d?(?![A-Za-z])")
_NODES = frozenset({"node", "nodes"})
_LEFT_OUT = FILLER - _NODES
_LONGEST = 2_000
_NO_TAGS = sorted(
    listed(
        "new another second third first last next previous other old same this that these those its it their every each all "
        "any some no both wrong right current existing tag tags of to on from off as called named such own and or not only"
    )
)
"""Words that say which tag, and are none."""


class _Sentence(NamedTuple):
    pattern: re.Pattern[str]
    meant: str
    needs: str


@lru_cache(maxsize=1)
def _sentences() -> tuple[_Sentence, ...]:
    return tuple(_Sentence(re.compile(_compiled(said)), meant, needs) for said, meant, needs in TEMPLATES)


@lru_cache(maxsize=1)
def _slots() -> dict[str, str]:
    commands = "|".join(re.escape(verb[0]) for verb in verbs() if len(verb) == 1)
    return {
        "ID": r"ID|\d{4,26}",
        "OWNER": "OWNER",
        "RANGE": "RANGE",
        "TEXT": "TEXT",
        "DOC": "DOC",
        "WHAT": r"ID|\d{4,26}|DOC",
        "TAG": rf"TEXT|(?!(?:{'|'.join(_NO_TAGS)}) )#?[^\W\d_A-Z][\w-]*",
        "HASH": r"#[^\W\d_][\w-]*",
        "COMMAND": commands,
        "N": rf"\d{{1,9}}|{'|'.join(NUMBERS)}",
    }


_SIGNS = {"[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|"}


def _compiled(said: str) -> str:
    """A template as an expression over shapes, in which every word is followed by one blank."""
    found: list[str] = []
    for part in _PARTS.findall(said):
        slot = _SLOT.match(part)
        if part[0] == "$":
            found.append(f"(?:{_compiled(WORDS[part[1:]])})")
        elif part in _SIGNS:
            found.append(_SIGNS[part])
        elif slot is not None:
            found.append(f"(?P<{part}>{_slots()[slot[1]]}) ")
        else:
            found.append(re.escape(part) + " ")
    return "".join(found)


def readings(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The line in the catalog's forms, for every sentence that it is; options are passed on."""
    options = [token for token in tokens if isinstance(token, Option) and token.name != "doc"]
    said = [token for token in tokens if not isinstance(token, Option) or token.name == "doc"]
    shape = shape_of(said, lambda place: _is_left_out(said, place))
    if not 0 < len(shape.text) <= _LONGEST:
        return
    names = {option.name for option in options}
    for sentence in _sentences():
        if sentence.needs and sentence.needs not in names:
            continue
        match = sentence.pattern.fullmatch(shape.text)
        if match is not None:
            yield [*_meant(sentence.meant, match, said, shape), *options]


def _is_left_out(tokens: Sequence[Token], place: int) -> bool:
    token = tokens[place]
    if not isinstance(token, Word) or token.bracketed:
        return False
    if token.text in _NODES:
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        return isinstance(after, Word) and (after.bracketed or after.text not in known_words())
    return token.text in _LEFT_OUT


def _meant(meant: str, match: re.Match[str], tokens: Sequence[Token], shape: Shape) -> Iterator[Token]:
    """The catalog's form with what was given in its places. Texts are put in last: they may be long."""
    texts: dict[str, str] = {}

    def given(slot: re.Match[str]) -> str:
        name = slot[0]
        group = name if match.groupdict().get(name) is not None else f"{name}2"
        token = tokens[shape.place(match.start(group))]
        if isinstance(token, Quoted):
            texts[f"\0{name}"] = token.text
            return f'"\0{name}"'
        return _written(name.rstrip("0123456789"), match[group], token)

    for token in tokens_of(_GIVEN.sub(given, meant)):
        match token:
            case Quoted(text):
                yield Quoted(texts.get(text, text))
            case Option(name, values, True):
                yield Option(name, tuple(texts.get(value, value) for value in values), quoted=True)
            case _:
                yield token


def _written(kind: str, said: str, token: Token) -> str:
    match token:
        case Quoted():
            raise AssertionError(kind)
        case Option(_, values, _):
            return f"doc:{written(values[0] if values else '')}"
        case Word(text, raw, _):
            if kind == "N":
                return str(NUMBERS.get(said, said))
            if kind == "COMMAND":
                return verbs()[(text,)]
            if kind in {"TAG", "HASH"}:
                return written(raw.lstrip("#"))
            if kind == "RANGE":
                return raw
            return f"[{read_bare(token, 0, known_words(), article=False)[0].text}]"
