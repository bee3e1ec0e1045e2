"""Results of an agent's tool calls: written as one node below the calls, journalled call by call before that."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import orjson

from weft.errors import ConflictError
from weft.runtime.collaboration.run_log import Batch, RunLog, end_run
from weft.runtime.generation.start_call import Generating
from weft.runtime.operations.cursors import move_cursor, undo_cursor
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.scope import Scope
from weft.store.model_calls import RunRow
from weft.tree.content import (
    Content,
    Mixed,
    ToolCall,
    ToolResult,
    blocks_of,
    content_from_wire,
    content_to_wire,
)
from weft.tree.edge import SourceRole
from weft.tree.json import JsonValue
from weft.tree.node import Node, Role

PLANNING = "planner"
"""In the journal, while the model plans: its answer makes no node."""
NOT_RUN = "not run: the run was interrupted before it"
MAYBE_RUN = "interrupted while it ran: it may have had its effect, and is not run again by itself"
STOPPED = "not run: the run was stopped"
STOPPED_WITHIN = "stopped while it ran: it may have had its effect"


def calls_in(content: Content) -> tuple[ToolCall, ...]:
    """The calls of a node, in order."""
    return tuple(block for block in blocks_of(content) if isinstance(block, ToolCall))


def failed_result(call_id: str, why: str) -> ToolResult:
    """The result of a call that has none of its own: a call without a result could not be sent again."""
    return ToolResult(call_id=call_id, content=why, is_error=True)


@dataclass(frozen=True, slots=True)
class CallJournal:
    """How far the calls of a turn are: written before each call is run."""

    calls: tuple[str, ...]
    """Ids, in the order in which they run."""
    results: tuple[ToolResult, ...] = ()
    """Of the calls that have ended; the next one may have begun."""

    @classmethod
    def read(cls, row: RunRow) -> "CallJournal":
        results = [content_from_wire(each) for each in orjson.loads(row.said or "[]")]
        return cls(
            Batch.loaded(row.batch).commands, tuple(each for each in results if isinstance(each, ToolResult))
        )

    def begin(self, log: RunLog) -> None:
        """The next call is begun now, and never again."""
        said = orjson.dumps([content_to_wire(each) for each in self.results]).decode()
        log.keep_batch(Batch(self.calls, len(self.results)), said)

    def closed(self, calls: Sequence[ToolCall], waited: Collection[str] = ()) -> list[ToolResult]:
        """A result for every call, after a crash: the one that it had, or what is known of it.

        Those that `waited` for a person were begun, and did not run.
        """
        ended = {each.call_id: each for each in self.results}
        begun = self.calls[len(self.results)] if len(self.results) < len(self.calls) else None
        unsure = None if begun in waited else begun
        return [
            ended.get(call.id) or failed_result(call.id, MAYBE_RUN if call.id == unsure else NOT_RUN)
            for call in calls
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddToolResults(Generating):
    """Write what tools gave as a node below their calls, by the agent that called them."""

    tree: str
    parent: str
    results: Sequence[ToolResult]
    agent: int
    asker: int
    """The one who asked: its cursor follows."""
    ends: str | None = None
    """The run that ends by this, and gives its place up."""

    def apply(self, scope: Scope) -> Node:
        tree = scope.open_tree(self.tree, archived=True)
        parent = scope.node(tree, self.parent)
        if not parent.live:
            raise ConflictError(f"[{parent.local_id}] is gone, and its tools' results with it")
        if self.ends is not None and not end_run(scope.transaction, tree, self.ends, scope.now):
            raise ConflictError("the run has ended already")
        content = self.results[0] if len(self.results) == 1 else Mixed(tuple(self.results))
        draft = Draft(
            content=content, sources=((parent, SourceRole.PRIMARY),), role=Role.TOOL, author=self.agent
        )
        node, row = write_node(scope, tree, draft)
        made: list[JsonValue] = [node.id]
        inverse: dict[str, JsonValue] = {"hide": made}
        transaction = scope.transaction
        if transaction.cursor(tree.key, self.asker) == parent.key:
            if scope.actor.agent == self.asker:
                inverse["cursor"] = undo_cursor(scope, tree)
                move_cursor(scope, tree, row.key)
            else:
                transaction.move_cursor(tree.key, self.asker, row.key, scope.now)
        scope.record(tree, self.verb, {"nodes": made, "parent": parent.ulid, "attempts": []}, inverse)
        return node
