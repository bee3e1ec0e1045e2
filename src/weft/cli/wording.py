"""How the command line puts things: titles, ids, numbers, times."""

from datetime import datetime

from weft.ids import PRIME
from weft.tree.json_names import from_microseconds

__all__ = ["ago", "one_line", "quoted", "shortened", "typable", "where"]

_TITLE = 40
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_UNQUOTED_PRIME = "’"
"""Read as a prime, and no shell takes it for a quotation mark."""


def one_line(text: str) -> str:
    return " ".join(text.split())


def shortened(text: str, limit: int) -> str:
    """The beginning of a text on one line."""
    line = one_line(text[: 8 * limit])
    if len(line) <= limit and len(text) <= 8 * limit:
        return line
    return line[: limit - 1].rstrip() + "…"


def quoted(title: str) -> str:
    return f'"{shortened(title, _TITLE)}"'


def where(title: str) -> str:
    return f"in {quoted(title)}"


def typable(local_id: str) -> str:
    """A local id as it can be pasted into a shell."""
    return local_id.replace(PRIME, _UNQUOTED_PRIME)


def ago(moment: datetime, now: int) -> str:
    """How long before now (in microseconds) it was; a date when that says more."""
    seconds = int((from_microseconds(now) - moment).total_seconds())
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE}m ago"
    if seconds < _DAY:
        return f"{seconds // _HOUR}h ago"
    if seconds < 30 * _DAY:
        return f"{seconds // _DAY}d ago"
    return moment.strftime("%Y-%m-%d")
