"""Calls of models as rows: begun, changed, and vouched for."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import select, update

from weft.errors import NotFoundError
from weft.provenance.fingerprints import attempt_fingerprint
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.responses import Answer, add_response
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.bodies import save_manifest, save_segments
from weft.store.rows import OUTCOMES, NodeRow, TreeState
from weft.tree.agent import Permission
from weft.tree.attempt import Outcome, RawResponse

__all__ = [
    "EndedCall",
    "Generating",
    "agent_key",
    "attempt_row",
    "keep_ended",
    "new_attempt",
    "note_attempt",
    "put_request",
    "running_attempt",
    "update_attempt",
]

_attempts = schema.attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCall:
    """A call that is over: what was sent, what came, and why it failed, if it did."""

    segments: Sequence[bytes]
    response: RawResponse | None
    error: str | None = None


class Generating(Editing):
    verb: ClassVar[str] = "generate"
    permission: ClassVar[Permission] = Permission.LOOM_GENERATE


def new_attempt(
    scope: Scope, tree: TreeState, parent: NodeRow, agent: str, idempotency_key: str | None = None
) -> dict[str, Any]:
    """A call as it begins, in the database."""
    row: dict[str, Any] = {
        "tree": tree.key,
        "key": scope.transaction.take_key(tree),
        "ulid": scope.new_ulid(),
        "agent": agent_key(scope, agent),
        "parent": parent.key,
        "outcome": OUTCOMES.index(Outcome.RUNNING),
        "idempotency_key": idempotency_key,
        "request": None,
        "response": None,
        "partial": None,
        "error": None,
        "started_at": scope.now,
        "ended_at": None,
    }
    scope.transaction.add(_attempts, row)
    return row


def agent_key(scope: Scope, ulid: str) -> int:
    agents = schema.agents
    key = scope.transaction.cache.keys.get(ulid)
    if key is None:
        found = scope.transaction.execute(select(agents.c.key).where(agents.c.ulid == ulid)).scalar()
        if found is None:
            raise NotFoundError("the agent does not exist any more")
        key = scope.transaction.cache.keys[ulid] = int(found)
    return key


def attempt_row(scope: Scope, tree: TreeState, ulid: str) -> dict[str, Any]:
    here = _attempts.c.tree == tree.key, _attempts.c.ulid == ulid
    return {**scope.transaction.execute(select(_attempts).where(*here)).mappings().one()}


def running_attempt(scope: Scope, tree: TreeState, ulid: str) -> dict[str, Any] | None:
    """The call's row, if it has not ended."""
    here = _attempts.c.tree == tree.key, _attempts.c.ulid == ulid
    found = scope.transaction.execute(select(_attempts).where(*here)).mappings().one_or_none()
    running = OUTCOMES.index(Outcome.RUNNING)
    return None if found is None or found["outcome"] != running else dict(found)


def put_request(scope: Scope, tree: TreeState, row: dict[str, Any], segments: Sequence[bytes]) -> None:
    row["request"] = save_segments(scope.transaction, tree.key, row["key"], segments)
    update_attempt(scope, row, "request")


def update_attempt(scope: Scope, row: Mapping[str, Any], *names: str) -> None:
    here = _attempts.c.tree == row["tree"], _attempts.c.key == row["key"]
    values = {name: row[name] for name in names}
    scope.transaction.execute(update(_attempts).where(*here).values(**values))


def note_attempt(scope: Scope, tree: TreeState, row: Mapping[str, Any]) -> None:
    """Vouch for the call as it is now."""
    transaction = scope.transaction
    manifests, responses = schema.manifests, schema.responses
    manifest = transaction.execute(
        select(manifests.c.sha256).where(manifests.c.tree == tree.key, manifests.c.attempt == row["key"])
    ).scalar_one_or_none()
    answered = None
    if row["response"] is not None:
        found = select(responses.c.sha256).where(
            responses.c.tree == tree.key, responses.c.key == row["response"]
        )
        answered = transaction.execute(found).scalar_one().hex()
    agent = transaction.agent(row["agent"]).ulid
    parent = transaction.node(tree.key, row["parent"]).ulid
    scope.add_fingerprint(attempt_fingerprint(row, agent, parent, answered, manifest))


def keep_ended(
    scope: Scope, tree: TreeState, parent: NodeRow, agent: str, call: EndedCall, *, manifest: bytes
) -> str:
    """Keep a call that brought no node: it is evidence like any other. Returns its id."""
    row = new_attempt(scope, tree, parent, agent)
    save_manifest(scope.transaction, tree.key, row["key"], manifest)
    put_request(scope, tree, row, call.segments)
    if call.response is not None:
        digest = hashlib.sha256(call.response.body).digest()
        row["response"] = add_response(scope, tree, Answer(call.response, digest, 0))["key"]
    outcome = Outcome.COMPLETE if call.error is None else Outcome.FAILED
    row |= {"outcome": OUTCOMES.index(outcome), "error": call.error, "ended_at": scope.now}
    update_attempt(scope, row, "response", "outcome", "error", "ended_at")
    note_attempt(scope, tree, row)
    return row["ulid"]
