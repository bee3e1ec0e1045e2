"""Requests whose server ended before their answer: closed as interrupted when a server starts."""

from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import and_, select

from weft.runtime.generation.start_call import end_attempt
from weft.runtime.operations.attempts import attempt_row
from weft.runtime.operations.executor import Caller, Editing
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.model_calls import settle
from weft.store.proxy_rows import change_request
from weft.store.rows import OUTCOMES
from weft.tree.agent import Permission
from weft.tree.attempt import AttemptOutcome

_LONGEST = 3_600 * 1_000_000
"""Microseconds after which no server still waits for an answer."""
_ERROR = "the server ended before the answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseUnfinished(Editing):
    """End the call of a request that was written down and never answered."""

    verb: ClassVar[str] = "generate"
    permission: ClassVar[Permission] = Permission.LOOM_GENERATE
    tree: str
    attempt: str
    request: int

    def apply(self, scope: Scope) -> bool:
        """True if it was still open."""
        tree = scope.open_tree(self.tree, archived=True)
        row = attempt_row(scope, tree, self.attempt)
        if row is None or OUTCOMES[row["outcome"]] is not AttemptOutcome.RUNNING:
            return False
        end_attempt(scope, tree, row, AttemptOutcome.INTERRUPTED, error=_ERROR, response=None)
        settle(scope.transaction, self.attempt, None)
        change_request(scope.transaction, self.request, error=_ERROR)
        parent = scope.transaction.node(tree.key, row["parent"])
        scope.record(tree, "attempt", {"attempts": [self.attempt], "parent": parent.ulid}, {})
        return True


def close_unfinished(caller: Caller) -> int:
    """Close what servers left open; return how many."""
    requests, attempts, trees = schema.proxy_requests, schema.attempts, schema.trees
    running = OUTCOMES.index(AttemptOutcome.RUNNING)
    statement = (
        select(trees.c.ulid.label("tree"), requests.c.attempt, requests.c.key)
        .join(attempts, and_(attempts.c.tree == requests.c.tree, attempts.c.ulid == requests.c.attempt))
        .join(trees, trees.c.key == requests.c.tree)
        .where(requests.c.status.is_(None), requests.c.error == "", attempts.c.outcome == running)
        .where(requests.c.started_at < caller.executor.clock() - _LONGEST)
    )
    with caller.store.read() as session:
        left = session.execute(statement).all()
    return sum(
        caller.perform(CloseUnfinished(tree=row.tree, attempt=row.attempt, request=row.key)) for row in left
    )
