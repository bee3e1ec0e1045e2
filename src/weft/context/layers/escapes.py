"""Texts that may stand among tags: equal on every machine, and unable to close what they stand in."""

import json
import re

from weft.context.layers.names import ELEMENTS

_NUL, _SHOWN = "\x00", "\ufffd"
_NAMES = "|".join(sorted(ELEMENTS, key=len, reverse=True))
_CLOSING = re.compile(rf"</(?=\s*(?:{_NAMES})\b)", re.IGNORECASE)
_SPACED = re.compile(rf"<(\s+)/(?=\s*(?:{_NAMES})\b)", re.IGNORECASE)
"""Apart, because the common form is replaced many times faster without a group."""
_UNSEEN = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")
_ATTRIBUTE = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\n": "&#10;",
    "\r": "&#13;",
    "\t": "&#9;",
}


def has_nul(text: str) -> bool:
    return _NUL in text


def clean(text: str) -> str:
    """The text with one kind of newline, nothing at the ends of lines, and no NUL.

    Line by line, because a pattern for spaces before a newline takes quadratic time on a
    long run of spaces.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace(_NUL, _SHOWN)
    if " \n" in text or "\t\n" in text or text.endswith((" ", "\t")):
        text = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    return text.strip("\n")


def close_nothing(text: str) -> str:
    """Turn the slash of every tag that would close one of ours. As long as it was, so it costs no token."""
    return _SPACED.sub(r"<\1\\", _CLOSING.sub(r"<\\", text)) if "/" in text else text


def leave_open(text: str, name: str) -> str:
    """The same for one tag alone, around a text that may hold blocks of ours."""
    if "/" not in text:
        return text
    return re.sub(rf"<(\s*)/(?=\s*{re.escape(name)}(?!\w))", r"<\1\\", text, flags=re.IGNORECASE)


def one_line(text: str) -> str:
    """An id, path or title on one line, as it is wherever possible.

    What has a newline in it, could close a tag, or could be taken for something quoted, is written
    as a JSON string: two ids never look alike.
    """
    plain = _UNSEEN.search(text) is None and not text.startswith('"') and text == text.strip()
    if plain and close_nothing(text) == text:
        return text
    quoted = _UNSEEN.sub(_escaped, json.dumps(text, ensure_ascii=False))
    return _SPACED.sub(r"<\1\\/", _CLOSING.sub(r"<\\/", quoted))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def attribute(text: str) -> str:
    """A value between double quotes."""
    text = text.replace(_NUL, _SHOWN)
    return "".join(_ATTRIBUTE.get(character, character) for character in text)
