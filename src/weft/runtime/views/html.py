"""Groves, trees and nodes as HTML for notebooks.

Plain elements with inline styles: nothing is loaded, nothing runs. Texts take the
notebook's own colour; the two author colours are dark enough for white paper and
light enough for black.
"""

import html
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from weft.runtime.views.outline import OutlineRow
from weft.tree.agent import AgentType
from weft.tree.content import Audio, Block, Image, Text, Thinking, ToolCall, ToolResult, blocks_of, plain_text
from weft.tree.edge import SourceRole
from weft.tree.json import JsonValue
from weft.tree.json_names import to_wire
from weft.tree.node import Node, counted, node_marks
from weft.tree.tree import Mode, Tree

AUTHOR_COLOURS = {AgentType.HUMAN: "#2b78d6", AgentType.MODEL: "#c0541c"}

_FIRST_WORDS = 80
_SHOWN_TEXT = 20_000
_DEEPEST = 40
"""Lists nested deeper than this stay at one level: browsers give up on very deep documents."""

_SHELL = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5"
_FAINT = "opacity:.65"
_CODE = "font-family:ui-monospace,monospace"
_BADGE = "border:1px solid currentColor;border-radius:8px;padding:0 6px;font-size:11px;opacity:.75"
_LIST = "list-style:none;margin:0;padding:0 0 0 1.1em"
_BRANCH = "margin:2px 0;padding-left:.5em;border-left:1px solid rgba(128,128,128,.5)"
_CELL = "text-align:left;padding:2px 12px 2px 0"


