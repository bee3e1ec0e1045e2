"""A manifest as people look at it: the window as a bar, then what was kept, shortened and cut, and why."""

import html
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from weft.context.manifest_entries import (
    ABSENT,
    EntryKind,
    Gap,
    ManifestChange,
    Outcome,
    Piece,
    Run,
)
from weft.context.tokens import NO_LIMIT

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


def segments_of(pieces: Sequence[Piece], budget: int) -> list[WindowSegment]:
    """What fills the window; what is free comes last, unless there is no limit."""
    segments: list[WindowSegment] = []
    for piece in pieces:
        name = _ADDED if piece.outcome is Outcome.ADDED else _NAMES[piece.kind]
        if not piece.cost:
            continue
        if segments and segments[-1].name == name:
            segments[-1] = WindowSegment(name, segments[-1].tokens + piece.cost)
        else:
            segments.append(WindowSegment(name, piece.cost))
    free = budget - _tokens(pieces)
    if free > 0 and budget < NO_LIMIT:
        segments.append(WindowSegment(FREE, free))
    return segments


def _tokens(pieces: Iterable[Piece]) -> int:
    return sum(piece.cost for piece in pieces)


def lines_of(pieces: Sequence[Piece]) -> list[Line]:
    """What is in the request first, as it stands there; then what is not."""
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
        for piece in sorted(pieces, key=lambda piece: piece.outcome in ABSENT)
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


def manifest_html(pieces: Sequence[Piece], budget: int) -> str:
    """The same for notebooks: plain elements with inline styles, nothing is loaded, nothing runs."""
    segments = segments_of(pieces, budget)
    whole = max(1, sum(segment.tokens for segment in segments))
    bar = "".join(
        f'<span title="{html.escape(segment.name)} {segment.tokens:,}" style="display:inline-block;height:14px;'
        f'width:{segment.tokens * 100 / whole:.3f}%;background:{_COLOURS.get(segment.name, "transparent")}">'
        "</span>"
        for segment in segments
    )
    total = f"{_tokens(pieces):,} tokens" + (f" of {budget:,}" if budget < NO_LIMIT else "")
    cell = 'style="text-align:left;padding:1px 12px 1px 0;vertical-align:top"'
    rows = "".join(
        f"<tr><td {cell}>{line.outcome.value}</td><td {cell}>{line.count:,} {line.what}</td>"
        f"<td {cell}>{line.tokens:,}{'' if line.tokens == line.size else f' of {line.size:,}'}</td>"
        f"<td {cell}><code>{html.escape(line.names)}</code></td><td {cell}>{html.escape(line.reason)}</td></tr>"
        for line in lines_of(pieces)
    )
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px;line-height:1.5">'
        f"<strong>{total}</strong>"
        '<div style="border:1px solid rgba(128,128,128,.5);white-space:nowrap;font-size:0;margin:4px 0;'
        f'overflow:hidden">{bar}</div><table style="border-collapse:collapse">{rows}</table></div>'
    )


def changes_html(changes: Iterable[ManifestChange]) -> str:
    rows = "".join(
        f"<tr><td><code>{html.escape(names)}</code></td><td>{what}</td><td>{turn}</td></tr>"
        for names, what, turn in change_rows(changes)
    )
    if not rows:
        return "<div><em>no difference</em></div>"
    return f'<table style="border-collapse:collapse">{rows}</table>'


def _outcome(outcome: Outcome | None) -> str:
    return "not there" if outcome is None else outcome.value


def change_rows(changes: Iterable[ManifestChange]) -> list[tuple[str, str, str]]:
    """Which, how many, from what to what: a line each."""
    return [
        (
            _span(each.kind, each.id, each.last),
            f"{each.count:,} {_what(each.kind, each.count)}",
            f"{_outcome(each.before)} → {_outcome(each.after)}",
        )
        for each in changes
    ]


