"""Decide what of a path is kept, from light columns alone.

A path may be known at both ends only: what lies between is a count and two marks on the
ruler. That is enough, and it is why fitting costs the same at any depth.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from weft.context.checks import context_over, recent_over
from weft.context.columns import Columns, Sketch
from weft.context.tokens import DEFAULT, JOINT, Estimator


class Strategy(StrEnum):
    TRUNCATE_MIDDLE = "truncateMiddle"
    ROLLING_WINDOW = "rollingWindow"
    STOP_AT_LIMIT = "stopAtLimit"


SHORT = "[…]"


_WIDEST = ("9,999,999", "999,999,999", "0" * 26, "0" * 26)


_NAMES = ("{levels}", "{tokens}", "{first}", "{last}")


class Marker:
    """A template and what its text may cost. Nothing live is in it and no clock, so equal cuts read equal."""

    __slots__ = ("allowance", "estimator", "joint", "template")

    def __init__(self, template: str = "", estimator: Estimator = DEFAULT, joint: str = JOINT) -> None:
        self.template = template
        self.estimator = estimator
        self.joint = joint
        """What stands between the marker and the text after it."""
        self.allowance = self.tokens_of(_filled(template, _WIDEST)) if template else 0
        """Tokens to set aside before the cut is known."""

    @property
    def counts_tokens(self) -> bool:
        return "{tokens}" in self.template

    def text(self, levels: int, tokens: int, first: str, last: str) -> str:
        text = _filled(self.template, (f"{levels:,}", f"{tokens:,}", first, last))
        if self.tokens_of(text) <= self.allowance:
            return text
        # An exact count of unusual ids may pass the allowance; a marker never breaks a budget.
        return SHORT if self.tokens_of(SHORT) <= self.allowance else ""

    def within(self, most: int) -> "Marker":
        """Itself; where it costs more than so much, the short one; where that does, too, none."""
        if self.allowance <= most:
            return self
        short = Marker(SHORT, self.estimator, self.joint)
        return short if short.allowance <= most else Marker("", self.estimator, self.joint)

    def tokens_of(self, text: str) -> int:
        if not text:
            return 0
        joint = self.estimator.of_text(self.joint) if self.joint else 0
        # Two ends of its own, and two of each blank line: a joint is as many characters as it has ends.
        seams = max(2, len(self.joint)) * self.estimator.seam
        return self.estimator.of_text(text) + joint + seams


def _filled(template: str, values: tuple[str, ...]) -> str:
    for name, value in zip(_NAMES, values, strict=True):
        template = template.replace(name, value)
    return template


USER, ASSISTANT = "user", "assistant"
_HEAD_PARTS = 16
_HEAVIEST = 3
_NOTHING: Mapping[int, int] = MappingProxyType({})


class Room(NamedTuple):
    """What there is to fill, in tokens."""

    budget: int
    system: int = 0
    reserve: int = 0
    """For what is added in any case: input that is not a node yet, a closing message."""
    opening: int = 0
    """For the user message that is put first if a cut leaves none there."""
    joints: int = 0
    """For blank lines where both sides of a cut become one message."""
    window: int | None = None
    """The model's, for the grid of stepped cuts; the budget if not given."""

    @property
    def free(self) -> int:
        return self.budget - self.system - self.reserve


class Rules(NamedTuple):
    strategy: Strategy = Strategy.TRUNCATE_MIDDLE
    step: float = 0.0
    minimum_recent: int = 4
    marker: Marker = Marker()
    dialogue: bool = True
    """Whether roles matter to stepped cuts; in a document they do not."""


