"""A call that was made before: what it made is told again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import and_, select

from weft.errors import ConflictError
from weft.runtime.coordination.idempotency import KeyedResult, KeyedState, error_from_wire
from weft.runtime.generation.stream import EventChannel, Failed, GenerationEvent, NodeCompleted
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_tree


@dataclass(frozen=True, slots=True)
class FirstCall:
    """Where a call was made before, and under which key."""

    tree: str
    key: str


def replay_call(
    executor: Executor,
    actor: Actor,
    channel: EventChannel[GenerationEvent],
    outcome: KeyedResult,
    first: FirstCall,
) -> None:
    """What the first call came to; of one whose process died, what was kept of it."""
    read = Reader(executor.store, actor)
    if outcome.state is KeyedState.INTERRUPTED or not isinstance(outcome.result, dict):
        from weft.runtime.generation.recovery import (  # noqa: PLC0415 - it stands on this package
            close_dead_calls,
        )

        close_dead_calls(executor, actor)
        found = _nodes_of(executor, first, outcome.since)
        if not found:
            raise ConflictError(
                "the first call with this idempotency key was interrupted before anything came",
                hint="draw a new key to ask again",
            )
        for slot, (tree, node) in enumerate(found):
            channel.put(NodeCompleted(slot, read.node(tree, node)))
        return
    told = cast("Mapping[str, Any]", outcome.result)
    for slot, node in told["nodes"]:
        channel.put(NodeCompleted(slot, read.node(told["tree"], node)))
    for failed in told["failures"]:
        channel.put(Failed(tuple(failed["slots"]), error_from_wire(failed["error"])))


def _nodes_of(executor: Executor, first: FirstCall, since: int) -> list[tuple[str, str]]:
    """Made in that tree under that key, by nobody who used it before."""
    attempts, choices, nodes, trees = (
        schema.attempts,
        schema.node_responses,
        schema.nodes,
        schema.trees,
    )
    with executor.store.read() as session:
        statement = (
            select(trees.c.ulid, nodes.c.ulid.label("node"))
            .select_from(attempts)
            .join(choices, and_(choices.c.tree == attempts.c.tree, choices.c.response == attempts.c.response))
            .join(nodes, and_(nodes.c.tree == choices.c.tree, nodes.c.key == choices.c.node))
            .join(trees, trees.c.key == attempts.c.tree)
            .where(
                attempts.c.tree == find_tree(session, first.tree),
                attempts.c.idempotency_key == first.key,
                attempts.c.started_at >= since,
            )
            .order_by(nodes.c.key)
        )
        return [(row.ulid, row.node) for row in session.execute(statement)]
