"""A path as the context engine plans with it: read from both ends, never further than the budget."""

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from weft.context.columns import SkippedLevel, SkippedRange
from weft.context.fit import Strategy
from weft.context.masking import MaskRule
from weft.context.request import ContextRequest
from weft.context.rows import (
    Candidate,
    PathMemory,
    PathOutline,
    WordRows,
    answers_of,
    are_plain,
    bound_of,
    left_out_of,
)
from weft.context.tokens import NO_LIMIT
from weft.context.tool_pairs import paired_rows, with_masks
from weft.runtime.contexts.known_path import KnownPath, Level, path_key
from weft.runtime.contexts.level_reader import LevelReader
from weft.runtime.contexts.tree_facts import TreeFacts
from weft.store.path_queries import (
    head_to,
    rows_between,
    tail_to,
    top_to,
    walk_up,
    walk_up_with_texts,
)
from weft.store.rows import LightRow

_AT_ONCE = 20_000
"""Levels read by one query: paths of empty nodes do not move the ruler."""
_TOP = 2
"""The depth to which a path is read where only its beginning matters."""
_GROWTH = 256
"""Levels that a known path is extended by; one that grew by more is read afresh."""
_SPARE = 256
"""Rows and texts that a known path may hold beyond twice its levels."""
_FOR_A_USER = 4_096
"""How many levels further to look for a user's message, after a long run of tools."""


