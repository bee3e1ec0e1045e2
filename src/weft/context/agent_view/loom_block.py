"""The loom context: the tree, where the agent stands, what it may do, and who else is there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from weft.context.agent_view.node_headings import HeadingFacts, connections, moment
from weft.tree.agent import Permission
from weft.tree.tree import Mode

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
    """From a node that both know, if that helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoomPlace:
    title: str
    mode: Mode
    nodes: int
    branches: int
    depth: int
    path: Sequence[str]
    """Local ids from the root to where the agent stands; the last few are enough if `longer`."""
    longer: bool = False
    """Whether the path begins before its first id here."""
    others: tuple[Presence, ...] = ()


def loom_context(place: LoomPlace, permissions: Iterable[Permission]) -> str:
    """The block that stands once, at the end, just before what is said in this turn."""
    return "\n".join([*_lines(place, permissions), "==="])


def tail_block(
    place: LoomPlace,
    permissions: Iterable[Permission],
    *,
    memory: str,
    facts: Iterable[HeadingFacts],
    now: datetime,
) -> str:
    """The tail of the layout that keeps the prefix: what changes every turn stands here and only here."""
    counted = [(each.local_id, connections(each)) for each in facts]
    nodes = [f"  [{name}] {' · '.join(said)}" for name, said in counted if said]
    lines = [*_lines(place, permissions), f"Now: {moment(now)}"]
    if nodes:
        lines += ["Nodes:", *nodes]
    block = "\n".join([*lines, "==="])
    return f"{memory}\n\n{block}" if memory else block


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
    """The last nodes of the way, with a star where the agent stands."""
    if not place.path:
        return "*"
    shown = place.path[-_SHOWN:]
    cut = place.longer or len(place.path) > len(shown)
    way = " → ".join(f"[{node}]" for node in shown)
    return f"{'... → ' if cut else ''}{way}*"


def _present(other: Presence) -> str:
    who = f"{_line(other.name)} active at [{other.node}]"
    if other.way:
        return f"{who} (via {' → '.join(f'[{node}]' for node in other.way)})"
    return f"{who}, depth:{other.depth}"


def _count(count: int, noun: str, plural: str) -> str:
    return f"{count:,} {noun if count == 1 else plural}"


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


BOUNDARY = "︱"
MODEL = "›"
_LOOK_ALIKE = "|"


def boundary(*, first: bool, model: bool) -> str:
    """What stands before a node's words: nothing before a person's at the beginning."""
    if model:
        return f"{BOUNDARY}{MODEL}"
    return "" if first else BOUNDARY


def unmarked(text: str) -> str:
    """A node's words without anything that looks like a boundary."""
    return text.replace(BOUNDARY, _LOOK_ALIKE)


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
