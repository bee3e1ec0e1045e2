"""One call of a model, and the evidence it left."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class AttemptOutcome(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    prompt: int | None = None
    completion: int | None = None
    total: int | None = None
    cached_read: int | None = None
    cached_write: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResponse:
    """The exact bytes from the wire, with what is known about them."""

    body: bytes
    provider: str
    model: str
    attempt: str | None = None
    """The id (a ULID) of the call it answered. Nodes that name the same one are choices of one
    response, which is kept once; without it each node has had a call of its own."""
    request_id: str | None = None
    status_code: int | None = None
    requested_at: datetime | None = None
    responded_at: datetime | None = None
    usage: Usage = Usage()
