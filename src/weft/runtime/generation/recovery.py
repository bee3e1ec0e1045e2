"""Recovery of calls whose process died: the pieces that were saved become nodes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import orjson
from sqlalchemy import and_, select

from weft.errors import ConflictError, NotFoundError, WeftError
from weft.providers.events import Choice
from weft.runtime.coordination.heartbeat import is_dead_process
from weft.runtime.coordination.idempotency import KeyedResult, KeyedState, error_from_wire
from weft.runtime.generation.answer import choices_from, storable, without_commands
from weft.runtime.generation.finish_call import Continuation, FinishCall
from weft.runtime.generation.start_call import CATALOG
from weft.runtime.generation.stream import Failed, NodeCompleted, Notice
from weft.runtime.operations.executor import Caller, Executor
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor, agent_row
from weft.runtime.operations.scope import Scope
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_agent, find_tree
from weft.store.model_calls import OpenCall, calls_under_way, pieces_of, run_row
from weft.store.request_records import manifest_of
from weft.store.rows import NodeRow, TreeState
from weft.store.session import Session
from weft.tree.agent import Agent
from weft.tree.attempt import AttemptOutcome, RawResponse
from weft.tree.citation import CitedSource
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
        catalog = _catalog(manifest_of(session, call.tree, call.attempt)) if choices else ()
        agent = agent_value(agent_row(session, find_agent(session, dead.agent)))
    sources = [Source(node, SourceRole(role)) for node, role in orjson.loads(call.sources)]
    continuations = _continuations(choices, agent) if turn is None else turn.said
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
        continuations=continuations,
        response=response if wire else None,
        error=_DIED,
        lease=(call.run, call.token),
        releases=True,
        only_if_running=True,
        allow_missing_parent=True,
        catalog=catalog,
        also_write=None if turn is None else turn.note,
    )
    executor.perform(actor, operation)
    if turn is not None:
        turn.tell(executor)


def _catalog(manifest: bytes | None) -> tuple[CitedSource, ...]:
    """The sources that the dead call's answer may cite."""
    stored: Mapping[str, Any] = orjson.loads(manifest or b"{}").get("generation") or {}
    return tuple(CitedSource(*each) for each in stored.get(CATALOG) or ())


def _continuations(choices: Mapping[int, Choice], agent: Agent) -> list[Continuation]:
    contents = {number: storable(each.content) for number, each in sorted(choices.items()) if each.blocks}
    return [
        Continuation(number, without_commands(content) if agent.loom_aware else content, Status.INTERRUPTED)
        for number, content in contents.items()
    ]


def replay_call(
    caller: Caller,
    tree: str,
    key: str,
    outcome: KeyedResult,
    put: Callable[[NodeCompleted | Notice | Failed], None],
) -> None:
    """Deliver the result of the first call with this key in a tree; of one whose process died, what was saved."""
    read = Reader.of(caller)
    if outcome.state is KeyedState.INTERRUPTED or not isinstance(outcome.result, dict):
        close_dead_calls(caller.executor, caller.actor)
        nodes = _nodes_of(caller, tree, key, outcome.since)
        if not nodes:
            raise ConflictError(
                "the first call with this idempotency key was interrupted before anything came",
                hint="use a new key to ask again",
            )
        for slot, (tree_id, node) in enumerate(nodes):
            put(NodeCompleted(slot, read.node(tree_id, node)))
        return
    result = cast("Mapping[str, Any]", outcome.result)
    for slot, node in result["nodes"]:
        put(NodeCompleted(slot, read.node(result["tree"], node)))
    for failed in result["failures"]:
        put(Failed(tuple(failed["slots"]), error_from_wire(failed["error"])))
    for notice in result.get("notices", ()):
        put(Notice(tuple(notice["slots"]), notice["message"]))


def _nodes_of(caller: Caller, tree: str, key: str, since: int) -> list[tuple[str, str]]:
    """The nodes that were made in a tree under a key since then: earlier uses of the key do not count."""
    attempts, choices, nodes, trees = schema.attempts, schema.node_responses, schema.nodes, schema.trees
    with caller.store.read() as session:
        statement = (
            select(trees.c.ulid, nodes.c.ulid.label("node"))
            .select_from(attempts)
            .join(choices, and_(choices.c.tree == attempts.c.tree, choices.c.response == attempts.c.response))
            .join(nodes, and_(nodes.c.tree == choices.c.tree, nodes.c.key == choices.c.node))
            .join(trees, trees.c.key == attempts.c.tree)
            .where(
                attempts.c.tree == find_tree(session, tree),
                attempts.c.idempotency_key == key,
                attempts.c.started_at >= since,
            )
            .order_by(nodes.c.key)
        )
        return [(row.ulid, row.node) for row in session.execute(statement)]
