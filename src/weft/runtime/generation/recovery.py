"""Recovery of calls whose process died: the pieces that were saved become nodes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import orjson

from weft.errors import ConflictError, NotFoundError, WeftError
from weft.providers.events import Choice
from weft.runtime.coordination.processes import is_dead_process
from weft.runtime.generation.answer import choices_from, storable, without_commands
from weft.runtime.generation.finish_call import Continuation, FinishCall
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor, agent_row
from weft.runtime.operations.scope import Scope
from weft.store.lookup import find_agent
from weft.store.model_calls import OpenCall, calls_under_way, pieces_of, run_row
from weft.store.rows import NodeRow, TreeState
from weft.store.session import Session
from weft.tree.attempt import AttemptOutcome, RawResponse
from weft.tree.edge import Source, SourceRole
from weft.tree.json_names import from_microseconds
from weft.tree.node import Status

_DIED = "its process ended before the answer did"


class RecoveredTurn(Protocol):
    """The turn of a collaborator that a dead call was made for: its words belong to the run's reply."""

    @property
    def said(self) -> Sequence[Continuation]: ...
    def note(self, scope: Scope, tree: TreeState, nodes: Sequence[NodeRow]) -> None: ...
    def tell(self, executor: Executor) -> None: ...


TurnReader = Callable[[Session, OpenCall, dict[int, Choice]], RecoveredTurn | None]


def close_dead_calls(executor: Executor, actor: Actor, turn_of: TurnReader | None = None) -> int:
    """End every call whose process died, as interrupted; returns how many.

    `turn_of` reads the turn of a collaborator's call; without it such calls are left to their run.
    """
    with executor.store.read() as session:
        now = executor.clock()
        dead = [
            each
            for each in calls_under_way(session)
            if (each.call.held_until <= now or is_dead_process(each.call.holder))
            and (turn_of is not None or run_row(session, each.call.tree, each.call.run) is None)
        ]
    closed = 0
    for each in dead:
        try:
            _close(executor, actor, each, turn_of)
            closed += 1
        except (ConflictError, NotFoundError):
            # Another process was faster, or has the place now: tried again at the next look.
            continue
        except WeftError:
            break
    return closed


def _close(executor: Executor, actor: Actor, dead: OpenCall, turn_of: TurnReader | None) -> None:
    call = dead.call
    with executor.store.read() as session:
        pieces = pieces_of(session, call.tree, call.attempt)
        choices = choices_from([piece.said for piece in pieces])
        turn = None if turn_of is None else turn_of(session, dead, choices)
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
    operation = FinishCall(
        tree=dead.tree,
        attempt=dead.attempt,
        agent=dead.agent,
        sources=sources,
        outcome=AttemptOutcome.INTERRUPTED,
        said=said,
        response=response if wire else None,
        error=_DIED,
        lease=(call.run, call.token),
        releases=True,
        only_if_running=True,
        allow_missing_parent=True,
        also_write=None if turn is None else turn.note,
    )
    executor.perform(actor, operation)
    if turn is not None:
        turn.tell(executor)


def _spoken(choices: Mapping[int, Choice], *, aloud: bool) -> list[Continuation]:
    said = {number: storable(choice.content) for number, choice in sorted(choices.items()) if choice.blocks}
    return [
        Continuation(number, without_commands(content) if aloud else content, Status.INTERRUPTED)
        for number, content in said.items()
    ]