def trees_html(trees: Sequence[Tree]) -> str:
    """A grove: one row for each tree."""
    if not trees:
        return f'<div style="{_SHELL}"><em>no trees yet</em></div>'
    names = ("title", "mode", "nodes", "branches", "depth", "last change")
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in names)
    rows = "".join(_tree_row(tree) for tree in trees)
    return (
        f'<div style="{_SHELL}"><table style="border-collapse:collapse">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _tree_row(tree: Tree) -> str:
    marks = "".join(_badge(mark) for mark in _tree_marks(tree))
    counters = tree.counters
    moment = tree.updated_at.strftime("%Y-%m-%d %H:%M")
    plain = (tree.mode.value, f"{counters.nodes:,}", f"{counters.branches:,}", f"{counters.depth:,}", moment)
    cells = "".join(f'<td style="{_CELL}">{_escape(value)}</td>' for value in plain)
    return f'<tr><td style="{_CELL}"><strong>{_words(tree.title)}</strong>{marks}</td>{cells}</tr>'


def _tree_marks(tree: Tree) -> Iterator[str]:
    if tree.project is not None:
        yield f"project {tree.project}"
    if tree.archived_at is not None:
        yield "archived"


def outline_html(tree: Tree, outline: Sequence[OutlineRow]) -> str:
    """A tree as nested lists: an item is a stretch without branches, its list the branches below."""
    counters = tree.counters
    numbers = (
        f"{tree.mode} · {counters.nodes:,} nodes · {counters.branches:,} branches · depth {counters.depth:,}"
    )
    marks = "".join(_badge(mark) for mark in _tree_marks(tree))
    return (
        f'<div style="{_SHELL}"><strong>{_words(tree.title)}</strong> '
        f'<span style="{_FAINT}">{numbers}</span>{marks}{"".join(_branches(tree, outline))}</div>'
    )


def _branches(tree: Tree, outline: Sequence[OutlineRow]) -> Iterator[str]:
    """Rows come in drawing order: one that does not continue the row before it begins a branch."""
    names = {row.node.id: row.node.local_id for row in outline}
    level = -1
    above: OutlineRow | None = None
    for row in outline:
        wanted = min(row.indent, _DEEPEST)
        if above is None or row.indent != above.indent or row.node.depth != above.node.depth + 1:
            if wanted > level:
                yield f'<ul style="{_LIST}">' * (wanted - level)
            else:
                yield "</li></ul>" * (level - wanted) + "</li>"
            yield f'<li style="{_BRANCH}">'
            level = wanted
        yield _outline_row(row, _merge_mark(row.node, names) if tree.mode is Mode.DIALOGUE else ())
        above = row
    yield "</li></ul>" * (level + 1)


def _merge_mark(node: Node, names: Mapping[str, str]) -> Iterator[str]:
    """The places a node continues besides the one it is drawn under; in a buffer they are versions."""
    sources = () if node.edge is None else node.edge.sources
    others = [source.node for source in sources if source.role is SourceRole.PRIMARY][1:]
    if others:
        yield "merges " + " ".join(f"[{names[each]}]" if each in names else "…" for each in others)


def _outline_row(row: OutlineRow, more_marks: Iterable[str]) -> str:
    marks = "".join(_badge(mark) for mark in (*_all_marks(row.node, row.annotations), *more_marks))
    more = f' <span style="{_FAINT}">… more below</span>' if row.hidden_below else ""
    return f"<div>{_label(row.node)} {_words(plain_text(row.node.content))}{marks}{more}</div>"


def node_html(node: Node) -> str:
    """One node whole: who wrote it and when, every block of it, and what is marked on it."""
    colour = AUTHOR_COLOURS[node.author_type]
    marks = "".join(_badge(mark) for mark in _all_marks(node, 0))
    moment = node.created_at.strftime("%Y-%m-%d %H:%M")
    blocks = "".join(_block(block) for block in blocks_of(node.content))
    return (
        f'<div style="{_SHELL};border-left:3px solid {colour};padding:2px 0 2px .8em">'
        f'<div>{_label(node)} <span style="{_FAINT}">{node.author_type} · {node.role} · '
        f"depth {node.depth:,} · {moment}</span>{marks}</div>{blocks}"
        f'<div style="{_FAINT};{_CODE};font-size:11px">{_escape(node.id)} · {_escape(node.content_hash[:12])}</div>'
        "</div>"
    )


def _all_marks(node: Node, annotations: int) -> Iterator[str]:
    yield from node_marks(node, annotations)
    if node.is_annotation:
        yield "annotation"
    sources = () if node.edge is None else node.edge.sources
    others = sum(source.role is not SourceRole.PRIMARY for source in sources)
    if others:
        yield counted(others, "more source")


def _label(node: Node) -> str:
    """The local id in its author's colour; the words say it to those who do not see the colour."""
    colour = AUTHOR_COLOURS[node.author_type]
    return (
        f'<span title="{node.author_type}" style="{_CODE};color:{colour};font-weight:600">'
        f"[{_escape(node.local_id)}]</span>"
    )


def _block(block: Block) -> str:
    match block:
        case Text():
            return _paragraph(block.text)
        case Thinking():
            return _paragraph(block.text, f"{_FAINT};font-style:italic")
        case Image():
            return _paragraph(f"image {block.mime_type} {block.width}×{block.height} {block.alt_text or ''}")
        case Audio():
            return _paragraph(f"audio {block.mime_type} {block.duration_ms} ms {block.transcript or ''}")
        case ToolCall():
            return _paragraph(f"{block.name} {_json(block.arguments)}", _CODE)
        case ToolResult():
            mark = "✗" if block.is_error else "→"
            return _paragraph(f"{mark} {_json(block.content)}", _CODE)
        case _:
            assert_never(block)


def _json(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(to_wire(value), ensure_ascii=False)


def _paragraph(text: str, style: str = "") -> str:
    if not text:
        return f'<div style="{_FAINT}"><em>(empty)</em></div>'
    shown = text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "…"
    extra = f";{style}" if style else ""
    return (
        f'<div style="white-space:pre-wrap;overflow-wrap:anywhere{extra}"><bdi>{_escape(shown)}</bdi></div>'
    )


def _words(text: str) -> str:
    """The first words, on one line, kept from turning the direction of what stands beside them."""
    line = " ".join(text[: 4 * _FIRST_WORDS].split())
    if not line:
        return f'<em style="{_FAINT}">(empty)</em>'
    cut = len(line) > _FIRST_WORDS or len(text) > 4 * _FIRST_WORDS
    return f"<bdi>{_escape(line[: _FIRST_WORDS - 1].rstrip() + '…' if cut else line)}</bdi>"


def _badge(text: str) -> str:
    return f' <span style="{_BADGE}"><bdi>{_escape(text)}</bdi></span>'


def _escape(text: str) -> str:
    return html.escape(text, quote=True)
