"""A tree: one branching exploration, and the numbers kept with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from weft.tree.json import JsonValue

UNTITLED = "Untitled"
_TITLE_WORDS = 8
_TITLE_LENGTH = 60


class Mode(StrEnum):
    DIALOGUE = "dialogue"
    BUFFER = "buffer"


@dataclass(frozen=True, slots=True)
class Counters:
    """What is live in a tree: nodes of every kind, leaves, and the deepest node (the root is 0)."""

    nodes: int
    branches: int
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One branching exploration with exactly one root. The mode is fixed at creation."""

    id: str
    title: str
    description: str = ""
    summary: str | None = None
    mode: Mode
    system_context: str = ""
    buffer_mode_system_context: bool = False
    preferences: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    project: str | None = None
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None = None
    root: str
    counters: Counters


def title_from(text: str) -> str:
    """First words of the root, else "Untitled"."""
    words = text.split(maxsplit=_TITLE_WORDS)
    title = " ".join(words[:_TITLE_WORDS])
    if len(title) > _TITLE_LENGTH:
        return title[: _TITLE_LENGTH - 1].rstrip() + "…"
    if len(words) > _TITLE_WORDS:
        return title + "…"
    return title or UNTITLED
