"""Events of a collaborator's run, and its result."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from weft.commands.reply import Result
from weft.errors import WeftError
from weft.runtime.generation.stream import Notice, Retrying, TextChunk, ThinkingChunk
from weft.tree.json import JsonObject
from weft.tree.node import Node

__all__ = [
    "Answered",
    "Began",
    "Commanded",
    "Ending",
    "Finished",
    "Notice",
    "Retrying",
    "RunEvent",
    "TextChunk",
    "ThinkingChunk",
    "Turned",
    "step_of",
]


class Ending(StrEnum):
    """How a run ended."""

    DONE = "done"
    """A turn without a command."""
    LIMIT = "limit"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """It is checked and written down, and the place is taken."""

    run: str
    tree_id: str
    node_id: str
    """The node that is answered."""
    agent: str
    """The agent's name."""


@dataclass(frozen=True, slots=True)
class Turned:
    """The model is asked, for the first time or after results."""

    turn: int


@dataclass(frozen=True, slots=True)
class Commanded:
    """A command was said, exactly so. It is run when its turn has ended, unless that is broken off."""

    text: str
    think: bool = False
    """Whether it is a thought: it is stored, and has no answer."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A command was run, with this result."""

    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The run is over, and its reply durable."""

    ending: Ending
    reply: Node | None = None
    """None: nothing was said beside commands."""
    note: str | None = None
    """Why it ended, where that was not the model's own decision."""
    error: WeftError | None = None
    turns: int = 0
    tokens: int = 0


def step_of(event: object) -> tuple[str, JsonObject] | None:
    """An event of a run as it is kept, and as every face gives it: its name and its fields."""
    match event:
        case Turned():
            return "turn", {"turn": event.turn}
        case Commanded():
            return "command", {"text": event.text, "think": event.think}
        case Answered():
            result = event.result
            error = result.error
            return "result", {
                "number": result.number,
                "command": result.command,
                "text": result.text,
                "shown": result.shown,
                "ok": result.ok,
                "code": None if error is None else error.code,
                "nodes": list(result.nodes),
            }
        case Notice():
            return "notice", {"message": event.message}
        case Retrying():
            return "retrying", {"error": event.error.message, "seconds": event.wait}
        case _:
            return None


RunEvent: TypeAlias = (
    Began | Turned | TextChunk | ThinkingChunk | Commanded | Answered | Retrying | Notice | Finished
)
