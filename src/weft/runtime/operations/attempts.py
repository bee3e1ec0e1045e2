"""Attempts: calls of models as rows. Every attempt row is written here, but for imported ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select, update

from weft.errors import NotFoundError
from weft.provenance.fingerprints import attempt_fingerprint
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.request_records import save_segments
from weft.store.rows import OUTCOMES, TreeState
from weft.tree.attempt import AttemptOutcome

_attempts = schema.attempts


def new_attempt(scope: Scope, tree: TreeState, *, agent: int, parent: int, **given: Any) -> dict[str, Any]:
    """Write a call as it begins; `given` are columns that are known already."""
    row: dict[str, Any] = {
        "tree": tree.key,
        "key": scope.transaction.take_key(tree),
        "ulid": given.pop("ulid", None) or scope.new_ulid(),
        "agent": agent,
        "parent": parent,
        "outcome": OUTCOMES.index(AttemptOutcome.RUNNING),
        "idempotency_key": None,
        "request": None,
        "response": None,
        "partial": None,
        "error": None,
        "started_at": scope.now,
        "ended_at": None,
        **given,
    }
    scope.transaction.add(_attempts, row)
    return row


def agent_key(scope: Scope, ulid: str) -> int:
    agents = schema.agents
    key = scope.transaction.cache.keys.get(ulid)
    if key is None:
        key = scope.transaction.execute(select(agents.c.key).where(agents.c.ulid == ulid)).scalar()
        if key is None:
            raise NotFoundError("the agent does not exist any more")
        scope.transaction.cache.keys[ulid] = key
    return key


def attempt_row(scope: Scope, tree: TreeState, ulid: str) -> dict[str, Any] | None:
    here = _attempts.c.tree == tree.key, _attempts.c.ulid == ulid
    row = scope.transaction.execute(select(_attempts).where(*here)).mappings().one_or_none()
    return None if row is None else dict(row)


def running_attempt(scope: Scope, tree: TreeState, ulid: str) -> dict[str, Any] | None:
    """The call's row, if it has not ended."""
    row = attempt_row(scope, tree, ulid)
    running = OUTCOMES.index(AttemptOutcome.RUNNING)
    return None if row is None or row["outcome"] != running else row


def put_request(scope: Scope, tree: TreeState, row: dict[str, Any], segments: Sequence[bytes]) -> None:
    """Save what was sent, in segments."""
    request = save_segments(scope.transaction, tree.key, row["key"], segments)
    update_attempt(scope, row, request=request)


def update_attempt(scope: Scope, row: dict[str, Any], **changes: Any) -> None:
    """Change columns, in the database and in `row`."""
    here = _attempts.c.tree == row["tree"], _attempts.c.key == row["key"]
    scope.transaction.execute(update(_attempts).where(*here).values(**changes))
    row.update(changes)


def note_attempt(scope: Scope, tree: TreeState, row: Mapping[str, Any], answered: str | None = None) -> None:
    """Add the fingerprint of the call as it is now; `answered` is the hash of its response, if known."""
    transaction = scope.transaction
    manifests, responses = schema.manifests, schema.responses
    manifest = transaction.execute(
        select(manifests.c.sha256).where(manifests.c.tree == tree.key, manifests.c.attempt == row["key"])
    ).scalar_one_or_none()
    if answered is None and row["response"] is not None:
        here = responses.c.tree == tree.key, responses.c.key == row["response"]
        answered = transaction.execute(select(responses.c.sha256).where(*here)).scalar_one().hex()
    agent = transaction.agent(row["agent"]).ulid
    parent = transaction.node(tree.key, row["parent"]).ulid
    scope.add_fingerprint(attempt_fingerprint(row, agent, parent, answered, manifest))
