"""A whole tree as one HTML page: readable, foldable, nothing loaded and nothing run."""

import base64
import html
import json
from collections.abc import Iterator

from weft.interop.exports.exported_tree import ExportedTree
from weft.tree.agent import AgentType
from weft.tree.content import Audio, Block, Image, Text, Thinking, ToolCall, ToolResult, blocks_of, is_blank
from weft.tree.node import Node, node_marks

_DEEPEST = 60
"""Branches nested deeper than this stay at one level: browsers give up on very deep documents."""
_IMAGE_LIMIT = 8 * 1024 * 1024
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 22%, transparent); }
body { font: 17px/1.6 Literata, Georgia, serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } header p, .who, summary { font: .85rem/1.5 system-ui, sans-serif; opacity: .75; }
article { margin: 1rem 0; padding-inline-start: .8rem; border-inline-start: 3px solid var(--line); }
article.model { border-color: #c0541c; } article.human { border-color: #2b78d6; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.excluded, .pruned { opacity: .55; } aside { font-size: .9em; margin: .5rem 0 .5rem 1rem; }
details { margin: .6rem 0; padding-inline-start: .6rem; border-inline-start: 1px solid var(--line); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85em; } img { max-width: 100%; }
summary { cursor: pointer; } nav { font: .85rem system-ui, sans-serif; }
"""


def write_html(source: ExportedTree) -> Iterator[str]:
    """The page, piece by piece; each branch is a fold, the current one open."""
    tree, counters = source.tree, source.tree.counters
    numbers = (
        f"{tree.mode} · {counters.nodes:,} nodes · {counters.branches:,} branches · depth {counters.depth:,}"
    )
    yield "<!doctype html>\n<html lang='und'>\n<head>\n<meta charset='utf-8'>\n"
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{_escaped(tree.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
    yield f"<header><h1 dir='auto'>{_escaped(tree.title)}</h1><p>{numbers}</p></header>\n<main>\n"
    if tree.system_context.strip():
        yield f"<details><summary>system context</summary><pre>{_escaped(tree.system_context)}</pre></details>\n"
    yield from _nodes(source)
    yield "</main>\n</body>\n</html>\n"


def _nodes(source: ExportedTree) -> Iterator[str]:
    here = source.by_id.get(source.current or "")
    shown = set[str]() if here is None else {node.id for node in source.path(here)}
    level = 0
    for node, forks, index, count in source.walk():
        wanted = min(forks, _DEEPEST)
        if count > 1:
            while level >= wanted and level:
                yield "</details>\n"
                level -= 1
            opened = " open" if node.id in shown or (not shown and index == 0) else ""
            yield f"<details{opened}><summary>branch {index + 1} of {count}</summary>\n"
            level += 1
        if not is_blank(node.content):
            yield from _article(source, node)
    yield "</details>\n" * level


def _article(source: ExportedTree, node: Node) -> Iterator[str]:
    marks = node_marks(node)
    kinds = " ".join(
        name for name, on in (("excluded", node.metadata.excluded), ("pruned", node.metadata.pruned)) if on
    )
    who = "model" if node.author_type is AgentType.MODEL else "human"
    about = " · ".join([_escaped(source.author(node)), f"[{node.local_id}]", *map(_escaped, marks)])
    moment = node.created_at.isoformat(timespec="seconds")
    yield f'<article class="{who} {kinds}" id="{_escaped(node.local_id)}">\n'
    yield f'<p class="who">{about} · <time datetime="{moment}">{moment[:16].replace("T", " ")}</time></p>\n'
    for block in blocks_of(node.content):
        yield _block(source, block)
    for note in source.annotations(node):
        words = "".join(_block(source, block) for block in blocks_of(note.content))
        yield f'<aside dir="auto"><p class="who">{_escaped(source.author(note))} noted</p>{words}</aside>\n'
    yield "</article>\n"


def _block(source: ExportedTree, block: Block) -> str:
    match block:
        case Text():
            return f'<div class="text" dir="auto">{_escaped(block.text)}</div>\n'
        case Thinking():
            return _folded("thinking", block.text)
        case ToolCall():
            return _folded(f"calls {block.name}", json.dumps(block.arguments, ensure_ascii=False, indent=1))
        case ToolResult():
            words = block.content if isinstance(block.content, str) else json.dumps(block.content, indent=1)
            return _folded("result", words)
        case Image():
            return _image(source, block)
        case Audio():
            return f'<div class="text" dir="auto">{_escaped(block.transcript or "[audio]")}</div>\n'


def _folded(label: str, text: str) -> str:
    return f"<details><summary>{_escaped(label)}</summary><pre dir='auto'>{_escaped(text)}</pre></details>\n"


def _image(source: ExportedTree, block: Image) -> str:
    data = None if source.media is None else source.media(block.ref)
    alternative = _escaped(block.alt_text or "image")
    if data is None or len(data) > _IMAGE_LIMIT or not block.mime_type.startswith("image/"):
        return f"<p>[{alternative}]</p>\n"
    packed = base64.b64encode(data).decode()
    return f'<img alt="{alternative}" src="data:{_escaped(block.mime_type)};base64,{packed}">\n'


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)
