"""Write the answer to a recorded request: its node, its bytes, what it cost; and the keys that find it again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.interop.loose_json import first_text, loads, mapping
from weft.runtime.generation.start_call import end_attempt
from weft.runtime.operations.attempts import attempt_row
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.scope import Scope
from weft.runtime.proxy.client_signs import Purpose
from weft.runtime.proxy.exchange import Exchange, RequestFacts, outcome_of
from weft.runtime.proxy.history import HistoryPart, chain_of
from weft.runtime.proxy.parent_search import (
    Link,
    before_key,
    item_key,
    partial_key,
    reply_key,
    response_key,
)
from weft.runtime.proxy.replies import Reply
from weft.runtime.proxy.turn_nodes import content_of, storable
from weft.store.model_calls import add_expected, settle
from weft.store.proxy_rows import add_key, change_request, change_session_by_key, live_keys
from weft.store.rows import Flag, NodeRow, TreeState
from weft.store.transaction import Transaction
from weft.tree.attempt import AttemptOutcome
from weft.tree.edge import SourceRole
from weft.tree.json import JsonValue
from weft.tree.node import Status

_TITLE_LIMIT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedExchange:
    """A request that is written down: where its answer belongs."""

    tree: str
    session: int
    request: int
    node: str
    """The node that the request ended with."""
    chain: bytes
    """The hash of the history up to there."""
    agent: int
    link: Link
    purpose: Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a call may cost and what it did, in millionths of a dollar."""

    expected: int = 0
    spent: int | None = None
    is_reserved: bool = False
    """Whether what was expected is written down already."""


NO_COST = Cost()


@dataclass(slots=True)
class AnswerWriter:
    """One answer while it is written."""

    scope: Scope
    exchange: Exchange
    started: StartedExchange

    def write(self, cost: Cost) -> str | None:
        """Returns the id of the answer's first node; None if it has none."""
        exchange, scope = self.exchange, self.scope
        reply = exchange.reply()
        tree = scope.open_tree(self.started.tree, archived=True)
        parent = scope.node(tree, self.started.node)
        outcome = outcome_of(exchange, reply)
        rows: list[NodeRow] = []
        if not self.started.purpose.is_side and outcome is not AttemptOutcome.FAILED:
            rows = self._write_choices(tree, parent, reply, outcome)
        attempt = attempt_row(scope, tree, exchange.attempt)
        if attempt is None:
            raise RuntimeError("an answer to a call that was not written down")
        error = exchange.error or reply.error
        end_attempt(
            scope,
            tree,
            attempt,
            outcome,
            error=storable(error) or None,
            response=None if attempt["response"] is not None else exchange.response(reply),
        )
        self._spend(tree, cost)
        nodes: list[JsonValue] = [row.ulid for row in rows]
        payload: dict[str, JsonValue] = {"attempts": [exchange.attempt], "parent": parent.ulid}
        if nodes:
            scope.record(tree, "generate", {**payload, "nodes": nodes}, {"hide": nodes})
        else:
            scope.record(tree, "attempt", payload, {})
        self._update(reply, rows, error)
        return rows[0].ulid if rows else None

    def _write_choices(
        self, tree: TreeState, parent: NodeRow, reply: Reply, outcome: AttemptOutcome
    ) -> list[NodeRow]:
        """A node for each choice that says something, with the keys that find it again."""
        transaction, token, chain = self.scope.transaction, self.exchange.token, self.started.chain
        history = RequestFacts.of(self.exchange.wire, self.exchange.request).history
        before = before_key(history, len(history))
        status = Status.COMPLETE if outcome is AttemptOutcome.COMPLETE else Status.INTERRUPTED
        rows: list[NodeRow] = []
        for choice, parts in enumerate(reply.choices):
            if not any(part.content is not None for part in parts):
                continue
            end = chain_of(parts, chain)[-1]
            row = self._known(end, parent) if status is Status.COMPLETE and end != chain else None
            if row is None:
                row = self._write_choice(tree, parent, reply, choice, status)
                if end != chain:
                    add_key(transaction, token, end, row)
                if status is Status.INTERRUPTED:
                    add_key(transaction, token, partial_key(chain), row)
            add_reply_keys(transaction, token, row, parts, before, is_answer=True)
            if reply.id:
                add_key(transaction, token, response_key(reply.id), row, end)
            rows.append(row)
        return rows

    def _write_choice(
        self, tree: TreeState, parent: NodeRow, reply: Reply, choice: int, status: Status
    ) -> NodeRow:
        draft = Draft(
            content=content_of(self.scope.blobs, reply.choices[choice]),
            sources=((parent, SourceRole.PRIMARY),),
            status=status,
            response=self.exchange.response(reply),
            choice=choice,
            author=self.started.agent,
        )
        return write_node(self.scope, tree, draft).row

    def _known(self, end: bytes, parent: NodeRow) -> NodeRow | None:
        """The same reply as a later request brought it, which another process recorded first."""
        transaction = self.scope.transaction
        for row in live_keys(transaction, self.exchange.token, [end]):
            if row.tree == parent.tree:
                node = transaction.node(row.tree, row.node)
                if node.parent == parent.position and not node.flags & Flag.HAS_RESPONSE:
                    return node
        return None

    def _spend(self, tree: TreeState, cost: Cost) -> None:
        transaction, attempt = self.scope.transaction, self.exchange.attempt
        if not cost.is_reserved and (cost.spent or cost.expected):
            add_expected(
                transaction,
                attempt=attempt,
                tree=tree.key,
                agent=self.started.agent,
                moment=self.scope.now,
                micros=cost.expected,
            )
        if cost.is_reserved or cost.spent or cost.expected:
            settle(transaction, attempt, cost.spent)

    def _update(self, reply: Reply, rows: Sequence[NodeRow], error: str) -> None:
        """The request's row, and the session's: its last node, or the title that a side request brought."""
        exchange, transaction = self.exchange, self.scope.transaction
        change_request(
            transaction,
            self.started.request,
            reply=rows[0].key if rows else None,
            status=exchange.status,
            added=exchange.added,
            first_byte=exchange.first_byte,
            error=storable(error),
            prompt_tokens=reply.usage.prompt,
            cached_tokens=reply.usage.cached_read,
        )
        changes: dict[str, Any] = {}
        if self.started.purpose is Purpose.TURN and rows:
            changes["head"] = rows[0].key
        elif self.started.purpose is Purpose.TITLE and (title := title_in(reply)):
            changes["title"] = storable(title)[:_TITLE_LIMIT]
        if changes:
            change_session_by_key(transaction, self.started.session, **changes)


def add_reply_keys(
    transaction: Transaction,
    token: int,
    row: NodeRow,
    parts: Sequence[HistoryPart],
    before: bytes,
    *,
    is_answer: bool,
) -> None:
    """Keys by which a later request finds a reply: ids of calls; of a model's own answer its text and items too."""
    for part in parts:
        if part.key and (is_answer or part.call or part.is_compaction):
            add_key(transaction, token, reply_key(part), row, before)
        if part.item and part.key and is_answer:
            add_key(transaction, token, item_key(part.item), row, part.key)


def title_in(reply: Reply) -> str:
    """The title that a side request brought: the property of a JSON answer, or its first line."""
    text = reply.text.strip()
    if text.startswith("{"):
        return first_text(mapping(loads(text)), "title").strip()
    return next(iter(text.splitlines()), "").strip().strip('"')
