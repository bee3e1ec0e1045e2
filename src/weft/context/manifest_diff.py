"""Two manifests side by side: what went another way."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from weft.context.manifest import EntryKind, ManifestChange, Outcome, Piece, Run


class Changes(tuple[ManifestChange, ...]):
    """What one context would do otherwise than another; empty if nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        from weft.context.manifest_view import told_changes  # noqa: PLC0415 - only who looks needs it

        lines = ["  ".join(line) for line in told_changes(self)]
        return "\n".join(lines) or "no difference"

    def _repr_html_(self) -> str:
        from weft.context.manifest_view import changes_html  # noqa: PLC0415 - only notebooks need it

        return changes_html(self)


def changes_between(before: Sequence[Piece], after: Sequence[Piece]) -> Changes:
    """Levels are compared by position up to where the paths part, everything else by id."""
    left, right = _levels(before), _levels(after)
    fork = _fork(left, right)
    found = list(_shared(left, right, fork))
    found += [_gone(piece, start, end) for piece, start, end in _from(left, fork)]
    found += [_new(piece, start, end) for piece, start, end in _from(right, fork)]
    found += _others(before, after)
    return Changes(found)


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
    found: list[ManifestChange] = []
    for key in dict.fromkeys([*left, *right]):
        was, becomes = left.get(key, _NONE), right.get(key, _NONE)
        # A node may be a source at several places: each of them counts.
        turns = zip_longest((was - becomes).elements(), (becomes - was).elements())
        found += [ManifestChange(kind=key[0], id=key[1], before=one, after=other) for one, other in turns]
    return found


def _by_id(pieces: Iterable[Piece]) -> dict[tuple[EntryKind, str], Counter[Outcome]]:
    found: dict[tuple[EntryKind, str], Counter[Outcome]] = {}
    for piece in pieces:
        if piece.position is None or piece.outcome is Outcome.ADDED:
            for entry in piece.entries():
                found.setdefault((entry.kind, entry.id), Counter[Outcome]())[entry.outcome] += 1
    return found
