"""What commands that look are answered: a line of success, then what was looked at, set in by two spaces."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.commands.reply import called, done

__all__ = ["Shown", "TreeRow", "branch_as_nodes", "branch_as_prose", "document_read", "tree_drawn", "viewed"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A node under its heading."""

    heading: str
    """`[a7x2] human · 3m ago`."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """One node of a drawing, in the order in which they are drawn."""

    local_id: str
    depth: int
    """From where the drawing begins."""
    said: str
    """An excerpt, or the summary."""
    here: bool = False
    more: int = 0
    """Continuations that lie too deep to be drawn."""


def viewed(node: Shown, *, summary: bool, annotations: Sequence[Shown] = ()) -> str:
    """One node, in short unless it was asked for in full."""
    note = "summary; → view … full for the text" if summary else ""
    lines = [done(node.heading, note), _set_in(node.text)]
    for each in annotations:
        lines += [f"  {each.heading}", _set_in(each.text, "    ")]
    return "\n".join(lines)


def branch_as_nodes(nodes: Sequence[Shown]) -> str:
    """A branch, each node by itself with its full heading."""
    lines = [done(_count(len(nodes), "node"))]
    for each in nodes:
        lines += [f"  {each.heading}", _set_in(each.text, "    ")]
    return "\n".join(lines)


def branch_as_prose(node: str, prose: str, count: int) -> str:
    """A branch stitched together, for reading."""
    return "\n".join([done(f"branch to [{node}]", _count(count, "node")), _set_in(prose)])


def tree_drawn(rows: Sequence[TreeRow], depth: int) -> str:
    """A drawing by indentation; `*` is where the agent stands."""
    first = rows[0].local_id if rows else ""
    lines = [done(f"tree from [{first}]" if first else "tree", f"depth:{depth}", _count(len(rows), "node"))]
    for row in rows:
        star = "*" if row.here else ""
        more = f" · {row.more:,} more below" if row.more else ""
        lines.append(f"  {'  ' * row.depth}[{row.local_id}]{star} {_line(row.said)}{more}".rstrip())
    return "\n".join(lines)


def document_read(title: str, text: str, *, part: str = "", revision: int) -> str:
    """`part` is `summary`, `lines 12-20` or `§motivation`; empty for all of it."""
    return "\n".join([done(called("doc", title), part, f"revision {revision}"), _set_in(text)])


def _set_in(text: str, by: str = "  ") -> str:
    """Nothing in a text can begin a line of ours."""
    return "\n".join(f"{by}{line}".rstrip() for line in text.splitlines() or [""])


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
