"""A tree in box-drawing characters, and the marks that stand on its nodes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from weft.cli.output import Piece
from weft.cli.wording import one_line, shortened
from weft.tree.agent import AgentType
from weft.tree.content import plain_text
from weft.tree.edge import SourceRole
from weft.tree.node import Node
from weft.tree.node_labels import node_marks as marks_of
from weft.tree.reference import Group
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.runtime.views.reader import Outline

__all__ = ["draw_tree", "first_words", "label_of", "node_marks", "style_of"]

_FIRST_WORDS = 80
_BRANCH, _LAST = "├─ ", "└─ "
_RAIL, _GAP = "│  ", "   "
_MODEL_STYLE = "dark_orange3"


def style_of(node: Node) -> str:
    """Models' lines are tinted; a person's take the terminal's own colour."""
    return _MODEL_STYLE if node.author_type is AgentType.MODEL else ""


def label_of(node: Node, names: Mapping[str, str]) -> str:
    """How a node is called in a line: `[a7x2] human`."""
    return f"[{node.local_id}] {one_line(names.get(node.author_id, node.author_type))}"


def first_words(node: Node, limit: int = _FIRST_WORDS) -> str:
    """The beginning of a node on one line; what it is, where it has no words."""
    text = plain_text(node.content)
    return shortened(text, limit) or ("(empty)" if node.kind == "text" else f"({node.kind})")


def node_marks(node: Node, annotations: int = 0) -> Iterator[str]:
    """What stands on a node, each mark on one line."""
    return map(one_line, marks_of(node, annotations))


def draw_tree(
    outline: Sequence["Outline"],
    *,
    mode: Mode,
    cursor: str,
    names: Mapping[str, str],
    groups: Sequence[Group] = (),
    words: int = _FIRST_WORDS,
) -> Iterator[list[Piece]]:
    """One line for each node: straight runs stay in their column, branches step in."""
    ids = {row.node.id: row.node.local_id for row in outline}
    folds = {group.first: group for group in groups if not group.expanded}
    unbegun: dict[int, int] = {}
    rails: dict[int, str] = {}
    above: Outline | None = None
    for row in outline:
        node, level = row.node, row.indent
        begins = above is not None and above.branches != 1
        if begins:
            unbegun[level] = unbegun.get(level, 1) - 1
            rails[level] = _RAIL if unbegun[level] else _GAP
        if row.branches > 1:
            unbegun[level + 1] = row.branches
        lines = "".join(rails.get(each, _GAP) for each in range(1, level))
        if level:
            lines += (_BRANCH if unbegun.get(level) else _LAST) if begins else rails.get(level, _GAP)
        marks = list(node_marks(node, row.annotations))
        if mode is Mode.DIALOGUE:
            marks.extend(_merge_mark(node, ids))
        if (fold := folds.get(node.id)) is not None:
            marks.append(f"folded to [{ids.get(fold.last, fold.last)}] as {one_line(fold.name)}")
        if row.hidden_below:
            marks.append("more below")
        style = style_of(node)
        yield [
            Piece("* " if node.id == cursor else "  ", "bold"),
            Piece(lines, "dim"),
            Piece(label_of(node, names), f"bold {style}".strip()),
            Piece("  "),
            Piece(first_words(node, words), style, gives=True),
            Piece(("  " if marks else "") + " · ".join(marks), "dim"),
        ]
        above = row


def _merge_mark(node: Node, ids: Mapping[str, str]) -> Iterator[str]:
    """The other places a node comes from, besides the one it is drawn under."""
    sources = () if node.edge is None else node.edge.sources
    primary = [source.node for source in sources if source.role is SourceRole.PRIMARY]
    if len(primary) > 1:
        yield "merges " + " ".join(f"[{ids.get(source, source)}]" for source in primary[1:])
