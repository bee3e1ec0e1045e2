"""Calls whose process died are ended by whoever comes next: what was written down of them becomes nodes."""

from collections.abc import Mapping

import orjson

from weft.errors import ConflictError, NotFoundError, WeftError
from weft.providers.events import Choice
from weft.runtime.collaborating.closing import broken_turn
from weft.runtime.generating.hearing import choices_from, keepable, said_aloud
from weft.runtime.generating.processes import is_dead
from weft.runtime.generating.settling import Continuation, SettleCall
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor, agent_row
from weft.store.calls import OpenCall, calls_under_way, pieces_of
from weft.store.references import find_agent
from weft.tree.attempt import Outcome, RawResponse
from weft.tree.edge import Source, SourceRole
from weft.tree.json_names import from_microseconds
from weft.tree.node import Status

__all__ = ["close_dead_calls"]

_DIED = "its process ended before the answer did"


def close_dead_calls(gate: Executor, actor: Actor) -> int:
    """End every call that nobody listens to any more, as interrupted; returns how many."""
    with gate.store.read() as session:
        now = gate.clock()
        dead = [
            each
            for each in calls_under_way(session)
            if each.call.held_until <= now or is_dead(each.call.holder)
        ]
    closed = 0
    for each in dead:
        try:
            _close(gate, actor, each)
            closed += 1
        except (ConflictError, NotFoundError):
            # Somebody else was faster, or works at that place now: the next one who looks.
            continue
        except WeftError:
            break
    return closed


def _close(gate: Executor, actor: Actor, dead: OpenCall) -> None:
    call = dead.call
    with gate.store.read() as session:
        pieces = pieces_of(session, call.tree, call.attempt)
        choices = choices_from([piece.said for piece in pieces])
        turn = broken_turn(session, dead, choices)
        agent = agent_value(agent_row(session, find_agent(session, dead.agent)))
    sources = [Source(node, SourceRole(role)) for node, role in orjson.loads(call.sources)]
    said = _spoken(choices, aloud=agent.loom_aware) if turn is None else turn.said
    wire = b"".join(piece.wire for piece in pieces)
    response = RawResponse(
        body=wire,
        provider=call.provider,
        model=call.model,
        attempt=dead.attempt,
        requested_at=from_microseconds(dead.started_at),
    )
    operation = SettleCall(
        tree=dead.tree,
        attempt=dead.attempt,
        agent=dead.agent,
        sources=sources,
        outcome=Outcome.INTERRUPTED,
        said=said,
        response=response if wire else None,
        error=_DIED,
        lease=(call.run, call.token),
        releases=True,
        only_if_running=True,
        though_gone=True,
        beside=None if turn is None else turn.note,
    )
    gate.perform(actor, operation)
    if turn is not None:
        turn.tell(gate)


def _spoken(choices: Mapping[int, Choice], *, aloud: bool) -> list[Continuation]:
    said = {number: keepable(choice.content) for number, choice in sorted(choices.items()) if choice.blocks}
    return [
        Continuation(number, said_aloud(content) if aloud else content, Status.INTERRUPTED)
        for number, content in said.items()
    ]