class Fit(NamedTuple):
    """What is kept: the levels before `head`, perhaps `anchor`, and those from `tail` on."""

    levels: int
    head: int
    tail: int
    recent: int = 0
    """The level from which nodes are kept in any case."""
    anchor: int | None = None
    marker: str = ""
    marker_tokens: int = 0
    shortened: Mapping[int, int] = _NOTHING
    """Level → the most tokens its text may have."""
    tokens: int = 0
    """Live tokens of what is kept, at most, with the marker; the system and reserves are not in it."""

    @property
    def truncated(self) -> bool:
        return self.head < self.tail

    def why(self, level: int) -> str:
        """Why a level is kept."""
        if not self.truncated:
            return "fits"
        if level == self.anchor:
            return "the last user message"
        if level < self.head:
            return "part of the beginning"
        return "recent" if level >= self.recent else "fits"

    def removed(self, stays: Iterable[int]) -> list[tuple[int, int]]:
        """The ranges that the cut removed: all between head and tail but the anchor and the levels that stay."""
        middle = {*stays} if self.anchor is None else {*stays, self.anchor}
        edges = [self.head - 1, *sorted(middle), self.tail]
        return [(before + 1, after) for before, after in pairwise(edges) if before + 1 < after]


def fit(sketch: Sketch, room: Room, rules: Rules) -> Fit:
    """Keep what the strategy keeps, within the budget, whatever the path is like."""
    total = sketch.tail.after(0)
    if sketch.between is None and total <= room.free and not _was_over(sketch.tail, room.free):
        return Fit(levels=sketch.levels, head=0, tail=0, tokens=total)
    if rules.strategy is Strategy.STOP_AT_LIMIT:
        raise _over(sketch, room)
    rules = _affordable(room, rules)
    recent = recent_start(sketch.tail, rules.minimum_recent)
    space = room.free - rules.marker.allowance
    if rules.marker.template or rules.strategy is Strategy.TRUNCATE_MIDDLE:
        space -= room.joints
    cut = _cut(sketch, room, rules, recent, space)
    full = cut is not None and cut.tokens > space + rules.marker.allowance - room.opening
    if cut is not None and full and not _begins_with_user(sketch, cut):
        cut = _cut(sketch, room, rules, recent, space - room.opening)
    anchor = sketch.last_user
    if cut is not None and (anchor is None or not cut.head <= anchor[0] < cut.tail):
        return cut
    if cut is not None and anchor is not None:
        space = room.free - rules.marker.allowance - room.joints - anchor[1]
        with_anchor = _cut(sketch, room, rules, recent, space)
        if with_anchor is not None:
            if with_anchor.head > anchor[0]:
                return with_anchor
            if with_anchor.tail - with_anchor.head == 1:
                # It is all that was cut, before results were masked, and it is there.
                return Fit(levels=sketch.levels, head=0, tail=0, tokens=total)
            return _anchored(sketch, rules, with_anchor, anchor)
    return _shorten(sketch, room, rules, recent)


def _was_over(tail: Columns, free: int) -> bool:
    """Whether the path was too long before tool results were masked: what was cut then is not sent again."""
    return tail.results is not None and any(
        tail.sums_at(line)[end] > free for end, line in tail.results.peaks
    )


def _begins_with_user(sketch: Sketch, cut: Fit) -> bool:
    """Whether what is kept needs no other beginning: the path's own, a marker, or a user's message."""
    if cut.marker or sketch.start.sums[cut.head] > sketch.start.sums[0]:
        return True
    tail = sketch.tail
    # What is left out, or a list's system message, may stand there and says nothing.
    index = cut.tail - sketch.first
    while index < len(tail) and not tail.live(index):
        index += 1
    return index < len(tail) and tail.roles[index] == USER


def _anchored(sketch: Sketch, rules: Rules, cut: Fit, anchor: tuple[int, int]) -> Fit:
    """The cut with the last user message beside it, which the marker does not count among what is gone."""
    level, size = anchor
    marker = _marker(sketch, rules.marker, cut.head, cut.tail, anchor=level)
    tokens = rules.marker.tokens_of(marker)
    return cut._replace(
        anchor=level,
        marker=marker,
        marker_tokens=tokens,
        tokens=cut.tokens - cut.marker_tokens + tokens + size,
    )


def _affordable(room: Room, rules: Rules) -> Rules:
    """A marker that takes more than half of the room would stand for what it drove out itself.

    By the budget alone, so that the marker still depends on nothing but the cut.
    """
    most = max(0, room.budget - room.system) // 2
    return rules if rules.marker.allowance <= most else rules._replace(marker=rules.marker.within(most))


