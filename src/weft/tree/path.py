"""Places in a tree: paths, turns, cursors, and the jump pointers that make deep paths cheap."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import overload

from weft.tree.agent import AgentType
from weft.tree.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """The node an agent is at, and the versions it has selected. Others see it as presence."""

    agent_id: str
    tree_id: str
    node_id: str
    selections: Mapping[str, str] = field(default_factory=dict[str, str])
    """Position (the id of its first node) → the version chosen there."""
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Path(Sequence[Node]):
    """Nodes from the root (or from where it was cut) to one node."""

    nodes: tuple[Node, ...]

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> "Path": ...
    def __getitem__(self, index: int | slice) -> "Node | Path":
        return Path(self.nodes[index]) if isinstance(index, slice) else self.nodes[index]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    @property
    def text(self) -> str:
        """The nodes' words with nothing in between: a buffer's document."""
        return "".join(node.text for node in self.nodes)

    @property
    def turn(self) -> "Path":
        """The current turn: the trailing run of human nodes."""
        start = len(self.nodes)
        while start > 0 and self.nodes[start - 1].author_type is AgentType.HUMAN:
            start -= 1
        return Path(self.nodes[start:])


@lru_cache(maxsize=1 << 16)
def jump_depth(depth: int) -> int:
    """Depth of the ancestor that a node at `depth` points to, by skew-binary numbers.

    The target depends on the depth alone: take the largest complete binary tree
    (2^k - 1 nodes) off the end of the path, as often as it fits. Following parent or
    jump pointers reaches any ancestor in O(log depth) steps.
    """
    if depth <= 0:
        return 0
    rest = depth
    while rest:
        block = (1 << (rest + 1).bit_length() - 1) - 1
        if rest == block:
            return depth - block
        rest -= block
    return depth
