"""What a model says, piece by piece, in nobody's dialect."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from weft.errors import ProviderError
from weft.providers.wire import WireEvent
from weft.tree.attempt import Usage
from weft.tree.content import Thinking, ToolCall

__all__ = [
    "Ending",
    "Event",
    "Finished",
    "Introduced",
    "Retried",
    "Spent",
    "TextDelta",
    "ThinkingDelta",
    "ThinkingDone",
    "TokenChance",
    "ToolCalled",
]


class Ending(StrEnum):
    """Why a choice ended. A stream that ends without saying why was cut, and raises instead."""

    STOP = "stop"
    """The model came to its end, or to a stop sequence."""
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTERED = "content_filtered"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token with the natural logarithm of its probability, and those it might have been, best first."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some more words of one choice."""

    text: str
    choice: int = 0
    chances: tuple[TokenChance, ...] = ()


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Some more thinking, to be shown; what is kept comes whole, as `ThinkingDone`."""

    text: str
    choice: int = 0


@dataclass(frozen=True, slots=True)
class ThinkingDone:
    """A block of thinking with what its provider wants back untouched."""

    block: Thinking
    choice: int = 0


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A call of a tool, whole."""

    call: ToolCall
    choice: int = 0


@dataclass(frozen=True, slots=True)
class Introduced:
    """Who answers, as reported: may differ from the model that was asked for."""

    model: str
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of the whole request so far; a later one replaces it. `prompt` counts cached ones too."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Finished:
    """One choice is complete."""

    ending: Ending
    choice: int = 0
    detail: str = ""
    """The provider's own word."""


@dataclass(frozen=True, slots=True)
class Retried:
    """A try failed before a word was said; the same request goes out again after a wait."""

    error: ProviderError
    wait: float
    """In seconds."""
    tries: int
    """So far."""


Event: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ThinkingDone
    | ToolCalled
    | Introduced
    | Spent
    | Finished
    | Retried
    | WireEvent
)
