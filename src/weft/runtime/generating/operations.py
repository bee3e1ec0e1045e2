"""What generating writes: calls that begin, what was sent, and how each ended, with its nodes."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import orjson
from sqlalchemy import select, update

from weft.errors import ConflictError, NotFoundError
from weft.provenance.facts import attempt_fact
from weft.runtime.answers import Answer, add_response
from weft.runtime.drafting import Draft, write_node
from weft.runtime.generating.caps import Spender, require_room
from weft.runtime.operations.base import Editing
from weft.runtime.operations.nodes import source_row
from weft.runtime.places import move_cursor, undo_cursor
from weft.runtime.scope import Scope
from weft.store import schema
from weft.store.bodies import save_manifest, save_segments
from weft.store.calls import CallRow, add_piece, drop_call
from weft.store.leases import LeaseRow, drop_lease, lease_at, put_lease, sweep_leases
from weft.store.rows import OUTCOMES, NodeRow, TreeState
from weft.store.spending import add_expected, settle
from weft.tree.agent import Permission
from weft.tree.attempt import Outcome, RawResponse
from weft.tree.content import Content, JsonValue
from weft.tree.edge import Source, SourceRole
from weft.tree.node import Node, Status

__all__ = [
    "BeginCalls",
    "Begun",
    "CallPlan",
    "FailedTry",
    "KeepRequest",
    "Piece",
    "Said",
    "SettleCall",
    "Settled",
]

_attempts = schema.attempts


class _Generating(Editing):
    verb: ClassVar[str] = "generate"
    permission: ClassVar[Permission] = Permission.LOOM_GENERATE


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """One request that is about to be made."""

    agent: str
    """The agent's id."""
    provider: str
    model: str
    manifest: bytes
    expected: int = 0
    """Millionths of a dollar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Calls that are written down as under way, and the lease that they are made under."""

    tree: int
    position: int
    run: str
    token: int
    attempts: tuple[tuple[int, str], ...]
    """Key and id of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginCalls(_Generating):
    """Write down, before anybody is asked, what is going to be asked; take the lease; keep within the caps."""

    tree: str
    parent: str
    sources: Sequence[Source]
    calls: Sequence[CallPlan]
    holder: str
    held_for: int
    """Microseconds."""
    idempotency_key: str | None = None

    def apply(self, scope: Scope) -> Begun:
        tree = scope.open_tree(self.tree)
        parent = source_row(scope, tree, self.parent, "generate from")
        for source in self.sources:
            source_row(scope, tree, source.node, "use")
        lease = self._take(scope, tree, parent)
        self._require_room(scope, tree)
        begun = [self._begin(scope, tree, parent, lease, call) for call in self.calls]
        scope.record(tree, "attempt", {"attempts": [ulid for _, ulid in begun], "parent": parent.ulid}, {})
        return Begun(
            tree=tree.key, position=lease.position, run=lease.run, token=lease.token, attempts=tuple(begun)
        )

    def _take(self, scope: Scope, tree: TreeState, parent: NodeRow) -> LeaseRow:
        """One generator at a time extends a position; the siblings of a comparison are one run."""
        transaction = scope.transaction
        sweep_leases(transaction, tree, scope.now)
        held = lease_at(transaction, tree.key, parent.position, scope.now)
        if held is not None:
            raise scope.lease_taken(held)
        run, token = scope.new_ulid(), transaction.take_key(tree)
        until = scope.now + self.held_for
        row = LeaseRow(tree.key, parent.position, run, scope.actor.agent, token, until)
        put_lease(transaction, tree, row)
        return row

    def _require_room(self, scope: Scope, tree: TreeState) -> None:
        more: dict[str, int] = {}
        for call in self.calls:
            more[call.agent] = more.get(call.agent, 0) + call.expected
        if not any(more.values()):
            return
        # Under the grove's lock: two at once could each find room for one.
        scope.transaction.grove_state()
        whole = sum(more.values())
        for agent, mine in more.items():
            if not mine:
                continue
            row = scope.transaction.agent(_agent_key(scope, agent))
            spender = Spender(
                tree=tree.key, tree_id=tree.ulid, agent=row.key, agent_id=row.ulid, agent_name=row.name
            )
            require_room(scope.transaction, spender, now=scope.now, more=whole, mine=mine)

    def _begin(
        self, scope: Scope, tree: TreeState, parent: NodeRow, lease: LeaseRow, call: CallPlan
    ) -> tuple[int, str]:
        transaction = scope.transaction
        row = _new_attempt(scope, tree, parent, call.agent, self.idempotency_key)
        key, ulid = row["key"], row["ulid"]
        manifest = save_manifest(transaction, tree.key, key, call.manifest)
        sources = [
            [parent.ulid, SourceRole.PRIMARY.value],
            *([each.node, each.role.value] for each in self.sources),
        ]
        under_way = CallRow(
            tree.key,
            key,
            scope.actor.agent,
            orjson.dumps(sources).decode(),
            call.provider,
            call.model,
            lease.run,
            lease.token,
            self.holder,
            scope.now + self.held_for,
        )
        transaction.add(schema.calls, under_way._asdict())
        if call.expected:
            add_expected(
                transaction,
                attempt=ulid,
                tree=tree.key,
                agent=row["agent"],
                moment=scope.now,
                micros=call.expected,
            )
        scope.note(attempt_fact(row, call.agent, parent.ulid, None, manifest))
        return key, ulid


def _new_attempt(
    scope: Scope, tree: TreeState, parent: NodeRow, agent: str, idempotency_key: str | None = None
) -> dict[str, Any]:
    """A call as it begins, in the database."""
    row: dict[str, Any] = {
        "tree": tree.key,
        "key": scope.transaction.take_key(tree),
        "ulid": scope.new_ulid(),
        "agent": _agent_key(scope, agent),
        "parent": parent.key,
        "outcome": OUTCOMES.index(Outcome.RUNNING),
        "idempotency_key": idempotency_key,
        "request": None,
        "response": None,
        "partial": None,
        "error": None,
        "started_at": scope.now,
        "ended_at": None,
    }
    scope.transaction.add(_attempts, row)
    return row


def _agent_key(scope: Scope, ulid: str) -> int:
    agents = schema.agents
    key = scope.transaction.cache.keys.get(ulid)
    if key is None:
        found = scope.transaction.execute(select(agents.c.key).where(agents.c.ulid == ulid)).scalar()
        if found is None:
            raise NotFoundError("the agent does not exist any more")
        key = scope.transaction.cache.keys[ulid] = int(found)
    return key


@dataclass(frozen=True, slots=True)
class Piece:
    """What came since the last one."""

    said: str
    wire: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepRequest(_Generating):
    """Keep what was sent, with the first of what came back."""

    tree: str
    attempt: str
    segments: Sequence[bytes]
    piece: Piece

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree, archived=True)
        row = _running(scope, tree, self.attempt)
        if row is None:
            return
        if row["request"] is None:
            _put_request(scope, tree, row, self.segments)
            _note(scope, tree, row)
            scope.record(tree, "attempt", {"attempt": self.attempt}, {})
        add_piece(scope.transaction, tree.key, row["key"], self.piece.said, self.piece.wire)


@dataclass(frozen=True, slots=True)
class Said:
    """One continuation, as far as it came."""

    choice: int
    content: Content
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTry:
    """A try before the last one, with what was said to it."""

    segments: Sequence[bytes]
    response: RawResponse | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a call came to."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleCall(_Generating):
    """End a call: its nodes, the response, the request and the outcome, all in one transaction."""

    tree: str
    attempt: str
    agent: str
    sources: Sequence[Source]
    """The parent first."""
    outcome: Outcome
    said: Sequence[Said] = ()
    segments: Sequence[bytes] | None = None
    response: RawResponse | None = None
    manifest: bytes = b"{}"
    error: str | None = None
    earlier: Sequence[FailedTry] = ()
    lease: tuple[str, int] | None = None
    """Run and token; None where nobody holds one any more."""
    releases: bool = False
    """Whether the run has ended by this, and the lease goes with it."""
    spent: int | None = None
    """Millionths of a dollar, if that is known."""
    moves: bool = False
    """Whether whoever asked goes on to the first of the nodes, if it still stands at `cursor`."""
    cursor: str | None = None
    idempotency_key: str | None = None
    only_if_running: bool = False
    """Whether somebody else may have ended it."""

    def apply(self, scope: Scope) -> Settled:
        tree = scope.open_tree(self.tree, archived=True)
        row = _running(scope, tree, self.attempt)
        if row is None:
            if self.only_if_running:
                raise ConflictError("the call has ended already")
            row = self._begin_again(scope, tree)
        parent = scope.transaction.node(tree.key, row["parent"])
        if self.segments is not None and row["request"] is None:
            _put_request(scope, tree, row, self.segments)
        nodes = self._write_nodes(scope, tree, parent, row) if self.said else ()
        row = _attempt(scope, tree, row["ulid"])
        if not self.said and self.response is not None:
            digest = hashlib.sha256(self.response.body).digest()
            row["response"] = add_response(scope, tree, Answer(self.response, digest, 0))["key"]
        row |= {"outcome": OUTCOMES.index(self.outcome), "error": self.error, "ended_at": scope.now}
        _update(scope, row, "response", "outcome", "error", "ended_at")
        _note(scope, tree, row)
        others = [self._keep_failed(scope, tree, parent, each) for each in self.earlier]
        drop_call(scope.transaction, tree.key, row["key"])
        settle(scope.transaction, self.attempt, self.spent)
        if self.releases and self.lease is not None:
            _release(scope, tree, parent, self.lease)
        self._record(scope, tree, parent, nodes, [row["ulid"], *others])
        return Settled(nodes=tuple(node for node, _ in nodes))

    def _begin_again(self, scope: Scope, tree: TreeState) -> dict[str, Any]:
        """Somebody took this process for dead and closed the call. What came is kept all the same."""
        parent = scope.node(tree, self.sources[0].node)
        row = _new_attempt(scope, tree, parent, self.agent, self.idempotency_key)
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
        agent = _agent_key(scope, self.agent)
        return [
            write_node(
                scope,
                tree,
                Draft(
                    content=each.content,
                    sources=sources,
                    status=each.status,
                    response=response,
                    choice=each.choice,
                    author=agent,
                ),
            )
            for each in self.said
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
        if self.moves and stood == self.cursor:
            inverse["cursor"] = stood
            move_cursor(scope, tree, nodes[0][1].key)
        scope.record(
            tree,
            self.verb,
            {"nodes": made, "parent": parent.ulid, "attempts": list(attempts)},
            inverse,
        )

    def _keep_failed(self, scope: Scope, tree: TreeState, parent: NodeRow, failed: FailedTry) -> str:
        """A try that was answered with an error is evidence like any other."""
        row = _new_attempt(scope, tree, parent, self.agent)
        _put_request(scope, tree, row, failed.segments)
        if failed.response is not None:
            digest = hashlib.sha256(failed.response.body).digest()
            row["response"] = add_response(scope, tree, Answer(failed.response, digest, 0))["key"]
        row |= {"outcome": OUTCOMES.index(Outcome.FAILED), "error": failed.error, "ended_at": scope.now}
        _update(scope, row, "response", "outcome", "error", "ended_at")
        _note(scope, tree, row)
        return row["ulid"]


def _require_place(scope: Scope, tree: TreeState, parent: NodeRow, lease: tuple[str, int] | None) -> None:
    """The lease by its token, now; one that ran out and that nobody took is as good."""
    held = lease_at(scope.transaction, tree.key, parent.position, scope.now)
    if held is None:
        return
    if lease is None or (held.run, held.token) != lease:
        raise scope.lease_taken(held)
    scope.require_lease(tree, parent.position, *lease)


def _release(scope: Scope, tree: TreeState, parent: NodeRow, lease: tuple[str, int]) -> None:
    held = lease_at(scope.transaction, tree.key, parent.position, scope.now)
    if held is not None and (held.run, held.token) == lease:
        drop_lease(scope.transaction, tree, parent.position)


def _attempt(scope: Scope, tree: TreeState, ulid: str) -> dict[str, Any]:
    here = _attempts.c.tree == tree.key, _attempts.c.ulid == ulid
    return {**scope.transaction.execute(select(_attempts).where(*here)).mappings().one()}


def _running(scope: Scope, tree: TreeState, ulid: str) -> dict[str, Any] | None:
    """The call's row, if it has not ended."""
    here = _attempts.c.tree == tree.key, _attempts.c.ulid == ulid
    found = scope.transaction.execute(select(_attempts).where(*here)).mappings().one_or_none()
    running = OUTCOMES.index(Outcome.RUNNING)
    return None if found is None or found["outcome"] != running else dict(found)


