"""A provider's cache, simulated by its own rule: the longest prefix that was sent, or the last mark that was written.

Independent of the engine's prediction, so that the two can be compared: prefixes are hashed whole, and
each has the moment until which it lives.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.context.cache.controls import CacheControls
from weft.context.envelope import RequestBlock
from weft.tree.cache_profile import CacheKind, CacheProfile

__all__ = ["CacheUse", "SimulatedCache"]


class CacheUse(NamedTuple):
    """Tokens of one request."""

    read: int
    written: int
    plain: int

    def cost(self, *, read: float, write: float) -> float:
        """In tokens at the full price."""
        return self.read * read + self.written * write + self.plain


@dataclass(slots=True)
class SimulatedCache:
    """What a provider has of the requests that it was sent."""

    profile: CacheProfile
    lifetime: float
    """Seconds that a prefix lives after it was last written or read."""
    _alive: dict[str, float] = field(default_factory=dict[str, float])

    def send(self, blocks: Sequence[RequestBlock], controls: CacheControls, now: float) -> CacheUse:
        """One request: what is read of it, what it writes, and what is neither."""
        marks = [
            index
            for index, block in enumerate(blocks)
            if any((mark.message, mark.block) == (block.message, block.number) for mark in controls.marks)
        ]
        by_marks = self.profile.kind is CacheKind.MARKS
        prefixes = _prefixes(blocks)
        sums = [0]
        for block in blocks:
            sums.append(sums[-1] + block.tokens)
        hit = self._hit(prefixes, marks if by_marks else None, now)
        read = sums[hit] // self.profile.grain * self.profile.grain if hit else 0
        if sums[hit] < self.profile.minimum:
            read, hit = 0, 0
        ends = [index + 1 for index in marks] if by_marks else list(range(1, len(blocks) + 1))
        for end in ends:
            if sums[end] >= self.profile.minimum:
                self._alive[prefixes[end - 1]] = now + self.lifetime
        written = max(0, max((sums[end] for end in ends), default=0) - read)
        return CacheUse(read, written, sums[-1] - read - written)

    def _hit(self, prefixes: Sequence[str], marks: Sequence[int] | None, now: float) -> int:
        """How many blocks are read: the most that are alive, and that the rule lets it find."""
        for count in range(len(prefixes), 0, -1):
            if self._alive.get(prefixes[count - 1], 0) <= now:
                continue
            if marks is None or any(0 <= mark - (count - 1) < self.profile.look_back for mark in marks):
                return count
        return 0


def _prefixes(blocks: Sequence[RequestBlock]) -> list[str]:
    running, found = hashlib.sha256(), list[str]()
    for block in blocks:
        running.update(block.sha256.encode())
        found.append(running.hexdigest())
    return found
