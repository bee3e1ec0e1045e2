"""Where a provider may cache a request: after L1, after L2, at the last stable point of L4, and at the end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from weft.context.items.item_types import LayerId
from weft.tree.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """A place up to which a request may be cached."""

    after: str
    """A layer's id, or `end`."""
    block: int
    """The last block before it."""
    tokens: int
    """Up to there."""

    def to_wire(self) -> JsonObject:
        return {"after": self.after, "block": self.block, "tokens": self.tokens}


def breakpoints(
    tokens: Sequence[int], *, system: bool, library: bool, stable: int | None, first: int = 0
) -> Iterator[Breakpoint]:
    """By the blocks' tokens, whether L1 and L2 have a block each, and L4's last stable block.

    `first` is the system's first block: tools come before it.
    """
    sums = list(accumulate(tokens))
    places = {
        LayerId.SYSTEM.value: first if system else None,
        LayerId.LIBRARY.value: first + int(system) if library else None,
        LayerId.HISTORY.value: stable,
        "end": len(sums) - 1 if sums else None,
    }
    for after, block in places.items():
        if block is not None:
            yield Breakpoint(after=after, block=block, tokens=sums[block])