@dataclass(slots=True, kw_only=True)
class PathReader(LevelReader):
    """Reads the path to one node, as one agent sees it."""

    gap: Sequence[LightRow] = ()
    """What was read between the path's top and its tail, where that was read with the top."""
    path: KnownPath = field(init=False)
    """What is known of the path: of an earlier context, as far as that still holds."""

    def outline(self, request: ContextRequest) -> PathOutline:
        """The levels that a request can keep. The request's own outline is empty."""
        self.path, self.gap = self._recall(), ()
        room = request.budget - request.system_context.tokens
        strategy = request.preferences.truncation_strategy
        if strategy is Strategy.STOP_AT_LIMIT and self.end.ruler > room:
            # It may refuse, and then says which nodes weigh most: so all of them are looked at.
            rows = walk_up(self.tree.session, self.tree.key, self.end.position)
            return PathOutline(tail=self._rows(self._levels(rows)), start=0)
        tail = self._tail(room, request.preferences.minimum_recent_nodes, request.masks)
        start = tail[0].row
        if start.parent is None:
            self._remember(tail)
            return PathOutline(tail=self._rows(tail), start=0, memory=self.path.memory)
        head = self._head(*request.head_reach(), request.masks, start)
        last = head[-1].row
        if last.depth >= start.depth - 1:
            levels = [*head, *(level for level in tail if level.row.depth > last.depth)]
            self._remember(levels)
            return PathOutline(tail=self._rows(levels), start=0, memory=self.path.memory)
        inside = self._inside(last, start)
        first, final = inside[0], inside[-1]
        between = SkippedRange(
            levels=start.depth - last.depth - 1,
            first=first.local_id,
            last=final.local_id,
            start=last.ruler,
            end=final.ruler,
            left_out=tuple(self._left_out([last, *inside, start])),
        )
        self._remember(tail)
        return PathOutline(
            head=_plain(head, first.ulid), tail=self._rows(tail), between=between, memory=self.path.memory
        )

    @property
    def _key(self) -> Hashable:
        return path_key(self.tree, self.estimator, self.annotations, self.selections)

    def _recall(self) -> KnownPath:
        """The path to an earlier end, if nothing on it has changed and this end is at or below that one."""
        facts = TreeFacts.of(self.tree)
        known = None if self.folds.ranges else self.cache.paths.get(self._key)
        if isinstance(known, KnownPath) and known.levels and known.holds(self.tree, facts):
            known.seen.update(self.seen)
            self.seen = known.seen
            levels = self._grown(known.levels)
            if levels is not None:
                self.words_from = max(self.words_from, known.words_from)
                return replace(known, events=facts.events, head=facts.head, levels=levels)
        return KnownPath(events=facts.events, head=facts.head, levels=[])

    def _grown(self, levels: list[Level]) -> list[Level] | None:
        """The levels with those below them, to this end; None where it is not below them."""
        last, end = levels[-1].row, self.end
        if end.key == last.key:
            return levels
        steps = end.depth - last.depth
        if not 0 < steps <= _GROWTH:
            return None
        rows = self._grown_by(end, steps)
        return [*levels, *self._levels(rows)] if rows[0].parent == last.position else None

    def _grown_by(self, end: LightRow, steps: int) -> list[LightRow]:
        """The last levels to an end; their words are at hand then, because they are the newest."""
        session, tree = self.tree.session, self.tree.key
        rows = walk_up_with_texts(session, tree, end.position, steps)
        self.cache.keep_contents(tree, rows)
        return [row for row, _ in rows]

    def _remember(self, levels: list[Level]) -> None:
        """Keep the path for the next context."""
        if self.folds.ranges:
            return
        # Of a document's end it is not known which version the next one will see there.
        levels = levels if self.dialogue else levels[:-1]
        seen, memory = self.seen, self.path.memory
        if len(seen) > _SPARE + 2 * len(levels):
            seen = {ulid: seen[ulid] for level in levels for ulid in _ids_in(level.candidate) if ulid in seen}
        if len(memory.levels) > _SPARE + 2 * len(levels):
            start = levels[0].row.depth
            later = {number: each for number, each in memory.levels.items() if number >= start}
            memory = PathMemory(later, memory.costs)
        self.path = replace(self.path, levels=levels, seen=seen, memory=memory, words_from=self.words_from)
        self.cache.paths.put(self._key, self.path, self.path.size)

    def deepened(self, outline: PathOutline, levels: int) -> PathOutline:
        """The outline with so many more levels before its tail, as far as there are any that were not read."""
        between = outline.between
        if between is None:
            return outline
        session, tree = self.tree.session, self.tree.key
        start = self.seen[outline.tail[0].id]
        above = self._resolved(
            walk_up(session, tree, start.parent or start.position, min(levels + 1, between.levels))
        )
        if len(above) == between.levels:
            tail = [*outline.head, *_plain(self._levels(above), start.ulid), *outline.tail]
            return PathOutline(tail=tail, start=0)
        last, *above = above
        between = between._replace(
            levels=between.levels - len(above),
            last=last.local_id,
            end=last.ruler,
            left_out=tuple(each for each in between.left_out if each.level <= last.depth),
        )
        tail = [*_plain(self._levels(above), start.ulid), *outline.tail]
        return PathOutline(head=outline.head, tail=tail, between=between)

    def _tail(self, room: int, least: int, masks: MaskRule | None) -> list[Level]:
        """Back from the end until the budget is spent, in one query unless much of it is left out."""
        # One beyond the room, so that it is seen to be full.
        position, floor, most = self.end.position, self.end.ruler - room - 1, room
        levels: list[Level] = []
        while True:
            levels = self._back(position, max(-1, floor), min(least + 2, _AT_ONCE)) + levels
            top = levels[0].row
            if top.parent is None or self._reaches(levels, room, least, masks):
                return levels
            position, most = top.parent, 2 * max(most, 1)
            floor = top.ruler - most

    def _back(self, position: int, floor: int, least: int) -> list[Level]:
        """Back from a position until the ruler is at `floor`, `least` levels at least: what is known is not read."""
        known = self.path.levels if position == self.end.position else []
        if known and known[-1].row.position == position:
            start = min(bisect_right(known, floor, key=_ruler_of) - 1, len(known) - least)
            if start >= 0 or known[0].row.parent is None:
                return known[max(0, start) :]
            position, least = known[0].row.parent, least - len(known)
        else:
            known = []
        rows = tail_to(self.tree.session, self.tree.key, position, floor=floor, least=least, limit=_AT_ONCE)
        return self._levels(rows) + known

    def _reaches(self, levels: Sequence[Level], room: int, least: int, masks: MaskRule | None) -> bool:
        plain = self._rows(levels)
        if masks is None and self.dialogue and are_plain(plain):
            # The first is only there to tell whether the next one is joined to it.
            enough = len(plain) > least and sum([row.tokens for row in plain[1:]]) > room
            return enough and (len(plain) > _FOR_A_USER or any(row.role == "user" for row in plain[1:]))
        rows = paired_rows(plain, self.estimator)
        bound = bound_of(rows)
        live = [index for index, reason in enumerate(left_out_of(rows, bound)) if reason is None]
        if masks is not None:
            rows = with_masks(rows, masks, self.estimator)
        sizes = [_least_sent(rows[index]) for index in live]
        if sum(sizes[1:]) <= room or len(live) <= least:
            return False
        # What was masked at a place where a cut can fall depends on as many results before it.
        before = live[: _beyond(sizes, room)] if masks is not None else ()
        if masks is not None and sum(len(rows[index].masks) for index in before) < masks.newest:
            return False
        if not self.dialogue:
            return True
        if answers_of(rows[0]):
            return False
        asked = (rows[index].role == "user" and not bound[index] for index in live[1:])
        return len(levels) > _FOR_A_USER or any(asked)

    def _head(self, reach: int, on_ruler: bool, masks: MaskRule | None, start: LightRow) -> list[Level]:  # noqa: FBT001 - a pair from head_reach
        """From the root to one level past the reach, and to one that counts: a request begins with its role."""
        known = self.path.beginnings.get((reach, on_ruler, masks))
        if known is not None:
            return known
        session, tree = self.tree.session, self.tree.key
        # Of what is read the last group is not known whole: a little more, or it would take another query.
        amount = reach if on_ruler else reach + reach // 8
        while True:
            if amount:
                rows = head_to(session, tree, self.end.position, min(amount, NO_LIMIT))
            elif start.depth > _TOP + 1:
                # Where only the beginning matters, what lies between it and the tail is read with it.
                read = rows_between(session, tree, self.end.position, above=_TOP, last=start, top=True)
                rows = [row for row in read if row.depth <= _TOP]
                self.gap = read[len(rows) :]
            else:
                # Most paths begin with an empty node, and of the last one read the group is not known.
                rows = top_to(session, tree, self.end.position, min(_TOP, self.end.depth))
            levels = self._levels(rows)
            sent = self._sendable(_plain(levels))
            if masks is not None:
                sent = with_masks(sent, masks, self.estimator)
            live = sum(map(_least_sent, _live(sent)))
            if rows[-1].position == self.end.position:
                return levels
            if live and (on_ruler or live > reach):
                self.path.beginnings[reach, on_ruler, masks] = levels
                return levels
            amount = max(2 * amount, rows[-1].ruler)

    def _sendable(self, rows: Sequence[Candidate]) -> Sequence[Candidate]:
        """What of the path's beginning can be sent, as far as what was read tells."""
        return paired_rows(_whole_groups(rows), self.estimator)

    def _inside(self, last: LightRow, start: LightRow) -> list[LightRow]:
        """Of what lies between the head's last node and the tail's first: both ends, and what is left out.

        Each of those with its neighbours; the rest is not read.
        """
        levels = self.path.levels
        depth, rows = self.path.between.get(last.position, (-1, []))
        if levels and levels[0].row.depth <= depth <= start.depth:
            passed = levels[depth - levels[0].row.depth : start.depth - levels[0].row.depth]
            rows = [*rows, *(level.row for level in passed)]
        else:
            read = self.gap
            if not read or last.depth != _TOP:
                session, tree = self.tree.session, self.tree.key
                read = rows_between(session, tree, self.end.position, above=last.depth, last=start)
            rows = self._resolved([row for row in read if last.depth < row.depth < start.depth])
        near = {
            at for index, row in enumerate(rows) if self._why(row) for at in (index - 1, index, index + 1)
        }
        near |= {0, len(rows) - 1}
        rows = [row for index, row in enumerate(rows) if index in near]
        self.path.between[last.position] = (start.depth, rows)
        return rows

    def _left_out(self, rows: Sequence[LightRow]) -> Iterator[SkippedLevel]:
        """What is left out for a reason of its own, each with its neighbours on the path: no cut removes it."""
        for before, row, after in zip(rows, rows[1:], rows[2:], strict=False):
            reason = self._why(row)
            if reason is not None:
                yield SkippedLevel(
                    row.depth,
                    row.local_id,
                    reason,
                    before=before.local_id,
                    after=after.local_id,
                    start=before.ruler,
                    end=row.ruler,
                )

    @property
    def rows(self) -> list[LightRow]:
        """The levels that were read up to the end, without a gap; none where it is not known which these are."""
        return [level.row for level in self.path.levels] if self.dialogue else []

    def _rows(self, levels: Sequence[Level]) -> list[Candidate]:
        """The levels to the path's end as planning reads them."""
        if levels[0].row.depth < self.words_from or self.folds.ranges:
            return _plain(levels)
        return WordRows([level.candidate for level in levels])


