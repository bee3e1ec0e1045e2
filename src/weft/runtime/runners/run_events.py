"""Events of a runner's turn, and its result."""

from dataclasses import dataclass
from typing import TypeAlias

from weft.runtime.collaboration.run_events import Began, Finished, Turned
from weft.runtime.generation.stream import Notice, Retrying, TextChunk, ThinkingChunk, ToolCallChunk
from weft.runtime.tools.service import ToolRun
from weft.tree.approval import Approval
from weft.tree.content import ToolCall
from weft.tree.node import Node

__all__ = ["ApprovalAsked", "PlannedTools", "RunnerEvent", "ToolEnded", "ToolStarted", "TurnNode"]


@dataclass(frozen=True, slots=True)
class PlannedTools:
    """The tools of the turn are chosen."""

    calls: tuple[ToolCall, ...]
    by: str
    """`model` or `rules`."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool runs."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A tool waits for a person."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool has ended; its failure is a result too."""

    run: ToolRun


@dataclass(frozen=True, slots=True)
class TurnNode:
    """A node of the turn is durable: calls, results, or the answer."""

    node: Node


RunnerEvent: TypeAlias = (
    Began
    | Turned
    | PlannedTools
    | ToolStarted
    | ApprovalAsked
    | ToolEnded
    | TurnNode
    | TextChunk
    | ThinkingChunk
    | ToolCallChunk
    | Retrying
    | Notice
    | Finished
)
