"""From the text after an arrow to tokens: bare words, strings, and options with their values.

Where a string closes and where a private thought begins is decided here, for scanner and parser
alike: if they differed, a command inside of a string or a thought could be run.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

from weft.errors import InvalidInputError, InvalidSyntaxError
from weft.ids import normalise_reference

MARKS = {'"': '"', "“": "”"}
"""What closes a string, by what opens it. A straight one may hold curly marks, and the other way round."""

# Possessive throughout: what was passed is never looked at again, so a string that never closes costs
# no more than one that does.
_STRAIGHT = r'[^"\\]*+(?:\\.[^"\\]*+)*+"'
_CURLY = r"[^”\\]*+(?:\\.[^”\\]*+)*+”"
_REST = {'"': re.compile(_STRAIGHT, re.DOTALL), "“": re.compile(_CURLY, re.DOTALL)}
_OUTSIDE = re.compile(
    rf"""[^"“]*+(?:(?:
        (?<=[^\s:=,])["“]++        # a mark inside a word (5") is only a mark
        |"{_STRAIGHT}|“{_CURLY}    # a string, at a word's beginning or as a value
    )[^"“]*+)*+""",
    re.DOTALL | re.VERBOSE,
)
_MEANT = '"\n“”\\'
_ESCAPES = (('\\"', '"'), ("\\n", "\n"), ("\\“", "“"), ("\\”", "”"))


def end_of_closed(text: str, position: int) -> int:
    """How far a text goes, from outside of any string, before one opens that is not closed in it."""
    found = _OUTSIDE.match(text, position)
    return position if found is None else found.end()


def string_end(text: str, position: int, mark: str) -> int:
    """The place right after the mark that closes a string, looked for from inside of it; -1 if none does."""
    found = _REST[mark].match(text, position)
    return -1 if found is None else found.end()


def unescaped(inside: str) -> str:
    r"""The text between two marks, with `\"`, `\n` and `\\` resolved; other backslashes are themselves."""
    if "\\" not in inside:
        return inside
    # Pairs of backslashes part what the others belong to. Replacing is far faster than calling back.
    taken = inside + _MEANT
    other = next(mark for mark in map(chr, range(len(taken) + 1)) if mark not in taken)
    text = inside.replace("\\\\", other)
    for escaped, meant in _ESCAPES:
        text = text.replace(escaped, meant)
    return text.replace(other, "\\")


def quote(text: str) -> str:
    """The same text as a string of a command, on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


_BEGINS = re.compile(
    r"""[ \t]*+
    (?:(?:please|now|just|let|me|let's|i|will|ok|okay|first|so)[ \t,]+){0,5}
    (?:(?:i[ ](?:need|want|have)|i'd[ ]like|i[ ]would[ ]like|i'm[ ]going|i[ ]am[ ]going|(?:it's[ ])?time)[ ]to[ ])?
    (?:
        (?:(?:start|begin)[ ])?think(?:ing)?
        |(?:(?:open|use|start|begin)[ ])?(?:(?:a|the|my)[ ])?(?:private[ ])?scratch-?pad
        |(?:start|begin)[ ](?:a[ ])?(?:private[ ])?thought
    )(?![\w'’-])
    (?:[ ]about[ ](?:it|this)(?=[ ]?:|[ ](?:privately|quietly|silently)))?
    (?:[ ](?:privately|quietly|silently|(?:for[ ])?(?:a|one)[ ](?:moment|second|minute|bit|while)|please)
        (?=[ \t]*+(?:[.…:]|\Z)))?
    [ \t]*+(?:[:.,…!]++|[—–-]++(?=[ \t]|\Z))?""",
    re.IGNORECASE | re.VERBOSE,
)
_LOOKED_AT = 120


def thought_start(text: str, position: int = 0) -> int | None:
    """The place where the thought's own words begin, or None if this opens none."""
    found = _BEGINS.match(text[position : position + _LOOKED_AT].replace("’", "'").split("\n", 1)[0])
    return None if found is None else position + found.end()


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

_NAMES = (
    "agent as at branch content-of context depth description doc from id in instruction item label "
    "lines n name note pin query range replace result section stash stop summary-of tag temp text to "
    "tokens tree"
)
_ALIASES = {
    "agent": "model using with",
    "content-of": "content contentof contents-of text-of",
    "depth": "levels",
    "doc": "docs document",
    "id": "ids node nodes",
    "instruction": "instructions",
    "lines": "line",
    "n": "count",
    "range": "group",
    "summary-of": "summary summaryof",
    "temp": "temperature",
    "tokens": "max-tokens max_tokens",
}
OPTIONS = {name: name for name in _NAMES.split()} | {
    alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()
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
CURSOR = "."
"""The node where the agent is, as a reference."""
_DOT = Word(CURSOR, CURSOR)


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
    return _without_full_stop(found)


def _without_full_stop(tokens: list[Token]) -> list[Token]:
    """A dot by itself is the cursor (`view .`), unless it ends the sentence after an id or a string."""
    if len(tokens) < 2 or tokens[-1] != _DOT:
        return tokens
    before = tokens[-2]
    is_value = not isinstance(before, Word) or before.bracketed or any(map(str.isdecimal, before.raw))
    return tokens[:-1] if is_value else tokens


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
    if raw == CURSOR:
        return _DOT
    bare = raw.strip(_EDGES).rstrip(_ENDS).strip(_EDGES)
    bracketed = bare.startswith("[") and bare.rstrip("'’′").endswith("]")
    if bracketed:
        bare = bare.replace("[", "", 1).replace("]", "", 1)
    # Only what ends it, and not what is inside of a long one.
    tail = raw[-3:]
    return Word(bare.lower(), bare, bracketed, tail[len(tail.rstrip(_ENDS)) :]) if bare else None


def as_reference(text: str) -> str | None:
    """A node's id as it is looked up, or None if this can be none."""
    if text == CURSOR:
        return CURSOR
    if len(text) > _LONGEST_REFERENCE:
        return None
    try:
        return normalise_reference(text.strip("`*()"))
    except InvalidInputError:
        return None