class Changes(tuple[ManifestChange, ...]):
    """What one context would do otherwise than another; empty if nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = ["  ".join(line) for line in change_rows(self)]
        return "\n".join(lines) or "no difference"

    def _repr_html_(self) -> str:
        return changes_html(self)


def changes_between(before: Sequence[Piece], after: Sequence[Piece]) -> Changes:
    """Levels are compared by position up to where the paths part, everything else by id."""
    left, right = _levels(before), _levels(after)
    fork = _fork(left, right)
    changes = list(_shared(left, right, fork))
    changes += [_gone(piece, start, end) for piece, start, end in _from(left, fork)]
    changes += [_new(piece, start, end) for piece, start, end in _from(right, fork)]
    changes += _others(before, after)
    return Changes(changes)


Placed = tuple[Piece, int, int]
"""A piece, and the levels from and to which it is looked at."""


def _levels(pieces: Iterable[Piece]) -> list[Placed]:
    return sorted(
        (
            (piece, piece.position, piece.position + piece.count)
            for piece in pieces
            if piece.position is not None and piece.count and piece.outcome is not Outcome.ADDED
        ),
        key=lambda placed: placed[1],
    )


def _overlaps(left: Sequence[Placed], right: Sequence[Placed]) -> Iterator[tuple[Piece, Piece, int, int]]:
    """Every pair of pieces that share levels, with the levels they share."""
    i = j = 0
    while i < len(left) and j < len(right):
        (one, one_start, one_end), (other, other_start, other_end) = left[i], right[j]
        start, end = max(one_start, other_start), min(one_end, other_end)
        if start < end:
            yield one, other, start, end
        if one_end <= other_end:
            i += 1
        if other_end <= one_end:
            j += 1


def _fork(left: Sequence[Placed], right: Sequence[Placed]) -> int:
    """The first level at which the two are known to hold different nodes, or where one ends."""
    for one, other, start, end in _overlaps(left, right):
        for level in range(start, end) if _both_listed(one, other) else (start, end - 1):
            mine, theirs = one.id_at(level), other.id_at(level)
            if mine is not None and theirs is not None and mine != theirs:
                return level
    ends = [side[-1][2] if side else 0 for side in (left, right)]
    return min(ends)


def _both_listed(one: Piece, other: Piece) -> bool:
    return isinstance(one, Run) and isinstance(other, Run)


def _shared(left: Sequence[Placed], right: Sequence[Placed], fork: int) -> Iterator[ManifestChange]:
    for one, other, start, end in _overlaps(left, right):
        stop = min(end, fork)
        if start < stop and one.outcome is not other.outcome:
            yield _change(one, other, start, stop, (one.outcome, other.outcome))


def _from(side: Sequence[Placed], fork: int) -> Iterator[Placed]:
    for piece, start, end in side:
        if end > fork:
            yield piece, max(start, fork), end


def _gone(piece: Piece, start: int, end: int) -> ManifestChange:
    return _change(piece, piece, start, end, (piece.outcome, None))


def _new(piece: Piece, start: int, end: int) -> ManifestChange:
    return _change(piece, piece, start, end, (None, piece.outcome))


def _change(
    one: Piece, other: Piece, start: int, end: int, outcomes: tuple[Outcome | None, Outcome | None]
) -> ManifestChange:
    first = one.id_at(start) or other.id_at(start) or f"#{start}"
    last = one.id_at(end - 1) or other.id_at(end - 1) or f"#{end - 1}"
    return ManifestChange(
        kind=one.kind,
        id=first,
        before=outcomes[0],
        after=outcomes[1],
        count=end - start,
        last=None if end - start == 1 else last,
        position=start,
    )


_NONE = Counter[Outcome]()


def _others(before: Sequence[Piece], after: Sequence[Piece]) -> list[ManifestChange]:
    left, right = _by_id(before), _by_id(after)
    changes: list[ManifestChange] = []
    for key in dict.fromkeys([*left, *right]):
        was, becomes = left.get(key, _NONE), right.get(key, _NONE)
        # A node may be a source at several places: each of them counts.
        turns = zip_longest((was - becomes).elements(), (becomes - was).elements())
        changes += [ManifestChange(kind=key[0], id=key[1], before=one, after=other) for one, other in turns]
    return changes


def _by_id(pieces: Iterable[Piece]) -> dict[tuple[EntryKind, str], Counter[Outcome]]:
    outcomes: dict[tuple[EntryKind, str], Counter[Outcome]] = {}
    for piece in pieces:
        if piece.position is None or piece.outcome is Outcome.ADDED:
            for entry in piece.entries():
                outcomes.setdefault((entry.kind, entry.id), Counter[Outcome]())[entry.outcome] += 1
    return outcomes
