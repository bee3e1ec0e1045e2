"""Who may enter a grove, and as what."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class MemberRole(StrEnum):
    OWNER = "owner"
    EDITOR = "editor"
    READER = "reader"

    @property
    def rank(self) -> int:
        return {"reader": 1, "editor": 2, "owner": 3}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: str
    name: str
    agent_id: str
    created_at: datetime
    archived_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A key to the door; only its hash is kept."""

    id: str
    user_id: str
    label: str
    service: bool
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    """Its last use, to within a few minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A user's role on the grove, or on one tree."""

    user_id: str
    tree_id: str | None
    role: MemberRole
