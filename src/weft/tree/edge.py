"""How a node hangs in its tree: one incoming hyperedge, stored with its target."""

from dataclasses import dataclass
from enum import StrEnum


class EdgeType(StrEnum):
    CONTINUATION = "continuation"
    ANNOTATION = "annotation"


class SourceRole(StrEnum):
    PRIMARY = "primary"
    CONTEXT = "context"
    INSTRUCTION = "instruction"


@dataclass(frozen=True, slots=True)
class Source:
    """One end of a hyperedge: a node of the same tree, and what it is there for."""

    node: str
    role: SourceRole = SourceRole.PRIMARY


@dataclass(frozen=True, slots=True)
class Edge:
    """The one way into a node. Its id is its target's id.

    In buffer mode every version of the parent position is a primary source.
    """

    target: str
    type: EdgeType
    sources: tuple[Source, ...]

    @property
    def id(self) -> str:
        return self.target
