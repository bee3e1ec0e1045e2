"""What a loom-aware agent reads around the conversation: headings of nodes, boundaries, the loom context."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from weft.tree.agent import Permission
from weft.tree.content import Block, Content, Mixed, Text
from weft.tree.tree import Mode

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
    """`human` where one person writes; else the name of the person, or of a model's agent."""
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


_SHOWN = 2
"""How many nodes of the way are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Somebody else who is at work, by node and never by branch."""

    name: str
    """`Human`, or the name of an agent."""
    node: str
    depth: int
    way: tuple[str, ...] = ()
    """Local ids from the last node of the reader's path, where it is off that path; an empty one is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoomPlace:
    title: str
    mode: Mode
    nodes: int
    branches: int
    depth: int
    path: Sequence[str]
    """Local ids from the root to the agent's position; the last few are enough if `longer`."""
    longer: bool = False
    """Whether the path begins before its first id here."""
    others: tuple[Presence, ...] = ()


def loom_context(place: LoomPlace, permissions: Iterable[Permission]) -> str:
    """The block at the end, just before the current turn; there is one."""
    return "\n".join([*_lines(place, permissions), "==="])


def tail_block(
    place: LoomPlace,
    permissions: Iterable[Permission],
    *,
    memory: str,
    facts: Iterable[HeadingFacts],
    now: datetime,
) -> str:
    """The tail of the layout that keeps the prefix: what changes every turn is here and only here."""
    nodes = "".join(map(connections_line, facts))
    lines = [*_lines(place, permissions), f"Now: {moment(now)}"]
    if nodes:
        lines += ["Nodes:", nodes.rstrip("\n")]
    block = "\n".join([*lines, "==="])
    return f"{memory}\n\n{block}" if memory else block


def connections_line(facts: HeadingFacts) -> str:
    """A node's line in that tail; nothing where it has no connections."""
    said = connections(facts)
    return f"  [{facts.local_id}] {_SEPARATOR.join(said)}\n" if said else ""


def _lines(place: LoomPlace, permissions: Iterable[Permission]) -> list[str]:
    counts = [_count(place.nodes, "node", "nodes"), _count(place.branches, "branch", "branches")]
    return [
        "=== Loom Context ===",
        f'Tree: "{_line(place.title)}" ({place.mode} mode)',
        " · ".join([*counts, f"depth: {place.depth}"]),
        f"Position: {_position(place)}",
        f"Permissions: {permissions_line(permissions)}",
        *(_present(each) for each in place.others),
    ]


def _position(place: LoomPlace) -> str:
    """The last nodes of the way, with a star at the agent's position."""
    if not place.path:
        return "*"
    shown = place.path[-_SHOWN:]
    cut = place.longer or len(place.path) > len(shown)
    way = " → ".join(f"[{node}]" for node in shown)
    return f"{'... → ' if cut else ''}{way}*"


def _present(other: Presence) -> str:
    who = f"{_line(other.name)} active at [{other.node}]"
    if other.way:
        return f"{who} (via {' → '.join(f'[{node}]' if node else '...' for node in other.way)})"
    return f"{who}, depth:{other.depth}"


def _count(count: int, noun: str, plural: str) -> str:
    return f"{count:,} {noun if count == 1 else plural}"


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


BOUNDARY = "︱"
MODEL = "›"
_BAR = "|"


def boundary(*, first: bool, model: bool) -> str:
    """The mark before a node's words: none before a person's at the beginning."""
    if model:
        return f"{BOUNDARY}{MODEL}"
    return "" if first else BOUNDARY


def unmarked(text: str) -> str:
    """A node's words without anything that looks like a boundary."""
    return text.replace(BOUNDARY, _BAR)


def marked_prose(parts: Iterable[tuple[str, bool]]) -> str:
    """Stitch (text, whether a model wrote it) together. What is empty, as a root mostly is, has no boundaries."""
    said: list[str] = []
    for text, model in parts:
        if text:
            said.append(boundary(first=not said, model=model) + unmarked(text))
    return "".join(said)


_ADDENDUM = """\
You are operating in a loom-aware context. This means:

- You are located within a tree structure of branching conversations
- Each node in the conversation shows metadata: [localId] author · time · connections
- System-level context at the end of each turn shows your position and permissions
- You can navigate, inspect, annotate, and create content using tool commands
- Tool commands start with → on their own line (e.g., → view a7x2)
- You share this workspace with human collaborators who see the same tree

Your current permissions: {permissions}
Use → help to see available commands."""


def addendum(permissions: Iterable[Permission]) -> str:
    """On every turn, of every loom-aware agent, and of no other: nothing detects a first time."""
    return _ADDENDUM.format(permissions=permissions_line(permissions))


def permissions_line(permissions: Iterable[Permission]) -> str:
    """Always in one order, so that equal permissions are equal texts."""
    granted = frozenset(permissions)
    return ", ".join(each for each in Permission if each in granted)
