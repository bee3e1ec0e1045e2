"""Runs: generations, asked questions and collaborations, under way or ended, as any client sees them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from weft.errors import WeftError
from weft.tree.attempt import AttemptOutcome, Usage
from weft.tree.json import JsonValue


class RunKind(StrEnum):
    GENERATION = "generation"
    ASK = "ask"
    COLLABORATION = "collaboration"


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"
    """By a person; what had come is kept."""
    FAILED = "failed"
    """Nothing of it came to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttempt:
    """One answer of one call: a call that asks for several choices has one of these for each."""

    id: str
    """The attempt's; several choices of one call share it."""
    choice: int
    run: str
    tree: str
    parent: str
    """The node that is continued."""
    agent: str
    """Id of the agent that answers."""
    name: str
    """Its name."""
    model: str
    status: AttemptOutcome
    node: str | None
    """The node that it became."""
    offset: int
    """Characters of its text that have come."""
    error: WeftError | None
    usage: Usage | None
    cost: Decimal | None
    """Dollars, as far as they are known; of the whole call, given with its first choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run and its answers."""

    id: str
    tree: str
    node: str
    """The node that is answered."""
    kind: RunKind
    status: RunStatus
    stopping: bool
    """True once somebody asked it to stop."""
    note: str | None
    """Why it ended, where that was not the model's own decision."""
    error: WeftError | None
    started_at: datetime
    ended_at: datetime | None
    attempts: tuple[RunAttempt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStep:
    """What a collaborator's or a runner's run did: a turn, a command, its result, a tool."""

    run: str
    tree: str
    step: int
    """Its number in the run, from 1."""
    turn: int
    kind: str
    body: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptText:
    """The text of an attempt from an offset on; offsets count characters."""

    attempt: str
    choice: int
    kind: str
    """`text` or `thinking`."""
    offset: int
    end: int
    text: str
    status: AttemptOutcome
    node: str | None
