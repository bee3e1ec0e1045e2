"""Format titles, ids, times and nodes as text."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from weft.ids import PRIME
from weft.tree.agent import AgentType
from weft.tree.content import plain_text
from weft.tree.json_names import from_microseconds
from weft.tree.node import Node
from weft.tree.node import node_marks as marks_of

FIRST_WORDS = 80
_TITLE = 40
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_UNQUOTED_PRIME = "’"
"""Read as a prime, and no shell takes it for a quotation mark."""
_MODEL_STYLE = "dark_orange3"


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
    """The time between a moment and now (in microseconds); a date after a month."""
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


def style_of(node: Node) -> str:
    """Models' lines are tinted; a person's have the terminal's own colour."""
    return _MODEL_STYLE if node.author_type is AgentType.MODEL else ""


def label_of(node: Node, names: Mapping[str, str]) -> str:
    """A node's id and author: `[a7x2] human`."""
    return f"[{node.local_id}] {one_line(names.get(node.author_id, node.author_type))}"


def first_words(node: Node, limit: int = FIRST_WORDS) -> str:
    """The beginning of a node on one line; its kind, if it has no text."""
    text = plain_text(node.content)
    return shortened(text, limit) or ("(empty)" if node.kind == "text" else f"({node.kind})")


def node_marks(node: Node, annotations: int = 0) -> Iterator[str]:
    """A node's flags and tags, each on one line."""
    return map(one_line, marks_of(node, annotations))
