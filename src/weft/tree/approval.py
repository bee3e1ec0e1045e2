"""Approvals: what an agent wants to do and may not, until a person decides."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from weft.tree.json import JsonObject


class ApprovalState(StrEnum):
    """How far a request is. Stored as its place in this list."""

    PENDING = "pending"
    ALLOWED = "allowed"
    """Once: the call that waited runs, and no other."""
    ALLOWED_IN_TREE = "allowed_in_tree"
    """And every later call of the same kind by this agent in this tree."""
    DENIED = "denied"
    EXPIRED = "expired"
    """No person decided in time."""
    INTERRUPTED = "interrupted"
    """The run was stopped, or its process ended, before a person decided."""

    @property
    def allows(self) -> bool:
        return self in {ApprovalState.ALLOWED, ApprovalState.ALLOWED_IN_TREE}


class ApprovalSubject(StrEnum):
    """What is asked for."""

    TOOL = "tool"
    """A call of a tool with effects."""
    PERMISSION = "permission"
    """A permission that an agent lacks for a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A request to a person, and what became of it."""

    id: str
    tree_id: str
    node_id: str
    """The turn that it belongs to."""
    run: str
    agent_id: str
    agent: str
    """The name of the agent that wants it."""
    subject: ApprovalSubject
    name: str
    """The tool, or the permission."""
    description: str
    arguments: JsonObject
    """Of the call; of a command, its text."""
    state: ApprovalState
    asked_at: datetime
    expires_at: datetime
    decided_by: str | None
    """The id of the person."""
    decided_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeGrants:
    """What an agent may do in one tree beyond its own rights and policies."""

    agent_id: str
    agent: str
    tools: tuple[str, ...]
    permissions: tuple[str, ...]