def _put_request(scope: Scope, tree: TreeState, row: dict[str, Any], segments: Sequence[bytes]) -> None:
    row["request"] = save_segments(scope.transaction, tree.key, row["key"], segments)
    _update(scope, row, "request")


def _update(scope: Scope, row: Mapping[str, Any], *names: str) -> None:
    here = _attempts.c.tree == row["tree"], _attempts.c.key == row["key"]
    values = {name: row[name] for name in names}
    scope.transaction.execute(update(_attempts).where(*here).values(**values))


def _note(scope: Scope, tree: TreeState, row: Mapping[str, Any]) -> None:
    """Vouch for the call as it is now."""
    transaction = scope.transaction
    manifests, responses = schema.manifests, schema.responses
    manifest = transaction.execute(
        select(manifests.c.sha256).where(manifests.c.tree == tree.key, manifests.c.attempt == row["key"])
    ).scalar_one_or_none()
    answered = None
    if row["response"] is not None:
        found = select(responses.c.sha256).where(
            responses.c.tree == tree.key, responses.c.key == row["response"]
        )
        answered = transaction.execute(found).scalar_one().hex()
    agent = transaction.agent(row["agent"]).ulid
    parent = transaction.node(tree.key, row["parent"]).ulid
    scope.note(attempt_fact(row, agent, parent, answered, manifest))
