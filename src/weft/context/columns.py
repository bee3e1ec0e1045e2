"""A path as fitting reads it: light columns, and a range in the middle that was not read."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from weft.context.masking import MaskedSums, ToolResults


class Columns:
    """Consecutive levels of a path. Sums and ruler have one more entry than there are levels."""

    __slots__ = ("bound", "ids", "results", "roles", "ruler", "spoken", "sums", "whole")

    def __init__(
        self,
        *,
        sums: Sequence[int],
        roles: Sequence[str],
        bound: Sequence[int],
        ids: Sequence[str],
        spoken: Sequence[int] | None = None,
        ruler: Sequence[int] = (),
        whole: Sequence[int] | None = None,
        results: ToolResults | None = None,
    ) -> None:
        self.sums = sums
        """Running live tokens before each level, and after the last. A level that adds nothing is left out."""
        self.roles = roles
        self.bound = bound
        """1 where a level may not be parted from the one before: a tool's result from its call."""
        self.ids = ids
        self.spoken = spoken
        """1 where a level's own words are in, not only what is referred to; None: wherever it adds anything."""
        self.ruler = ruler
        """The ruler before each level, and after the last. Only stepped cuts and markers with tokens read it."""
        self.whole = sums if whole is None else whole
        """The running tokens with no tool result masked."""
        self.results = results
        """The tool results, where they are masked in steps."""

    def sums_at(self, line: int) -> Sequence[int]:
        """The running tokens with the results masked that begin before a line on the ruler."""
        results = self.results
        return self.sums if results is None else MaskedSums(self.whole, results, results.before(line))

    def __len__(self) -> int:
        return len(self.sums) - 1

    def live(self, index: int) -> int:
        return self.sums[index + 1] - self.sums[index]

    @property
    def lives(self) -> list[int]:
        """The live tokens of every level."""
        return [after - before for before, after in pairwise(self.sums)]

    def after(self, index: int) -> int:
        """Live tokens from a level to the end."""
        return self.sums[-1] - self.sums[index]


_NONE = Columns(sums=(0,), roles=(), bound=(), ids=(), ruler=(0,))


class SkippedLevel(NamedTuple):
    """One of the levels that were not read, which is left out for a reason of its own."""

    level: int
    id: str
    reason: str
    before: str
    """The id of the level before."""
    after: str
    start: int
    end: int
    """On the ruler."""


class SkippedRange(NamedTuple):
    """Levels that nobody looked at."""

    levels: int
    first: str
    last: str
    start: int = 0
    end: int = 0
    """On the ruler."""
    left_out: tuple[SkippedLevel, ...] = ()
    """Levels among them that no cut removes, in order."""


class Sketch(NamedTuple):
    """A path as far as fitting needs it.

    Either all of it is `tail`, or `head` reaches one level past `head_reach`, and `tail`
    back to where its live tokens exceed the room, with a stretch between them.
    """

    tail: Columns
    head: Columns = _NONE
    between: SkippedRange | None = None
    last_user: tuple[int, int] | None = None
    """Level and live tokens of the last user message: it is kept even where the cut falls after it."""
    floor_of: Callable[[int], int] | None = None
    """The fewest tokens that a level can be shortened to; one if not given."""
    parts_of: Callable[[int], Sequence[tuple[str, int]]] | None = None
    """What a level's tokens are made of, by the ids of the nodes; the level alone if not given."""
    stays: Sequence[int] = ()
    """Levels that are never left out, whatever is cut around them: system messages of a list."""

    @property
    def first(self) -> int:
        """The level at which the tail begins."""
        return 0 if self.between is None else len(self.head) + self.between.levels

    @property
    def levels(self) -> int:
        return self.first + len(self.tail)

    @property
    def start(self) -> Columns:
        """The columns that hold the path's beginning."""
        return self.tail if self.between is None else self.head

    def id_at(self, level: int) -> str:
        if level >= self.first:
            return self.tail.ids[level - self.first]
        if level < len(self.head):
            return self.head.ids[level]
        between = self.between
        if between is None:
            raise IndexError(level)
        for each in between.left_out:
            if abs(level - each.level) <= 1:
                return (each.before, each.id, each.after)[level - each.level + 1]
        return between.first if level == len(self.head) else between.last

    def ruler_at(self, level: int) -> int:
        """The ruler before a level: known wherever a cut can fall."""
        if level >= self.first:
            return self.tail.ruler[level - self.first]
        for each in self.between.left_out if self.between is not None else ():
            if level in {each.level, each.level + 1}:
                return each.start if level == each.level else each.end
        return self.head.ruler[level]
