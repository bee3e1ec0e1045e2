"""The words of a command: bare ones, strings, and options with their values."""

import re
from dataclasses import dataclass
from typing import TypeAlias

from weft.commands.strings import MARKS, string_end, unescaped
from weft.errors import InvalidInputError, InvalidSyntaxError
from weft.ids import normalise_reference

__all__ = ["OPTIONS", "Option", "Quoted", "Token", "Word", "as_reference", "tokens_of"]

_MOST = 200
"""Tokens. No command has as many, and reading stays bounded however long a line is."""
_LONGEST = 10_000
"""Letters of one of them outside of quotation marks: many ids with commas between."""
_LONGEST_REFERENCE = 40
_BARE = re.compile(r'[^\s"“]++(?:(?<![:=,])["“][^\s"“]*+)*+')
_SPACE = re.compile(r"\s*+")
_AFTER = re.compile(r"[,;:.!?)\]]*+")
_DASHED = re.compile(r"--(?=[A-Za-z])")
_FLAG = re.compile(
    r"(full|summary|append|with-annotations|annotations)[:=](?:true|yes|on|1)[,;.]?\Z", re.IGNORECASE
)
_RESULT = re.compile(r"\[(result[:=]\d{1,9})\][,;.!?]*\Z", re.IGNORECASE)
_OPTION = re.compile(r"([A-Za-z][A-Za-z_-]{0,20})[:=](.*)\Z", re.DOTALL)
_EDGES = "`*()<>"
_ENDS = ".,;:!?…"

_LISTS = frozenset({"context", "instruction", "id"})
"""Options whose values may be parted by a comma and a blank."""
_ALSO_SMALL = frozenset({"with", "using", "as", "in", "node", "nodes"})
"""Before a blank, a colon after one of these only announces what follows: `reply with: "…"`."""
_ALSO_VERBS = frozenset({"note", "pin", "stash", "tag", "tree", "replace"})

OPTIONS = {
    "docs": "doc",
    "summary": "summary-of",
    "nodes": "id",
    "ids": "id",
    "levels": "depth",
    "group": "range",
    "range": "range",
    "text-of": "content-of",
    "contents-of": "content-of",
    "agent": "agent",
    "as": "as",
    "at": "at",
    "branch": "branch",
    "content": "content-of",
    "content-of": "content-of",
    "contentof": "content-of",
    "context": "context",
    "count": "n",
    "depth": "depth",
    "description": "description",
    "doc": "doc",
    "document": "doc",
    "from": "from",
    "id": "id",
    "in": "in",
    "instruction": "instruction",
    "instructions": "instruction",
    "item": "item",
    "label": "label",
    "lines": "lines",
    "line": "lines",
    "max-tokens": "tokens",
    "max_tokens": "tokens",
    "model": "agent",
    "n": "n",
    "name": "name",
    "node": "id",
    "note": "note",
    "pin": "pin",
    "query": "query",
    "replace": "replace",
    "result": "result",
    "section": "section",
    "stash": "stash",
    "stop": "stop",
    "summary-of": "summary-of",
    "summaryof": "summary-of",
    "tag": "tag",
    "temp": "temp",
    "temperature": "temp",
    "text": "text",
    "to": "to",
    "tokens": "tokens",
    "tree": "tree",
    "using": "agent",
    "with": "agent",
}
"""Every name that an option may be given by, and what it is called in the catalog."""


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    """Lower case, without what is around it."""
    raw: str
    bracketed: bool = False
    after: str = ""
    """The punctuation that follows it."""


@dataclass(frozen=True, slots=True)
class Quoted:
    text: str


@dataclass(frozen=True, slots=True)
class Option:
    name: str
    values: tuple[str, ...]
    quoted: bool


Token: TypeAlias = Word | Quoted | Option


def tokens_of(text: str) -> list[Token]:
    """The tokens of what follows an arrow. A string that does not end, or ends inside a word, is an error."""
    found: list[Token] = []
    position = _skip(text, 0)
    while position < len(text):
        if len(found) >= _MOST:
            raise InvalidSyntaxError(
                f"a command has at most {_MOST} words", hint='put longer texts in quotes: "…"'
            )
        if text[position] in MARKS:
            said, position = _string(text, position)
            found.append(Quoted(said))
        else:
            token, position = _bare(text, position, found)
            if token is not None:
                found.append(token)
        position = _skip(text, position)
    return found


def _skip(text: str, position: int) -> int:
    blank = _SPACE.match(text, position)
    return position if blank is None else blank.end()


