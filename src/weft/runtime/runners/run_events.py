"""Events of a runner's turn, and its result."""

from dataclasses import dataclass
from typing import TypeAlias

from weft.runtime.collaboration.run_events import Began, Finished, Turned, step_of
from weft.runtime.generation.stream import Notice, Retrying, TextChunk, ThinkingChunk, ToolCallChunk
from weft.runtime.tools.service import ToolRun
from weft.tree.approval import Approval
from weft.tree.content import ToolCall
from weft.tree.json import JsonObject
from weft.tree.json_names import to_wire
from weft.tree.node import Node

__all__ = [
    "ApprovalAsked",
    "PlannedTools",
    "RunnerEvent",
    "ToolEnded",
    "ToolStarted",
    "TurnNode",
    "step_of_turn",
]


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


def step_of_turn(event: object) -> tuple[str, JsonObject] | None:
    """An event of a runner's turn as it is kept, and as every face gives it."""
    match event:
        case PlannedTools():
            return "planned", {"calls": [to_wire(call) for call in event.calls], "by": event.by}
        case ToolStarted():
            return "tool", {"call": to_wire(event.call)}
        case ToolEnded():
            return "toolEnded", {"call": to_wire(event.run.call), "status": event.run.status.value}
        case ApprovalAsked():
            return "approval", {"approval": to_wire(event.approval)}
        case TurnNode():
            return "node", {"node": event.node.id}
        case _:
            return step_of(event)


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
