"""Ending a run between two turns: what was said so far becomes its reply, as interrupted."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import and_, select

from weft.commands.scanner import scan
from weft.context.agent_view.operational_memory import Action
from weft.errors import ConflictError, NotFoundError, WeftError
from weft.providers.events import Choice
from weft.runtime.collaboration.run_log import Batch, end_run
from weft.runtime.collaboration.turn import joined_prose
from weft.runtime.contexts.agent_memory import note_actions
from weft.runtime.coordination.approval_desk import close_approvals
from weft.runtime.coordination.heartbeat import is_dead_process
from weft.runtime.generation.answer import storable
from weft.runtime.generation.finish_call import Continuation
from weft.runtime.generation.start_call import Generating
from weft.runtime.operations.approvals import waiting_calls
from weft.runtime.operations.cursors import move_cursor, undo_cursor
from weft.runtime.operations.executor import Caller, Executor
from weft.runtime.operations.node_values import heading_of
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.permissions import Actor, agent_row
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.model_calls import OpenCall, RunRow, run_row, runs_under_way
from weft.store.packed_bodies import load_body
from weft.store.rows import NodeRow, TreeState
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.store.tree_queries import node_row
from weft.tree.attempt import RawResponse
from weft.tree.content import Content, Mixed, Text
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.json import JsonValue
from weft.tree.node import Node, Status
from weft.tree.tree import Mode


def edge_in(mode: Mode) -> EdgeType:
    """A reply continues a conversation; beside a document it is a remark, and no part of the text."""
    return EdgeType.ANNOTATION if mode is Mode.BUFFER else EdgeType.CONTINUATION


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishRun(Generating):
    """Keep what a run has said in the turns that have ended, and end it."""

    tree: str
    run: str
    status: Status = Status.INTERRUPTED
    moves: bool = False
    """Whether the caller's cursor moves to the reply, if it is still at `cursor`."""
    cursor: str | None = None

    def apply(self, scope: Scope) -> Node:
        tree = scope.open_tree(self.tree, archived=True)
        row = run_row(scope.transaction, tree.key, self.run)
        if row is None or not row.said:
            raise ConflictError("the run has ended already")
        edge = edge_in(tree.mode)
        parent = scope.transaction.node(tree.key, row.head)
        if not parent.live:
            raise ConflictError(
                f"[{parent.local_id}] is gone, and the reply with it",
                hint="what was said is kept with its calls",
            )
        draft = Draft(
            content=Text(row.said),
            sources=((parent, SourceRole.PRIMARY),),
            edge_type=edge,
            status=self.status,
            response=_response(scope.transaction, row),
            author=row.agent,
        )
        end_run(scope.transaction, tree, self.run, scope.now)
        node, written = write_node(scope, tree, draft)
        self._record(scope, tree, row, node, written.key)
        return node

    def _record(self, scope: Scope, tree: TreeState, row: RunRow, node: Node, key: int) -> None:
        made: list[JsonValue] = [node.id]
        inverse: dict[str, JsonValue] = {"hide": made}
        if edge_in(tree.mode) is EdgeType.CONTINUATION:
            scope.transaction.move_cursor(tree.key, row.agent, key, scope.now)
            stood = undo_cursor(scope, tree)
            if self.moves and stood == self.cursor:
                inverse["cursor"] = stood
                move_cursor(scope, tree, key)
        parent = scope.ulid_of(tree, row.head)
        attempts: list[JsonValue] = [] if row.attempt is None else [row.attempt]
        scope.record(tree, self.verb, {"nodes": made, "parent": parent, "attempts": attempts}, inverse)


def _response(transaction: Transaction, row: RunRow) -> RawResponse | None:
    """The response that has the last of its words."""
    attempts, responses = schema.attempts, schema.responses
    answered = and_(responses.c.tree == attempts.c.tree, responses.c.key == attempts.c.response)
    saved = transaction.execute(
        select(responses.c.sha256, responses.c.provider, responses.c.model)
        .select_from(attempts)
        .join(responses, answered)
        .where(attempts.c.tree == row.tree, attempts.c.ulid == row.attempt)
    ).one_or_none()
    if saved is None:
        return None
    body = load_body(transaction, row.tree, saved.sha256)
    return RawResponse(body=body, provider=saved.provider, model=saved.model, attempt=row.attempt)


