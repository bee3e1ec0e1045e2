"""Ending a run between two turns: what was said so far becomes its reply, as interrupted."""

from dataclasses import dataclass

from sqlalchemy import and_, select

from weft.errors import ConflictError
from weft.runtime.collaboration.run_log import end_run
from weft.runtime.generation.start_call import Generating
from weft.runtime.operations.cursors import move_cursor, undo_cursor
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.bodies import load_body
from weft.store.model_calls import RunRow, run_row
from weft.store.rows import TreeState
from weft.store.transaction import Transaction
from weft.tree.attempt import RawResponse
from weft.tree.content import JsonValue, Text
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.node import Node, Status
from weft.tree.tree import Mode


def edge_in(mode: Mode) -> EdgeType:
    """A reply continues a conversation; beside a document it is a remark, and no part of the text."""
    return EdgeType.ANNOTATION if mode is Mode.BUFFER else EdgeType.CONTINUATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclude(Generating):
    """Keep what a run has said in the turns that have ended, and end it."""

    tree: str
    run: str
    status: Status = Status.INTERRUPTED
    moves: bool = False
    """Whether whoever asked goes on to the reply, if it still stands at `cursor`."""
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
    """What the last of its words came with."""
    attempts, responses = schema.attempts, schema.responses
    answered = and_(responses.c.tree == attempts.c.tree, responses.c.key == attempts.c.response)
    found = transaction.execute(
        select(responses.c.sha256, responses.c.provider, responses.c.model)
        .select_from(attempts)
        .join(responses, answered)
        .where(attempts.c.tree == row.tree, attempts.c.ulid == row.attempt)
    ).one_or_none()
    if found is None:
        return None
    body = load_body(transaction, row.tree, found.sha256)
    return RawResponse(body=body, provider=found.provider, model=found.model, attempt=row.attempt)
