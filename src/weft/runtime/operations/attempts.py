"""Calls of a model: what was asked, what came back, and how it ended."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from weft.errors import InvalidInputError, LimitExceededError
from weft.provenance.fingerprints import attempt_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.responses import Answer, add_response
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.bodies import save_request
from weft.store.references import find_agent
from weft.store.rows import OUTCOMES
from weft.tree.agent import Permission
from weft.tree.attempt import Attempt, Outcome, RawResponse
from weft.tree.content import check_text
from weft.tree.json_names import from_microseconds, to_microseconds

__all__ = ["RecordAttempt"]

_SEGMENT_LIMIT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAttempt(Editing):
    """Keep a call of a model as evidence: the body sent, its manifest, the answer if one came."""

    verb: ClassVar[str] = "attempt"
    permission: ClassVar[Permission] = Permission.LOOM_GENERATE
    tree: str
    parent: str
    agent: str
    outcome: Outcome
    segments: Sequence[bytes]
    manifest: bytes = b"{}"
    response: RawResponse | None = None
    error: str | None = None
    idempotency_key: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None

    def apply(self, scope: Scope) -> Attempt:
        tree = scope.open_tree(self.tree)
        parent = scope.node(tree, self.parent)
        agent = scope.transaction.agent(find_agent(scope.transaction, self.agent))
        if agent.model_ref is None:
            raise InvalidInputError(f"{agent.name!r} is no model")
        if len(self.segments) > _SEGMENT_LIMIT:
            raise LimitExceededError(f"a request has at most {_SEGMENT_LIMIT:,} segments")
        key = scope.transaction.take_key(tree)
        response = None
        if self.response is not None:
            digest = hashlib.sha256(self.response.body).digest()
            response = add_response(scope, tree, Answer(self.response, digest, 0))
        row: dict[str, Any] = {
            "tree": tree.key,
            "key": key,
            "ulid": scope.new_ulid(),
            "agent": agent.key,
            "parent": parent.key,
            "outcome": OUTCOMES.index(self.outcome),
            "idempotency_key": self.idempotency_key,
            "request": _body_hash(self.segments),
            "response": None if response is None else response["key"],
            "partial": None,
            "error": None if self.error is None else check_text(self.error, what="error", limit=10_000),
            "started_at": scope.now if self.started_at is None else to_microseconds(self.started_at),
            "ended_at": None if self.ended_at is None else to_microseconds(self.ended_at),
        }
        scope.transaction.add(schema.attempts, row)
        _, manifest = save_request(scope.transaction, tree.key, key, self.segments, self.manifest)
        answered = None if response is None else response["sha256"].hex()
        scope.add_fingerprint(attempt_fingerprint(row, agent.ulid, parent.ulid, answered, manifest))
        scope.record(tree, self.verb, {"attempt": row["ulid"], "parent": parent.ulid}, {})
        return Attempt(
            id=row["ulid"],
            tree_id=tree.ulid,
            agent_id=agent.ulid,
            outcome=self.outcome,
            idempotency_key=self.idempotency_key,
            request_sha256=row["request"].hex(),
            response_sha256=answered,
            error=row["error"],
            started_at=from_microseconds(row["started_at"]),
            ended_at=self.ended_at,
        )


def _body_hash(segments: Sequence[bytes]) -> bytes:
    whole = hashlib.sha256()
    for segment in segments:
        whole.update(segment)
    return whole.digest()