BROKEN_OFF, AT = "was broken off", "at "
"""What the trace says of a run that did not come to its end, and whose words do not show it."""


class BrokenTurn:
    """The turn in the middle of which a run's process died: its words belong to the run's reply."""

    def __init__(self, row: RunRow, edge: EdgeType, choices: dict[int, Choice]) -> None:
        self._row = row
        self._edge = edge
        spoken = choices[0].content if 0 in choices and choices[0].blocks else Text("")
        self._prose = joined_prose(row.said, scan(_words(storable(spoken)).text))

    @property
    def said(self) -> list[Continuation]:
        """The reply; nothing, where the words are all of earlier turns: those have a response of their own."""
        if self._prose == self._row.said:
            return []
        return [Continuation(0, Text(self._prose), Status.INTERRUPTED, self._edge)]

    def note(self, scope: Scope, tree: TreeState, nodes: Sequence[NodeRow]) -> None:
        if nodes:
            end_run(scope.transaction, tree, self._row.run, scope.now)

    def tell(self, executor: Executor) -> None:
        """Let the agent know; where it wrote nothing in this turn, closing the run does."""
        if self.said:
            tell_broken_off(executor, self._row)


def _words(content: Content) -> Text:
    """What was said aloud: thinking is no part of it."""
    if isinstance(content, Text):
        return content
    if isinstance(content, Mixed):
        return Text("".join(block.text for block in content.blocks if isinstance(block, Text)))
    return Text("")


def broken_turn(session: Session, dead: OpenCall, choices: dict[int, Choice]) -> BrokenTurn | None:
    """If the call was a collaborator's own turn."""
    row = run_row(session, dead.call.tree, dead.call.run)
    if row is None or row.runner is not None or agent_row(session, row.agent).ulid != dead.agent:
        return None
    return BrokenTurn(row, edge_in(heading_of(session, row.tree).mode), choices)


def close_dead_runs(
    executor: Executor,
    actor: Actor,
    close: Callable[[Executor, Actor, RunRow], bool] | None = None,
    *,
    of_runners: bool = False,
) -> int:
    """End every collaborator's run, or every runner's, that no process continues. Returns how many.

    Its call under way has been closed before. `close` ends one of them.
    """
    with executor.store.read() as session:
        now = executor.clock()
        dead = [
            row
            for row in runs_under_way(session)
            if (row.runner is not None) is of_runners
            and (row.held_until <= now or is_dead_process(row.holder))
        ]
        waiting = {row.run: waiting_calls(session, row.tree, row.run) for row in dead}
    closed = 0
    for row in dead:
        try:
            close_approvals(Caller(executor, actor), waiting[row.run])
            closed += (close or _close)(executor, actor, row)
        except WeftError:
            # The next program that opens the grove tries again.
            continue
    return closed


def _close(executor: Executor, actor: Actor, row: RunRow) -> bool:
    with executor.store.read() as session:
        tree = heading_of(session, row.tree).ulid
    if row.said:
        # Unless the place is gone or another's by now: then the words are kept with their calls.
        with contextlib.suppress(ConflictError, NotFoundError):
            executor.perform(actor, FinishRun(tree=tree, run=row.run))
    ended = executor.store.write(
        lambda transaction: end_run(transaction, transaction.tree_state(row.tree), row.run, executor.clock())
    )
    tell_broken_off(executor, row)
    return ended


def tell_broken_off(executor: Executor, row: RunRow) -> None:
    """Let the agent know how far it had come."""
    batch = Batch.loaded(row.batch)
    detail = f"in turn {row.turns + 1}"
    if batch.done < len(batch.commands):
        detail = (
            f"{batch.done} of the last {len(batch.commands)} commands done, "
            f'"{" ".join(batch.commands[batch.done].split())[:80]}" perhaps, the rest not'
        )
    with executor.store.read() as session:
        at = node_row(session, row.tree, row.head).local_id
    note_broken_off(executor, row, at, detail)


def note_broken_off(executor: Executor, row: RunRow, at: str, detail: str) -> None:
    """Let the agent's trace tell where it was, and why it did not go on."""
    action = Action(verb=BROKEN_OFF, target=f"{AT}{at}", noun="", detail=detail)
    note_actions(executor, (row.tree, row.agent), [action])
