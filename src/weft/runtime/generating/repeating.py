"""A call that was made before: what it made is told again."""

from sqlalchemy import and_, select

from weft.errors import ConflictError
from weft.runtime.actor import Actor
from weft.runtime.gate import Gate
from weft.runtime.generating.telling import Channel, Ended, GenerationEvent
from weft.runtime.idempotency import Outcome, OutcomeState
from weft.runtime.reading import Reading
from weft.store import schema

__all__ = ["answer_again"]


def answer_again(
    gate: Gate, actor: Actor, channel: Channel[GenerationEvent], outcome: Outcome, key: str
) -> None:
    """The nodes of the first call; of one whose process died, those that were kept of it."""
    read = Reading(gate.store, actor)
    if outcome.state is OutcomeState.INTERRUPTED or not isinstance(outcome.result, dict):
        from weft.runtime.generating.closing import close_dead_calls  # noqa: PLC0415 - it stands on this package

        close_dead_calls(gate, actor)
        found = _nodes_of(gate, key)
        if not found:
            raise ConflictError(
                "the first call with this idempotency key was interrupted before anything came",
                hint="draw a new key to ask again",
            )
    else:
        tree = str(outcome.result["tree"])
        found = [(tree, str(node)) for node in outcome.result["nodes"]]  # pyright: ignore[reportGeneralTypeIssues, reportOptionalIterable, reportUnknownVariableType, reportUnknownArgumentType] - as it was kept
    for slot, (tree, node) in enumerate(found):
        channel.put(Ended(slot, read.node(tree, node)))


def _nodes_of(gate: Gate, key: str) -> list[tuple[str, str]]:
    attempts, choices, nodes, trees = (
        schema.attempts,
        schema.node_responses,
        schema.nodes,
        schema.trees,
    )
    statement = (
        select(trees.c.ulid, nodes.c.ulid.label("node"))
        .select_from(attempts)
        .join(choices, and_(choices.c.tree == attempts.c.tree, choices.c.response == attempts.c.response))
        .join(nodes, and_(nodes.c.tree == choices.c.tree, nodes.c.key == choices.c.node))
        .join(trees, trees.c.key == attempts.c.tree)
        .where(attempts.c.idempotency_key == key)
        .order_by(nodes.c.key)
    )
    with gate.store.read() as session:
        return [(row.ulid, row.node) for row in session.execute(statement)]
