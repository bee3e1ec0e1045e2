"""Calls that brought no node, kept as evidence."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from weft.runtime.operations.attempts import agent_key, new_attempt, note_attempt, put_request, update_attempt
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.responses import Answer, add_response
from weft.runtime.operations.scope import Scope
from weft.store.bodies import save_manifest
from weft.store.rows import OUTCOMES, NodeRow, TreeState
from weft.tree.agent import Permission
from weft.tree.attempt import Outcome, RawResponse

__all__ = ["EndedCall", "Generating", "keep_ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCall:
    """A call that is over: what was sent, what came, and why it failed, if it did."""

    segments: Sequence[bytes]
    response: RawResponse | None
    error: str | None = None


class Generating(Editing):
    verb: ClassVar[str] = "generate"
    permission: ClassVar[Permission] = Permission.LOOM_GENERATE


def keep_ended(
    scope: Scope, tree: TreeState, parent: NodeRow, agent: str, call: EndedCall, *, manifest: bytes
) -> str:
    """Keep a call that brought no node: it is evidence like any other. Returns its id."""
    row = new_attempt(scope, tree, agent=agent_key(scope, agent), parent=parent.key)
    save_manifest(scope.transaction, tree.key, row["key"], manifest)
    put_request(scope, tree, row, call.segments)
    response = None
    if call.response is not None:
        digest = hashlib.sha256(call.response.body).digest()
        response = add_response(scope, tree, Answer(call.response, digest, 0))["key"]
    outcome = Outcome.COMPLETE if call.error is None else Outcome.FAILED
    update_attempt(
        scope,
        row,
        response=response,
        outcome=OUTCOMES.index(outcome),
        error=call.error,
        ended_at=scope.now,
    )
    note_attempt(scope, tree, row)
    return row["ulid"]
