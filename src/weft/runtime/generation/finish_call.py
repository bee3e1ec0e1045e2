"""Keeping what a call brings, and ending it: its nodes, the response, the request and the outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft.errors import ConflictError
from weft.runtime.coordination.leases import release_lease
from weft.runtime.generation.start_call import EndedCall, Generating, end_attempt, save_ended_call
from weft.runtime.operations.attempts import (
    agent_key,
    attempt_row,
    new_attempt,
    note_attempt,
    put_request,
    running_attempt,
)
from weft.runtime.operations.cursors import move_cursor, undo_cursor
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.scope import Scope
from weft.store.leases import lease_at, lease_taken
from weft.store.model_calls import PieceRow, drop_call, put_piece, settle
from weft.store.provider_caches import retire_caches
from weft.store.request_records import save_manifest
from weft.store.rows import NodeRow, TreeState
from weft.store.run_records import close_attempt, close_generation
from weft.tree.attempt import AttemptOutcome, RawResponse
from weft.tree.citation import CitedSource, find_citations
from weft.tree.content import Content, spoken_text
from weft.tree.edge import EdgeType, Source
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Node, Status

if TYPE_CHECKING:
    from weft.runtime.generation.provider_caches import CreatedCache


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRequest(Generating):
    """Keep what was sent, with the first of what came back."""

    tree: str
    attempt: str
    segments: Sequence[bytes]
    piece: PieceRow

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        row = running_attempt(scope, tree, self.attempt)
        if row is None:
            return
        if row["request"] is None:
            put_request(scope, tree, row, self.segments)
            note_attempt(scope, tree, row)
            scope.record(tree, "attempt", {"attempt": self.attempt}, {})
        put_piece(scope.transaction, tree.key, row["key"], self.piece)


@dataclass(frozen=True, slots=True)
class Continuation:
    """One continuation, as far as it came."""

    choice: int
    content: Content
    status: Status
    edge: EdgeType = EdgeType.CONTINUATION


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishCall(Generating):
    """End a call: its nodes, the response, the request and the outcome, all in one transaction."""

    tree: str
    attempt: str
    agent: str
    sources: Sequence[Source]
    """The parent first."""
    outcome: AttemptOutcome
    continuations: Sequence[Continuation] = ()
    segments: Sequence[bytes] | None = None
    response: RawResponse | None = None
    manifest: bytes = b"{}"
    error: str | None = None
    failure: JsonObject | None = None
    """The error as clients get it."""
    earlier: Sequence[EndedCall] = ()
    """Tries before the last one, with what was said to them."""
    lease: tuple[str, int] | None = None
    """Run and token; None where the lease is not held any more."""
    generation: str = ""
    """What is undone together; empty: all that the run wrote."""
    releases: bool = False
    """Whether the run has ended by this, and the lease goes with it."""
    spent: int | None = None
    """Millionths of a dollar, if that is known."""
    moves: bool = False
    """Whether the cursor of the caller moves to the first of the nodes, if it is still at `cursor`."""
    cursor: str | None = None
    idempotency_key: str | None = None
    only_if_running: bool = False
    """Whether another process may have ended it."""
    allow_missing_parent: bool = False
    """Whether it ends also where its place was pruned or undone: then without nodes, the answer kept with it."""
    catalog: Sequence[CitedSource] = ()
    """The sources that the answer may cite."""
    cache: "CreatedCache | None" = None
    """A cache at the provider that the call created."""
    lost_cache: str | None = None
    """One that the provider no longer has."""
    also_write: Callable[[Scope, TreeState, Sequence[NodeRow]], None] | None = None
    """What is to be noted in the same transaction, given the nodes that were written."""

    def apply(self, scope: Scope) -> tuple[Node, ...]:
        tree = scope.open_tree(self.tree, archived=True)
        row = running_attempt(scope, tree, self.attempt)
        if row is None:
            if self.only_if_running:
                raise ConflictError("the call has ended already")
            row = self._begin_again(scope, tree)
        parent = scope.transaction.node(tree.key, row["parent"])
        if self.segments is not None and row["request"] is None:
            put_request(scope, tree, row, self.segments)
        writes = bool(self.continuations) and (parent.live or not self.allow_missing_parent)
        nodes = self._write_nodes(scope, tree, parent, row) if writes else ()
        # Written nodes may have linked the response.
        row = attempt_row(scope, tree, row["ulid"]) or row
        unwritten = None if writes else self.response
        end_attempt(scope, tree, row, self.outcome, error=self.error, response=unwritten)
        others = [
            save_ended_call(scope, tree, parent, self.agent, each, manifest=self.manifest)
            for each in self.earlier
        ]
        others += self._keep_cache(scope, tree, parent)
        drop_call(scope.transaction, tree.key, row["key"])
        self._close_run(scope, tree, row, nodes)
        settle(scope.transaction, self.attempt, self.spent)
        if self.releases and self.lease is not None:
            run, token = self.lease
            release_lease(scope.transaction, tree, parent.position, scope.now, run=run, token=token)
        if self.also_write is not None:
            self.also_write(scope, tree, [row for _, row in nodes])
        self._record(scope, tree, parent, nodes, [row["ulid"], *others])
        return tuple(node for node, _ in nodes)

    def _close_run(
        self, scope: Scope, tree: TreeState, row: Mapping[str, Any], nodes: Sequence[tuple[Node, NodeRow]]
    ) -> None:
        """For clients that follow the run: what became of the call, and of the run, if it was the last."""
        made = [(each.choice, node.id) for each, (node, _) in zip(self.continuations, nodes, strict=False)]
        close_attempt(scope.transaction, tree.key, row["key"], made, self.failure)
        if self.lease is not None:
            close_generation(scope.transaction, tree.key, self.lease[0], scope.now)

    def _keep_cache(self, scope: Scope, tree: TreeState, parent: NodeRow) -> list[str]:
        """The request that created a cache is evidence like any other; returns the id of its attempt."""
        if self.lost_cache is not None:
            retire_caches(scope.transaction, tree.key, now=scope.now, names=[self.lost_cache])
        if self.cache is None:
            return []
        made = save_ended_call(scope, tree, parent, self.agent, self.cache.call, manifest=self.manifest)
        self.cache.keep(scope, tree, agent_key(scope, self.agent), made)
        return [made]

    def _begin_again(self, scope: Scope, tree: TreeState) -> dict[str, Any]:
        """Another process took this one for dead and closed the call. What came is kept all the same."""
        parent = scope.node(tree, self.sources[0].node)
        row = new_attempt(
            scope,
            tree,
            agent=agent_key(scope, self.agent),
            parent=parent.key,
            idempotency_key=self.idempotency_key,
        )
        save_manifest(scope.transaction, tree.key, row["key"], self.manifest)
        return row

    def _write_nodes(
        self, scope: Scope, tree: TreeState, parent: NodeRow, row: Mapping[str, Any]
    ) -> Sequence[tuple[Node, NodeRow]]:
        if not parent.live:
            gone = "undone" if parent.hidden is not None else "pruned"
            raise ConflictError(
                f"[{parent.local_id}] was {gone} while its continuation was written",
                hint="the answer is kept with its attempt; bring the node back and ask again",
            )
        _require_place(scope, tree, parent, self.lease)
        response = None if self.response is None else replace(self.response, attempt=row["ulid"])
        first, *others = self.sources
        sources = [
            (parent, first.role),
            *((scope.node(tree, each.node), each.role) for each in others),
        ]
        agent = agent_key(scope, self.agent)
        return [
            write_node(
                scope,
                tree,
                Draft(
                    content=each.content,
                    sources=sources,
                    edge_type=each.edge,
                    status=each.status,
                    response=response,
                    choice=each.choice,
                    author=agent,
                    citations=find_citations(spoken_text(each.content), self.catalog),
                ),
            )
            for each in self.continuations
        ]

    def _record(
        self,
        scope: Scope,
        tree: TreeState,
        parent: NodeRow,
        nodes: Sequence[tuple[Node, NodeRow]],
        attempts: Sequence[str],
    ) -> None:
        if not nodes:
            scope.record(tree, "attempt", {"attempts": list(attempts), "parent": parent.ulid}, {})
            return
        made: list[JsonValue] = [node.id for node, _ in nodes]
        inverse: dict[str, JsonValue] = {"hide": made}
        stood = undo_cursor(scope, tree)
        if self.moves and stood == self.cursor and self.continuations[0].edge is EdgeType.CONTINUATION:
            inverse["cursor"] = stood
            move_cursor(scope, tree, nodes[0][1].key)
        payload: dict[str, JsonValue] = {"nodes": made, "parent": parent.ulid, "attempts": list(attempts)}
        run = self.generation or (None if self.lease is None else self.lease[0])
        if run is not None:
            payload["run"] = run
        scope.record(tree, self.verb, payload, inverse)


def _require_place(scope: Scope, tree: TreeState, parent: NodeRow, lease: tuple[str, int] | None) -> None:
    """The lease by its token, now; one that ran out and was not taken is as good."""
    held = lease_at(scope.transaction, tree.key, parent.position, scope.now)
    if held is None or scope.is_own(held):
        return
    if lease is None or (held.run, held.token) != lease:
        raise lease_taken(scope.transaction, held)
    scope.require_lease(tree, parent.position, *lease)
