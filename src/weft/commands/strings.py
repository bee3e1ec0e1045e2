"""Strings in commands: where one opens and where it closes, decided in one place for scanner and lexer."""

import re

__all__ = ["MARKS", "end_of_closed", "string_end", "unescaped", "written"]

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
    r"""What stands between two marks, with `\"`, `\n` and `\\` resolved; other backslashes are themselves."""
    if "\\" not in inside:
        return inside
    # Pairs of backslashes part what the others belong to. Replacing is far faster than calling back.
    taken = inside + _MEANT
    other = next(mark for mark in map(chr, range(len(taken) + 1)) if mark not in taken)
    text = inside.replace("\\\\", other)
    for escaped, meant in _ESCAPES:
        text = text.replace(escaped, meant)
    return text.replace(other, "\\")


def written(text: str) -> str:
    """The same text as a string of a command, on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