def _string(text: str, position: int) -> tuple[str, int]:
    """A string and the place after it, with the punctuation that may follow."""
    end = string_end(text, position + 1, text[position])
    if end < 0:
        raise unclosed(text[position + 1 :], text[position])
    said = unescaped(text[position + 1 : end - 1])
    after = _AFTER.match(text, end)
    stop = end if after is None else after.end()
    follows = text[stop : stop + 1]
    if follows and not follows.isspace() and not (follows in MARKS and text[stop - 1] == ","):
        raise InvalidSyntaxError(
            f"{_shown(text[stop:])!r} follows a closing quotation mark directly",
            hint='write \\" for a quotation mark inside a string',
        )
    return said, stop


def unclosed(inside: str, mark: str) -> InvalidSyntaxError:
    """A string that never ends: nothing in it, and nothing after it, is done."""
    lines = inside.count("\n")
    taken = f"; the {lines:,} lines after it were taken for its text, and none was run" if lines else ""
    return InvalidSyntaxError(
        f"the string that begins with {_shown(inside)!r} is never closed{taken}",
        hint=f"end it with {MARKS[mark]}",
    )


def _shown(text: str) -> str:
    line = text[:60].split("\n", 1)[0]
    return line if len(line) <= 24 else line[:24] + "…"


def _bare(text: str, position: int, before: list[Token]) -> tuple[Token | None, int]:
    match = _BARE.match(text, position)
    end = position + 1 if match is None else match.end()
    if end - position > _LONGEST:
        raise InvalidSyntaxError(
            f"a word has at most {_LONGEST:,} letters", hint='put longer texts in quotes: "…"'
        )
    raw = _DASHED.sub("", text[position:end], count=1)
    flag, result = _FLAG.match(raw[:_LONGEST_REFERENCE]), _RESULT.match(raw[:_LONGEST_REFERENCE])
    if flag is not None:
        return Word(flag[1].lower(), flag[1]), end
    if result is not None:
        raw = result[1]
    option = _OPTION.match(raw)
    if (
        option is not None
        and not option[2]
        and raw[:-1].lower() in _ALSO_SMALL
        and text[end : end + 1].isspace()
    ):
        return _word(raw), end
    begins_command = not before and not (option and option[2]) and raw[:-1].lower() in _ALSO_VERBS
    if option is not None and option[1].lower() in OPTIONS and not begins_command:
        return _option(text, OPTIONS[option[1].lower()], option[2], end)
    last = before[-1] if before else None
    if isinstance(last, Option) and last.name in _LISTS and not last.quoted and last.values[-1:] == ("",):
        # `context:a7x2, b3k9`: the list goes on.
        before.pop()
        return Option(last.name, (*last.values[:-1], *raw.split(",")), quoted=False), end
    return _word(raw), end


def _option(text: str, name: str, value: str, end: int) -> tuple[Option, int]:
    if not value:
        # `note: "…"` and `from: a7x2` are options with a blank in them.
        start = _skip(text, end)
        if start < len(text) and text[start] in MARKS:
            end = start
        elif start < len(text):
            match = _BARE.match(text, start)
            if match is not None and _OPTION.match(match[0]) is None:
                return Option(name, _values(name, match[0]), quoted=False), match.end()
            return Option(name, (), quoted=False), end
    if end < len(text) and text[end] in MARKS and not value:
        said: list[str] = []
        while end < len(text) and text[end] in MARKS:
            one, end = _string(text, end)
            said.append(one)
        return Option(name, tuple(said), quoted=True), end
    return Option(name, _values(name, value), quoted=False), end


def _values(name: str, value: str) -> tuple[str, ...]:
    """The values of an option, without the punctuation of the sentence around it."""
    if name in _LISTS:
        return tuple(value.rstrip(";").split(","))
    bare = value.rstrip(",;")
    if name != "stop" and bare[-2:-1].isalnum() and bare[-1] in ".!?)":
        bare = bare[:-1]
    return tuple(bare.split(","))


def _word(raw: str) -> Word | None:
    bare = raw.strip(_EDGES).rstrip(_ENDS).strip(_EDGES)
    bracketed = bare.startswith("[") and bare.rstrip("'’′").endswith("]")
    if bracketed:
        bare = bare.replace("[", "", 1).replace("]", "", 1)
    # Only what ends it, and not what is inside of a long one.
    tail = raw[-3:]
    return Word(bare.lower(), bare, bracketed, tail[len(tail.rstrip(_ENDS)) :]) if bare else None


def as_reference(text: str) -> str | None:
    """A node's id as it is looked up, or None if this can be none."""
    if len(text) > _LONGEST_REFERENCE:
        return None
    try:
        return normalise_reference(text.strip("`*()"))
    except InvalidInputError:
        return None
