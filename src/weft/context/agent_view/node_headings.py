"""The line above each node's words, and what only looks like one."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from weft.tree.content import Block, Content, Mixed, Text

_SEPARATOR = " · "
_ID = r"\[[0-9A-Za-z]{1,26}['’′]{0,64}\]"
"""Shorter than any node's, too: a model that imitates headings makes up ids."""
_TIME = r"(?:just now|\d{1,6}[mhdwy] ago|\d{4}-\d\d-\d\d \d\d:\d\d(?: UTC)?)"
_COUNT = r"(?: · (?:[\d,]{1,12} (?:continuation|annotation|link)s?|bookmarked|excluded|pruned|interrupted))*+"
_HEADING = re.compile(rf"^[ \t]*+{_ID} [^\n·]{{1,200}} · {_TIME}{_COUNT}[ \t\r]*+$\n?", re.MULTILINE)
_BEGUN = re.compile(r"[ \t]{0,100}+(?:\[[0-9A-Za-z]{0,26}(?:['’′]{0,64}(?:\](?: [^\n]{0,300})?)?)?)?")
_BREAK = r"\r\v\f\x1c-\x1e\x85\u2028\u2029"
"""What shows as the end of a line, beside the one that it is."""
_START = rf"(?:^|(?<=[{_BREAK}]))"
_BLANK = r"[ \t\u00a0\u2000-\u200b\u202f\u3000]"
_LOOK_ALIKE = re.compile(
    rf"{_START}((?:{_BLANK}|[>*])*+)\[([0-9A-Za-z]{{4,26}}['’′]{{0,64}}(?=\] [^\n]{{0,300}}?·)"
    rf"|[0-9A-Za-z]{{1,3}}['’′]{{0,64}}(?=\] [^\n·]{{1,200}} · {_TIME}))\]",
    re.MULTILINE,
)
_FENCE = re.compile(
    rf"{_START}({_BLANK}*+)===(?={_BLANK}*+(?:(?:Operational Memory|Loom Context)\b|[{_BREAK}]|$))",
    re.MULTILINE,
)
_UNSEEN = re.compile(r"[\s·\x00-\x1f\x7f\x85\u2028\u2029]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadingFacts:
    """What a heading tells of a node."""

    local_id: str
    author: str
    """`human`, or the name of a model's agent."""
    created_at: datetime
    continuations: int = 0
    annotations: int = 0
    links: int = 0
    bookmarked: bool = False
    model: bool = False
    """Whether a model wrote it: in prose, the boundary before it says so."""


def heading(facts: HeadingFacts, now: datetime) -> str:
    """`[a7x2] human · 3m ago · 2 continuations · 1 annotation · bookmarked`; what is nought is left out."""
    return _joined(facts, ago(facts.created_at, now), *connections(facts))


def absolute_heading(facts: HeadingFacts) -> str:
    """The same without anything that changes as time goes by: the prefix stays as it was."""
    return _joined(facts, moment(facts.created_at))


def connections(facts: HeadingFacts) -> tuple[str, ...]:
    counts = (
        (facts.continuations, "continuation"),
        (facts.annotations, "annotation"),
        (facts.links, "link"),
    )
    said = tuple(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count > 0)
    return (*said, "bookmarked") if facts.bookmarked else said


def ago(then: datetime, now: datetime) -> str:
    """How long since, in one unit. A clock that went back says just now."""
    passed = now - then
    for unit, length in _UNITS:
        if passed >= length:
            return f"{passed // length}{unit} ago"
    return "just now"


_UNITS = (
    ("y", timedelta(days=365)),
    ("w", timedelta(weeks=1)),
    ("d", timedelta(days=1)),
    ("h", timedelta(hours=1)),
    ("m", timedelta(minutes=1)),
)


def moment(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def escape_look_alikes(text: str) -> str:
    """A text whose lines cannot be taken for headings, nor for the beginning or end of a block.

    As long as it was, so it costs no token: brackets become parentheses, `===` becomes `---`.
    """
    if "·" in text and "[" in text:
        text = _LOOK_ALIKE.sub(r"\1(\2)", text)
    return _FENCE.sub(r"\1---", text) if "===" in text else text


def escape_content(content: Content) -> Content:
    """The same for the words of a node."""
    if isinstance(content, Text):
        return _escaped_block(content)
    if isinstance(content, Mixed):
        return Mixed(tuple(_escaped_block(block) for block in content.blocks))
    return content


def _escaped_block(block: Block) -> Block:
    if not isinstance(block, Text):
        return block
    escaped = escape_look_alikes(block.text)
    return block if escaped == block.text else Text(escaped)


def strip_headings(text: str) -> str:
    """A model's output without the headings that it has imitated."""
    return _HEADING.sub("", text) if "·" in text else text


def may_become_heading(line: str) -> bool:
    """Whether the beginning of a line could go on as a heading."""
    return _BEGUN.fullmatch(line) is not None


def _joined(facts: HeadingFacts, *said: str) -> str:
    # An author's name is anybody's text: it may neither end the line nor add a fact.
    author = _UNSEEN.sub(" ", facts.author).strip()[:100] or "unknown"
    return f"[{facts.local_id}] {_SEPARATOR.join((author, *said))}"
