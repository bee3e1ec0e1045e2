"""Old tool results as one line each: which of them, decided on the steps of the cut, and what that saves."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

MASK_ABOVE = 200
"""Tool results of at most so many tokens are not masked, unless another number is set."""
_LONGEST_NAME = 64


class MaskRule(NamedTuple):
    """Which tool results become one line each."""

    newest: int
    """How many of the newest tool results stay whole."""
    above: int
    """Results of more tokens than this are masked."""
    step: int
    """Tokens of the ruler by which the boundary moves at a time; 0: exactly."""

    @property
    def reason(self) -> str:
        if self.newest < 2:
            return "older than the newest tool result" if self.newest else "a tool result: none stays whole"
        return f"older than the newest {self.newest:,} tool results"


class Mask(NamedTuple):
    """One tool result as one line; none where it stays whole at any age."""

    line: str = ""
    saved: int = 0


def mask_of(name: str, tokens: int, place: str, rule: MaskRule, tokens_of: Callable[[str], int]) -> Mask:
    """The line for a result of so many tokens: what it was, how much, and the id to get it back by."""
    if tokens <= rule.above:
        return Mask()
    label = " ".join(name.split())[:_LONGEST_NAME] or "a tool"
    line = f"[result of {label}, {tokens:,} tokens{place}]"
    saved = tokens - tokens_of(line)
    return Mask(line, saved) if saved > 0 else Mask()


class ToolResults:
    """The tool results of consecutive levels, oldest first, and what masking each saves. It only grows.

    What is masked depends on the ruler alone, so it stays as the path grows; but where it moves on, the path
    becomes shorter. `peaks` are the places right before: a cut that was needed there is not taken back.
    """

    __slots__ = ("levels", "line", "peaks", "rule", "saved", "starts")

    def __init__(self, rule: MaskRule) -> None:
        self.rule = rule
        self.levels: list[int] = []
        """The level of each result."""
        self.starts: list[int] = []
        """The ruler before that level."""
        self.saved: list[int] = [0]
        """Running tokens that masking saves."""
        self.peaks: list[tuple[int, int]] = []
        """(level, line on the ruler): with the levels before this one, results before the line were masked."""
        self.line = 0
        """On the ruler: results that begin before it are masked."""

    def add(self, level: int, start: int, end: int, masks: Sequence[Mask]) -> None:
        """A level with results, after all others; where it begins and ends on the ruler."""
        for mask in masks:
            self.levels.append(level)
            self.starts.append(start)
            self.saved.append(self.saved[-1] + mask.saved)
        rule = self.rule
        if rule.step and len(self.starts) >= max(1, rule.newest):
            line = (self.starts[-rule.newest] if rule.newest else end) // rule.step * rule.step
            if line != self.line:
                self.peaks.append((level, self.line))
                self.line = line

    @property
    def masked(self) -> int:
        """How many are masked, from the oldest on."""
        if self.rule.step:
            return self.before(self.line)
        return max(0, len(self.levels) - self.rule.newest)

    def before(self, line: int) -> int:
        """How many begin before a line on the ruler."""
        return bisect_left(self.starts, line)


class MaskedSums(Sequence[int]):
    """Running tokens of levels of whose results the first so many are masked."""

    __slots__ = ("_masked", "_results", "_whole")

    def __init__(self, whole: Sequence[int], results: ToolResults, masked: int) -> None:
        self._whole, self._results, self._masked = whole, results, masked

    def __len__(self) -> int:
        return len(self._whole)

    def __getitem__(self, index: int | slice) -> "int | list[int]":  # type: ignore[override] - a slice is a list
        if isinstance(index, slice):
            return [self._at(each) for each in range(*index.indices(len(self)))]
        return self._at(index + len(self) if index < 0 else index)

    def _at(self, place: int) -> int:
        results = self._results
        return self._whole[place] - results.saved[min(self._masked, bisect_left(results.levels, place))]
