"""Calls of models written by hand, as generation writes them, for tests of evidence."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from weft.runtime.operations.attempts import new_attempt, note_attempt, put_request, update_attempt
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.raw_responses import Answer, add_response
from weft.runtime.operations.scope import Scope
from weft.store.lookup import find_agent
from weft.store.request_records import save_manifest
from weft.store.rows import OUTCOMES
from weft.tree.agent import Permission
from weft.tree.attempt import AttemptOutcome, RawResponse
from weft.tree.json_names import to_microseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAttempt(Editing):
    """Write a call: the body sent, its manifest, the answer if one came. Returns its id."""

    verb: ClassVar[str] = "attempt"
    permission: ClassVar[Permission] = Permission.LOOM_GENERATE
    tree: str
    parent: str
    agent: str
    outcome: AttemptOutcome
    segments: Sequence[bytes]
    manifest: bytes = b"{}"
    response: RawResponse | None = None
    error: str | None = None
    idempotency_key: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None

    def apply(self, scope: Scope) -> str:
        tree = scope.open_tree(self.tree)
        parent = scope.node(tree, self.parent)
        row = new_attempt(
            scope,
            tree,
            agent=find_agent(scope.transaction, self.agent),
            parent=parent.key,
            outcome=OUTCOMES.index(self.outcome),
            idempotency_key=self.idempotency_key,
            error=self.error,
            started_at=scope.now if self.started_at is None else to_microseconds(self.started_at),
            ended_at=None if self.ended_at is None else to_microseconds(self.ended_at),
        )
        if self.response is not None:
            digest = hashlib.sha256(self.response.body).digest()
            response = add_response(scope, tree, Answer(self.response, digest, 0))
            update_attempt(scope, row, response=response["key"])
        put_request(scope, tree, row, self.segments)
        save_manifest(scope.transaction, tree.key, row["key"], self.manifest)
        note_attempt(scope, tree, row)
        scope.record(tree, self.verb, {"attempt": row["ulid"], "parent": parent.ulid}, {})
        return row["ulid"]
