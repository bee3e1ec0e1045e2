"""Any tree can be read back from its drawing."""

import re
from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from weft.cli.output import ago, first_words
from weft.cli.views import draw_tree
from weft.runtime.views.outline import OutlineRow
from weft.tree.agent import AgentType
from weft.tree.content import Text, ToolCall
from weft.tree.json_names import to_microseconds
from weft.tree.node import Node, Role
from weft.tree.tree import Mode

NOW = datetime(2027, 1, 15, 8, tzinfo=UTC)


def node(name: str, content: Text | ToolCall | None = None) -> Node:
    return Node(
        id=name,
        local_id=name,
        tree_id="t",
        content=content or Text("words"),
        author_id="a",
        author_type=AgentType.HUMAN,
        role=Role.USER,
        content_hash="",
        created_at=NOW,
        edge=None,
        depth=0,
    )


def outline(parents: list[int]) -> list[OutlineRow]:
    """Rows in drawing order; node n+1 hangs from the n-th entry's node."""
    below: dict[int, list[int]] = {}
    for child, parent in enumerate(parents, start=1):
        below.setdefault(parent, []).append(child)
    rows: list[OutlineRow] = []
    pending = [(0, 0)]
    while pending:
        here, indent = pending.pop()
        kids = below.get(here, [])
        rows.append(OutlineRow(node(f"n{here}"), indent, len(kids), 0, 0))
        step = 1 if len(kids) > 1 else 0
        pending.extend((kid, indent + step) for kid in reversed(kids))
    return rows


def read_back(lines: list[str]) -> dict[str, str]:
    """Each node's parent, from nothing but the drawing."""
    parents: dict[str, str] = {}
    levels: dict[int, str] = {}
    last = ""
    for line in lines:
        found = re.match(r"[ *] ([│├└─ ]*)\[(\w+)\]", line)
        assert found is not None, line
        lead, name = found.groups()
        level = len(lead) // 3
        if last:
            parents[name] = levels[level - 1] if re.search("[├└]", lead) else last
        levels[level] = last = name
    return parents


@st.composite
def shapes(draw: st.DrawFn) -> list[int]:
    size = draw(st.integers(0, 25))
    return [draw(st.integers(0, child)) for child in range(size)]


@given(shapes())
def test_a_drawing_tells_every_nodes_parent(parents: list[int]) -> None:
    drawn = draw_tree(outline(parents), mode=Mode.DIALOGUE, cursor="n0", names={"a": "human"})
    lines = ["".join(piece.text for piece in line) for line in drawn]
    assert read_back(lines) == {f"n{child}": f"n{parent}" for child, parent in enumerate(parents, start=1)}
    assert [line for line in lines if line.startswith("*")] == ["* [n0] human  words"]


@given(shapes())
def test_the_lines_of_a_drawing_hang_together(parents: list[int]) -> None:
    drawn = draw_tree(outline(parents), mode=Mode.DIALOGUE, cursor="", names={})
    lines = ["".join(piece.text for piece in line) for line in drawn]
    for upper, lower in pairwise(lines):
        for column, sign in enumerate(lower[: lower.index("[")]):
            if sign == "│" and upper[column : column + 1] not in {"│", "├"}:
                assert upper.index("[") == column, (upper, lower)
        for column, sign in enumerate(upper[: upper.index("[")]):
            if sign == "├":
                assert lower[column : column + 1] in {"│", "├", "└"}, (upper, lower)


def test_first_words_stand_on_one_line_and_are_cut() -> None:
    assert first_words(node("x", Text("a\n\n b\tc"))) == "a b c"
    assert first_words(node("x", Text(" \n"))) == "(empty)"
    assert first_words(node("x", Text("word " * 50)), limit=12) == "word word w…"
    assert first_words(node("x", Text("a" + " " * 5_000 + "b")), limit=12) == "a…"
    assert first_words(node("x", ToolCall(id="1", name="look", arguments={"at": "sky"}))) == "look sky"


def test_times_are_told_as_a_person_would() -> None:
    now = to_microseconds(NOW)
    told = [
        ago(NOW, now + seconds * 1_000_000) for seconds in (-5, 0, 59, 60, 3_599, 3_600, 86_400, 86_400 * 40)
    ]
    assert told == ["just now", "just now", "just now", "1m ago", "59m ago", "1h ago", "1d ago", "2027-01-15"]
