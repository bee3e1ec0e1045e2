"""A manifest as people look at it: the window as a bar, then what was kept, shortened and dropped, and why."""

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from weft.context.manifest import NO_LIMIT, EntryKind, Gap, Manifest, ManifestChange, Outcome, Piece

FREE = "free"
_ADDED = "added"
_NAMES = {
    EntryKind.NODE: "nodes",
    EntryKind.SOURCE: "sources",
    EntryKind.ITEM: "items",
    EntryKind.LAYER: "layers",
    EntryKind.MESSAGE: "messages",
    EntryKind.FILTER: "filters",
    EntryKind.SYSTEM: "system",
    EntryKind.BUFFER: "input",
}
_COLOURS = {
    "system": "#7a5cc0",
    "sources": "#2e8b82",
    "items": "#2e8b82",
    "layers": "#7a5cc0",
    "nodes": "#2b78d6",
    "messages": "#2b78d6",
    "input": "#c0541c",
    _ADDED: "#b08a1e",
}
_SHOWN_IDS = 3
_BY_ID = frozenset({EntryKind.NODE, EntryKind.SOURCE})


class WindowSegment(NamedTuple):
    """A stretch of the window, in the order of the request."""

    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Line:
    """Candidates that went the same way for the same reason."""

    outcome: Outcome
    what: str
    count: int
    tokens: int
    """In the request."""
    size: int
    """In full."""
    names: str
    reason: str


def segments_of(manifest: Manifest) -> list[WindowSegment]:
    """What fills the window; what is free comes last, unless there is no limit."""
    found: list[WindowSegment] = []
    for piece in manifest.pieces:
        name = _ADDED if piece.outcome is Outcome.ADDED else _NAMES[piece.kind]
        if not piece.cost:
            continue
        if found and found[-1].name == name:
            found[-1] = WindowSegment(name, found[-1].tokens + piece.cost)
        else:
            found.append(WindowSegment(name, piece.cost))
    free = manifest.facts.budget - manifest.tokens
    if free > 0 and manifest.facts.budget < NO_LIMIT:
        found.append(WindowSegment(FREE, free))
    return found


def lines_of(manifest: Manifest) -> list[Line]:
    """What is in the request first, as it stands there; then what is not."""
    absent = {Outcome.DROPPED, Outcome.COLLAPSED}
    pieces = sorted(manifest.pieces, key=lambda piece: piece.outcome in absent)
    return [
        Line(
            piece.outcome,
            _what(piece.kind, piece.count),
            piece.count,
            piece.cost,
            piece.size,
            _names(piece),
            piece.reason,
        )
        for piece in pieces
        # A layer is told where it has words of its own: a heading, the lines around references.
        if piece.kind is not EntryKind.LAYER or piece.cost
    ]


def _what(kind: EntryKind, count: int) -> str:
    return kind.value if count == 1 and kind is not EntryKind.BUFFER else _NAMES[kind]


def _names(piece: Piece) -> str:
    if isinstance(piece, Gap):
        return _span(piece.kind, piece.first, piece.last)
    if piece.count <= _SHOWN_IDS:
        return " ".join(_name(piece.kind, each) for each in piece.ids)
    return _span(piece.kind, piece.ids[0], piece.ids[-1])


def _name(kind: EntryKind, identity: str) -> str:
    return f"[{identity}]" if kind in _BY_ID else identity


def _span(kind: EntryKind, first: str, last: str | None) -> str:
    alone = last is None or last == first
    return _name(kind, first) if alone else f"{_name(kind, first)} … {_name(kind, last or first)}"


def manifest_html(manifest: Manifest) -> str:
    """The same for notebooks: plain elements with inline styles, nothing is loaded, nothing runs."""
    segments = segments_of(manifest)
    whole = max(1, sum(segment.tokens for segment in segments))
    bar = "".join(
        f'<span title="{html.escape(segment.name)} {segment.tokens:,}" style="display:inline-block;height:14px;'
        f'width:{segment.tokens * 100 / whole:.3f}%;background:{_COLOURS.get(segment.name, "transparent")}">'
        "</span>"
        for segment in segments
    )
    budget = manifest.facts.budget
    told = f"{manifest.tokens:,} tokens" + (f" of {budget:,}" if budget < NO_LIMIT else "")
    cell = 'style="text-align:left;padding:1px 12px 1px 0;vertical-align:top"'
    rows = "".join(
        f"<tr><td {cell}>{line.outcome.value}</td><td {cell}>{line.count:,} {line.what}</td>"
        f"<td {cell}>{line.tokens:,}{'' if line.tokens == line.size else f' of {line.size:,}'}</td>"
        f"<td {cell}><code>{html.escape(line.names)}</code></td><td {cell}>{html.escape(line.reason)}</td></tr>"
        for line in lines_of(manifest)
    )
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px;line-height:1.5">'
        f"<strong>{told}</strong>"
        '<div style="border:1px solid rgba(128,128,128,.5);white-space:nowrap;font-size:0;margin:4px 0;'
        f'overflow:hidden">{bar}</div><table style="border-collapse:collapse">{rows}</table></div>'
    )


def changes_html(changes: Iterable[ManifestChange]) -> str:
    rows = "".join(
        f"<tr><td><code>{html.escape(names)}</code></td><td>{what}</td><td>{turn}</td></tr>"
        for names, what, turn in told_changes(changes)
    )
    if not rows:
        return "<div><em>no difference</em></div>"
    return f'<table style="border-collapse:collapse">{rows}</table>'


def _said(outcome: Outcome | None) -> str:
    return "not there" if outcome is None else outcome.value


def told_changes(changes: Iterable[ManifestChange]) -> list[tuple[str, str, str]]:
    """Which, how many, from what to what: a line each."""
    return [
        (
            _span(each.kind, each.id, each.last),
            f"{each.count:,} {_what(each.kind, each.count)}",
            f"{_said(each.before)} → {_said(each.after)}",
        )
        for each in changes
    ]
