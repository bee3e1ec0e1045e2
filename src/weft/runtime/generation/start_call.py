"""Start calls: attempts, lease, manifests, envelopes and expected cost in one transaction."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from weft.errors import PermissionDeniedError
from weft.provenance.fingerprints import attempt_fingerprint
from weft.providers.base import ModelProfile, Provider, Request
from weft.runtime.coordination.heartbeat import this_process
from weft.runtime.coordination.leases import take_lease
from weft.runtime.generation.spending import Spender, require_room
from weft.runtime.operations.attempts import agent_key, new_attempt, note_attempt, put_request, update_attempt
from weft.runtime.operations.due_summaries import queue_missing
from weft.runtime.operations.executor import Editing, Operation
from weft.runtime.operations.nodes import source_row
from weft.runtime.operations.raw_responses import Answer, add_response
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.leases import LeaseRow, lease_taken
from weft.store.model_calls import MICROS, CallRow, add_expected
from weft.store.request_records import save_manifest
from weft.store.rows import OUTCOMES, NodeRow, TreeState
from weft.store.run_records import RunAttemptRow, add_attempt, begin_record
from weft.tree.agent import Agent, Permission
from weft.tree.attempt import AttemptOutcome, RawResponse
from weft.tree.citation import CitedSource
from weft.tree.edge import Source, SourceRole
from weft.tree.json import JsonValue
from weft.tree.run import RunKind


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCall:
    """A call that is over: what was sent, what came, and why it failed, if it did."""

    segments: Sequence[bytes]
    response: RawResponse | None
    error: str | None = None


CATALOG = "sources"
"""In the stored account of a request: what its answer may cite."""
HOLD_SECONDS = 30.0
"""How long a call counts as under way without a sign of life."""
HELD = round(HOLD_SECONDS * MICROS)


class Generating(Editing):
    verb: ClassVar[str] = "generate"
    permission: ClassVar[Permission] = Permission.LOOM_GENERATE


def save_ended_call(
    scope: Scope, tree: TreeState, parent: NodeRow, agent: str, call: EndedCall, *, manifest: bytes
) -> str:
    """Keep a call that brought no node: it is evidence like any other. Returns its id."""
    row = new_attempt(scope, tree, agent=agent_key(scope, agent), parent=parent.key)
    save_manifest(scope.transaction, tree.key, row["key"], manifest)
    put_request(scope, tree, row, call.segments)
    outcome = AttemptOutcome.COMPLETE if call.error is None else AttemptOutcome.FAILED
    end_attempt(scope, tree, row, outcome, error=call.error, response=call.response)
    return row["ulid"]


def end_attempt(
    scope: Scope,
    tree: TreeState,
    row: dict[str, Any],
    outcome: AttemptOutcome,
    *,
    error: str | None,
    response: RawResponse | None,
) -> None:
    """Write down how a call ended; `response` is what came, where no node holds it."""
    key = row["response"]
    if response is not None:
        digest = hashlib.sha256(response.body).digest()
        key = add_response(scope, tree, Answer(response, digest, 0))["key"]
    number = OUTCOMES.index(outcome)
    update_attempt(scope, row, response=key, outcome=number, error=error, ended_at=scope.now)
    note_attempt(scope, tree, row)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """One request, ready to be made."""

    slots: tuple[int, ...]
    """The continuation that each of its choices is."""
    agent: Agent
    provider: Provider
    profile: ModelProfile
    request: Request
    manifest: bytes
    expected: int = 0
    """Millionths of a dollar."""
    envelope: Callable[[str], Operation[object]] | None = None
    """Saves the request in layers under the attempt's id, in the same transaction."""
    catalog: tuple[CitedSource, ...] = ()
    """The sources that the answer may cite."""
    unsummarised: tuple[str, ...] = ()
    """Ids of the nodes that it shows as extracts."""
    reads_calls: bool = False
    """Whether the model calls its tools in words."""
    key: int = 0
    attempt: str = ""

    @property
    def model(self) -> str:
        return f"{self.provider.name}:{self.request.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedCalls:
    """Calls that are written down as under way, and the lease that they are made under."""

    tree: int
    lease: LeaseRow
    attempts: tuple[tuple[int, str], ...]
    """Key and id of each."""
    generation: str = ""
    """What its continuations have in common: the run, or an id of their own where that holds more than them."""
    is_borrowed: bool = False
    """Whether the run that asks held the lease before, and holds it afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartCalls(Generating):
    """Write down, before anybody is asked, what is going to be asked; take the lease; keep within the caps."""

    tree: str
    parent: str
    sources: Sequence[Source]
    calls: Sequence[PlannedCall]
    idempotency_key: str | None = None
    chain: Sequence[str] = ()
    """Ids of the agents that led here, one through another."""

    def apply(self, scope: Scope) -> StartedCalls:
        tree = scope.open_tree(self.tree)
        self._refuse_circles()
        parent = source_row(scope, tree, self.parent, "generate from")
        for source in self.sources:
            source_row(scope, tree, source.node, "use")
        lease, is_borrowed = self._take(scope, tree, parent)
        self._require_room(scope, tree)
        begin_record(
            scope.transaction,
            tree=tree.key,
            run=lease.run,
            kind=RunKind.GENERATION,
            node=parent.key,
            asker=scope.actor.agent,
            now=scope.now,
        )
        begun = [self._begin(scope, tree, parent, lease, call) for call in self.calls]
        payload: dict[str, JsonValue] = {"attempts": [ulid for _, ulid in begun], "parent": parent.ulid}
        if self.chain:
            payload["chain"] = list(self.chain)
        scope.record(tree, "attempt", payload, {})
        extracts = dict.fromkeys(node for call in self.calls for node in call.unsummarised)
        queue_missing(scope.transaction, tree.key, list(extracts), now=scope.now)
        for call, (_, ulid) in zip(self.calls, begun, strict=True):
            if call.envelope is not None:
                call.envelope(ulid).apply(scope)
        return StartedCalls(
            tree=tree.key,
            lease=lease,
            attempts=tuple(begun),
            generation=lease.run if scope.actor.run is None else scope.new_ulid(),
            is_borrowed=is_borrowed,
        )

    def _refuse_circles(self) -> None:
        """An agent that led here would invoke itself, directly or through others."""
        for call in self.calls:
            if call.agent.id in self.chain:
                raise PermissionDeniedError(
                    f"{call.agent.name!r} is already in this chain of calls and cannot be invoked again",
                    hint="let another agent continue",
                )

    def _take(self, scope: Scope, tree: TreeState, parent: NodeRow) -> tuple[LeaseRow, bool]:
        """One generator at a time extends a position; the siblings of a comparison are one run.

        A run that holds it already goes on holding it.
        """
        run, until = scope.actor.run or scope.new_ulid(), scope.now + HELD
        new_token = tree.next_key
        wanted = LeaseRow(tree.key, parent.position, run, scope.actor.agent, 0, until)
        lease = take_lease(scope.transaction, tree, wanted, scope.now)
        if lease.run != run:
            raise lease_taken(scope.transaction, lease)
        return lease, lease.token != new_token

    def _require_room(self, scope: Scope, tree: TreeState) -> None:
        more: dict[str, int] = {}
        for call in self.calls:
            more[call.agent.id] = more.get(call.agent.id, 0) + call.expected
        if not any(more.values()):
            return
        # Under the grove's lock: two at once could each find room for one.
        scope.transaction.grove_state()
        whole = sum(more.values())
        for agent, mine in more.items():
            if not mine:
                continue
            row = scope.transaction.agent(agent_key(scope, agent))
            spender = Spender.of(tree.key, tree.ulid, row)
            require_room(scope.transaction, spender, now=scope.now, more=whole, mine=mine)

    def _begin(
        self, scope: Scope, tree: TreeState, parent: NodeRow, lease: LeaseRow, call: PlannedCall
    ) -> tuple[int, str]:
        transaction = scope.transaction
        row = new_attempt(
            scope,
            tree,
            agent=agent_key(scope, call.agent.id),
            parent=parent.key,
            idempotency_key=self.idempotency_key,
        )
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
            call.provider.name,
            call.request.model,
            lease.run,
            lease.token,
            this_process(),
            scope.now + HELD,
        )
        transaction.add(schema.calls, under_way._asdict())
        add_attempt(transaction, RunAttemptRow(tree.key, key, lease.run, ulid, call.model, len(call.slots)))
        if call.expected:
            add_expected(
                transaction,
                attempt=ulid,
                tree=tree.key,
                agent=row["agent"],
                moment=scope.now,
                micros=call.expected,
            )
        scope.add_fingerprint(attempt_fingerprint(row, call.agent.id, parent.ulid, None, manifest))
        return key, ulid