def _ruler_of(level: Level) -> int:
    return level.row.ruler


def _ids_in(row: Candidate) -> list[str]:
    """A level's own id, and those of what is beside it."""
    return [row.id, *(extra.id for extra in (*row.sources, *row.notes))]


def _plain(levels: Sequence[Level], below: str = "") -> list[Candidate]:
    """The candidates, each with the notes that are beside the path. `below` is the id of what follows them."""
    rows = [level.candidate for level in levels]
    if not any([row.notes for row in rows]):  # noqa: C419 - a list is half the time of a generator
        return rows
    for index, row in enumerate(rows):
        if row.notes:
            next_id = rows[index + 1].id if index + 1 < len(rows) else below
            rows[index] = row._replace(notes=tuple(note for note in row.notes if note.id != next_id))
    return rows


def _live(rows: Sequence[Candidate]) -> list[Candidate]:
    """Those that nothing leaves out, neither a mark of their own nor one on their tool's call."""
    reasons = left_out_of(rows, bound_of(rows))
    return [row for row, reason in zip(rows, reasons, strict=True) if reason is None]


def _least_sent(row: Candidate) -> int:
    """What a row costs with its tool results masked, where they may be."""
    return row.tokens - sum(mask.saved for mask in row.masks)


def _beyond(sizes: Sequence[int], room: int) -> int:
    """Where the last sizes that are together more than the room begin; 0 if all are not."""
    start, total = len(sizes), 0
    while start and total <= room:
        start -= 1
        total += sizes[start]
    return start


def _whole_groups(rows: Sequence[Candidate]) -> Sequence[Candidate]:
    """Without the last group, which what was not read may belong to."""
    bound, last = bound_of(rows), len(rows) - 1
    while last > 0 and bound[last]:
        last -= 1
    return rows[: max(0, last)]