def head_reach(room: Room, rules: Rules) -> tuple[int, bool]:
    """How far a head can reach, and whether that is on the ruler (else in live tokens)."""
    if rules.strategy is not Strategy.TRUNCATE_MIDDLE:
        return 0, False
    rules = _affordable(room, rules)
    if rules.step == 0:
        return max(0, room.budget - room.system) // 2, False
    unit = _head_unit(room)
    return _half(room, rules) // unit * unit, True


def _half(room: Room, rules: Rules) -> int:
    return max(0, room.budget - room.system - rules.marker.allowance) // 2


def _head_unit(room: Room) -> int:
    return max(1, window_of_grid(room.budget, room.window) // _HEAD_PARTS)


def grid_step(share: float, budget: int, window: int | None) -> int:
    """The tokens of the ruler by which cuts and masks move at a time; 0 where they are exact."""
    return max(1, int(share * window_of_grid(budget, window))) if share else 0


def window_of_grid(budget: int, window: int | None) -> int:
    """The model's window; of one far larger than the budget the half, the quarter …, on the same grid.

    Else a step could be longer than all that is kept.
    """
    grid = window or budget
    while grid > 2 * max(1, budget):
        grid //= 2
    return grid


def recent_start(tail: Columns, minimum: int, end: int | None = None) -> int:
    """Where the recent nodes before `end` begin; a tool group is not begun in its middle."""
    index, wanted = len(tail) if end is None else end, max(1, minimum)
    while index > 0 and wanted > 0:
        index -= 1
        wanted -= tail.sums[index + 1] > tail.sums[index] and (
            tail.spoken is None or bool(tail.spoken[index])
        )
    while index > 0 and tail.bound[index]:
        index -= 1
    return index


def _cut(sketch: Sketch, room: Room, rules: Rules, recent: int, space: int) -> Fit | None:
    """The cut for texts as they are; None if not even the recent nodes fit.

    What a marker was allowed and does not take is not lost: the recent nodes need not be shortened
    for it, and an exact cut keeps as much more.
    """
    cut = _cut_within(sketch, room, rules, recent, space) or _recent_alone(sketch, rules, recent, space)
    if cut is None or rules.step or not rules.marker.allowance:
        return cut
    whole = space + rules.marker.allowance
    left = whole - cut.tokens
    if cut.tail < cut.recent and sketch.tail.live(cut.tail - sketch.first - 1) > left:
        return cut
    more = _cut_within(sketch, room, rules, recent, whole - cut.marker_tokens)
    return more if more is not None and more.tokens <= whole else cut


def _recent_alone(sketch: Sketch, rules: Rules, recent: int, space: int) -> Fit | None:
    """Nothing but the recent nodes, behind the marker as it is."""
    start = sketch.first + recent
    marker = _marker(sketch, rules.marker, 0, start)
    marker_tokens = rules.marker.tokens_of(marker)
    tokens = sketch.tail.after(recent) + marker_tokens
    if tokens > space + rules.marker.allowance:
        return None
    return Fit(
        levels=sketch.levels,
        head=0,
        tail=start,
        recent=start,
        marker=marker,
        marker_tokens=marker_tokens,
        tokens=tokens,
    )


def _cut_within(sketch: Sketch, room: Room, rules: Rules, recent: int, space: int) -> Fit | None:
    """The cut that leaves so much for nodes; None if that is too little for the recent ones."""
    tail, first = sketch.tail, sketch.first
    needed = tail.after(recent)
    if needed > space:
        return None
    head = kept = 0
    if rules.strategy is Strategy.TRUNCATE_MIDDLE:
        head = _head(sketch, rules, *head_reach(room, rules), recent)
        kept = sketch.start.sums[head] - sketch.start.sums[0]
        half = _half(room, rules)
        # By what it weighs before anything in it is masked, so that it stays put.
        if rules.step and sketch.start.whole[head] - sketch.start.whole[0] > half:
            # It weighs more than the ruler says: attachments, or an estimator that counts more.
            head = _smaller_head(sketch, room, rules, recent, half, whole=True)
            kept = sketch.start.sums[head] - sketch.start.sums[0]
    if kept + needed > space:
        head = _smaller_head(sketch, room, rules, recent, space - needed)
        kept = sketch.start.sums[head] - sketch.start.sums[0]
        # The room that a head gives up is the recent nodes' alone: else the cut could move back.
        cut = recent
    else:
        cut = bisect_left(tail.sums, tail.sums[-1] - (space - kept))
        if tail.results is not None:
            cut = _earlier_cut(sketch, head, space, cut)
        cut = stepped_cut(tail, cut, room, rules, recent) if rules.step else _past_group(tail, cut, recent)
    cut = max(cut, head - first)
    level = first + cut
    marker = _marker(sketch, rules.marker, head, level)
    tokens = rules.marker.tokens_of(marker)
    return Fit(
        levels=first + len(tail),
        head=head,
        tail=level,
        recent=first + recent,
        marker=marker,
        marker_tokens=tokens,
        tokens=kept + tail.after(cut) + tokens,
    )


def _earlier_cut(sketch: Sketch, head: int, space: int, cut: int) -> int:
    """The exact cut, or a later one that was needed before tool results were masked: a cut never moves back."""
    start, tail = sketch.start, sketch.tail
    for end, line in reversed(tail.results.peaks if tail.results is not None else ()):
        if end <= cut:
            break
        sums, before = tail.sums_at(line), start.sums_at(line)
        cut = max(cut, bisect_left(sums, sums[end] - (space - before[head] + before[0]), 0, end))
    return cut


def _past_group(tail: Columns, cut: int, recent: int) -> int:
    """A group that straddles the cut falls on the dropped side."""
    while cut < recent and tail.bound[cut]:
        cut += 1
    return min(cut, recent)


def stepped_cut(tail: Columns, exact: int, room: Room, rules: Rules, recent: int) -> int:
    """The first place on the grid at or after the exact cut: it stays while the path grows."""
    step = grid_step(rules.step, room.budget, room.window)
    line = -(-tail.ruler[exact] // step) * step
    # What costs something without moving the ruler, like a source beside an empty node, is not taken back.
    cut = max(exact, bisect_left(tail.ruler, line))
    if rules.dialogue:
        # Looking much further than one step would drop a window's worth of a long run of tool calls; but what
        # follows a message that is longer than a step by itself is still the next one.
        last = max(bisect_left(tail.ruler, line + step), cut + 1)
        for index in range(cut, min(last, recent) + 1):
            if tail.roles[index] == USER and not tail.bound[index] and tail.live(index):
                return index
    return _past_group(tail, cut, recent)


def _head(sketch: Sketch, rules: Rules, reach: int, on_ruler: bool, recent: int) -> int:  # noqa: FBT001 - a pair from head_reach
    start = sketch.start
    scale = start.ruler if on_ruler else start.sums
    most = len(start) if sketch.between is not None else recent
    if reach <= 0 or not len(start):
        return 0
    head = min(bisect_right(scale, scale[0] + reach) - 1, most)
    if sketch.between is not None:
        # Whether the last known level is bound to an unknown one cannot be told.
        head = min(head, len(start) - 1)
    return _whole_head(start, head, ends_on_assistant=on_ruler and rules.dialogue)


def _whole_head(start: Columns, head: int, *, ends_on_assistant: bool) -> int:
    """The nearest earlier end that parts no tool group and, if asked, follows an assistant message."""
    while head > 0:
        parted = head < len(start) and start.bound[head]
        fine = start.roles[head - 1] == ASSISTANT and start.live(head - 1)
        if not parted and (fine or not ends_on_assistant):
            break
        head -= 1
    return head


def _smaller_head(
    sketch: Sketch, room: Room, rules: Rules, recent: int, left: int, *, whole: bool = False
) -> int:
    """The head that leaves the recent nodes their room."""
    reach, on_ruler = head_reach(room, rules)
    if not on_ruler:
        return _head(sketch, rules, left, on_ruler, recent)
    start, unit = sketch.start, _head_unit(room)
    sums = start.whole if whole else start.sums
    while reach > 0:
        reach -= unit
        head = _head(sketch, rules, reach, on_ruler, recent)
        if sums[head] - sums[0] <= left:
            return head
    return 0


def _marker(sketch: Sketch, marker: Marker, head: int, tail: int, *, anchor: int | None = None) -> str:
    if not marker.template or head >= tail:
        return ""
    tokens = sketch.ruler_at(tail) - sketch.ruler_at(head) if marker.counts_tokens else 0
    stay = bisect_left(sketch.stays, tail) - bisect_left(sketch.stays, head)
    first, last = head, tail - 1
    if anchor is not None:
        stay += 1
        tokens -= sketch.ruler_at(anchor + 1) - sketch.ruler_at(anchor) if marker.counts_tokens else 0
        first, last = first + (first == anchor), last - (last == anchor)
    return marker.text(tail - head - stay, tokens, sketch.id_at(first), sketch.id_at(last))


def _shorten(sketch: Sketch, room: Room, rules: Rules, recent: int) -> Fit:
    """Only the recent nodes (and the last user message), each no larger than a common level."""
    tail = sketch.tail
    wanted = {sketch.first + i: tail.live(i) for i in range(recent, len(tail)) if tail.live(i)}
    anchor = sketch.last_user
    if anchor is not None and anchor[0] < sketch.first + recent:
        wanted[anchor[0]] = anchor[1]
    if not wanted:
        # Nothing can be shortened: what is added in any case is too much by itself.
        raise context_over(room.system + room.reserve, room.budget, ())
    starts_with_user = min(wanted) != sketch.first + recent or tail.roles[recent] == USER
    free = room.free - (0 if starts_with_user else room.opening)
    start = sketch.first + recent
    kept_before = anchor is not None and anchor[0] < start
    # What says nothing anyway (system messages of a list, excluded nodes) is not cut.
    beside = anchor[1] if anchor is not None and kept_before else 0
    cut = sketch.between is not None or tail.sums[recent] - tail.sums[0] > beside
    floor_of = sketch.floor_of or _one
    floors = {level: min(tokens, floor_of(level)) for level, tokens in wanted.items()}
    needed = sum(floors.values())
    kept = anchor[0] if anchor is not None and kept_before else None
    marker = _marker(sketch, rules.marker, 0, start, anchor=kept) if cut else ""
    if needed > free - rules.marker.tokens_of(marker):
        marker = ""
    tokens = rules.marker.tokens_of(marker)
    space = free - tokens
    if needed > space:
        raise recent_over(len(wanted), needed, space)
    level = water_level(wanted, floors, space)
    shortened = {
        each: max(level, floors[each]) for each, tokens in wanted.items() if tokens > max(level, floors[each])
    }
    return Fit(
        levels=sketch.levels,
        head=0 if cut else start,
        tail=start,
        recent=start,
        anchor=kept if cut else None,
        marker=marker,
        marker_tokens=tokens,
        shortened=shortened,
        tokens=sum(min(size, shortened.get(each, size)) for each, size in wanted.items()) + tokens,
    )


def _one(_level: int) -> int:
    return 1


def water_level(wanted: Mapping[int, int], floors: Mapping[int, int], space: int) -> int:
    """The size to which the largest are brought down, on a coarse scale, so that it rarely changes."""
    low, high = 1, max(wanted.values(), default=1)
    largest = high
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(size, max(middle, floors[each])) for each, size in wanted.items()) <= space:
            low = middle
        else:
            high = middle - 1
    if low == largest:
        # All of them fit as they are.
        return low
    quantum = max(1, 1 << max(0, low.bit_length() - 3))
    return low // quantum * quantum


def _over(sketch: Sketch, room: Room) -> Exception:
    """What stopAtLimit refuses with. Levels between are counted by the ruler."""
    tail, first = sketch.tail, sketch.first
    parts_of = sketch.parts_of
    sizes: list[tuple[str, int]] = []
    for index in range(len(tail)):
        own = [(sketch.id_at(first + index), tail.live(index))]
        sizes += own if parts_of is None else parts_of(first + index)
    needed = tail.after(0)
    if sketch.between is not None:
        sizes += [(sketch.head.ids[index], sketch.head.live(index)) for index in range(len(sketch.head))]
        needed += sketch.head.after(0) + sketch.between.end - sketch.between.start
    sizes.sort(key=lambda part: -part[1])
    heaviest = [part for part in sizes[:_HEAVIEST] if part[1]]
    return context_over(
        needed + room.system + room.reserve, room.budget, heaviest, at_least=sketch.between is not None
    )
