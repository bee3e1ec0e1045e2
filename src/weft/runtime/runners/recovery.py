"""Turns of runners whose process died: closed as interrupted, with a result for every call that was made."""

import contextlib
from collections.abc import Sequence

from weft.errors import ConflictError, NotFoundError
from weft.providers.events import Choice
from weft.runtime.collaboration.finish import BrokenTurn, broken_turn, close_dead_runs
from weft.runtime.collaboration.run_log import Batch, end_run, last_written
from weft.runtime.generation.finish_call import Continuation
from weft.runtime.operations.approvals import waiting_calls
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.node_values import heading_of
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.scope import Scope
from weft.runtime.runners.tool_results import PLANNING, AddToolResults, CallJournal, calls_in
from weft.runtime.views.reader import Reader
from weft.store.model_calls import OpenCall, RunRow, run_row
from weft.store.rows import NodeRow, TreeState
from weft.store.session import Session
from weft.tree.node import Status


class PlannerTurn:
    """A planner's call that died: what it said makes no node."""

    said: Sequence[Continuation] = ()

    def note(self, scope: Scope, tree: TreeState, nodes: Sequence[NodeRow]) -> None:
        """Nothing: closing the run is what is left."""

    def tell(self, executor: Executor) -> None:
        """Nothing was said."""


def interrupted_turn(
    session: Session, dead: OpenCall, choices: dict[int, Choice]
) -> PlannerTurn | BrokenTurn | None:
    """The turn that a dead call was made for, if its words are no continuation: a planner's or a collaborator's."""
    row = run_row(session, dead.call.tree, dead.call.run)
    if row is None or row.runner is None:
        return broken_turn(session, dead, choices)
    return PlannerTurn() if Batch.loaded(row.batch).commands == (PLANNING,) else None


def close_dead_turns(executor: Executor, actor: Actor) -> int:
    """End every turn that no process continues; its call under way has been closed before. Returns how many."""
    return close_dead_runs(executor, actor, _close, of_runners=True)


def _close(executor: Executor, actor: Actor, row: RunRow) -> bool:
    with executor.store.read() as session:
        tree, last = heading_of(session, row.tree).ulid, last_written(session, row)
        waited = waiting_calls(session, row.tree, row.run)
    node = Reader(executor.store, actor).node(tree, last.ulid)
    calls = calls_in(node.content)
    if calls and node.status is Status.COMPLETE:
        journal = CallJournal.read(row)
        if journal.calls != tuple(call.id for call in calls):
            journal = CallJournal(())
        operation = AddToolResults(
            tree=tree,
            parent=node.id,
            results=journal.closed(calls, waited),
            agent=row.agent,
            asker=row.asker,
            ends=row.run,
        )
        # Unless the place is gone by now: then nothing is left to be paired.
        with contextlib.suppress(ConflictError, NotFoundError):
            executor.perform(actor, operation)
            return True
    return executor.store.write(
        lambda transaction: end_run(transaction, transaction.tree_state(row.tree), row.run, executor.clock())
    )
