"""Writing down what is going to be asked, before anybody is."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from weft.errors import PermissionDeniedError
from weft.provenance.fingerprints import attempt_fingerprint
from weft.runtime.generating.attempts import Generating, agent_key, new_attempt
from weft.runtime.generating.caps import Spender, require_room
from weft.runtime.operations.nodes import source_row
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.bodies import save_manifest
from weft.store.calls import CallRow
from weft.store.leases import LeaseRow, lease_at, put_lease, sweep_leases
from weft.store.rows import NodeRow, TreeState
from weft.store.spending import add_expected
from weft.tree.edge import Source, SourceRole
from weft.tree.json import JsonValue

__all__ = ["BeginCalls", "Begun", "CallPlan"]


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
    generation: str = ""
    """What its continuations have in common: the run, or an id of their own where that holds more than them."""
    is_borrowed: bool = False
    """Whether the run that asks held the lease before, and holds it afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginCalls(Generating):
    """Write down, before anybody is asked, what is going to be asked; take the lease; keep within the caps."""

    tree: str
    parent: str
    sources: Sequence[Source]
    calls: Sequence[CallPlan]
    holder: str
    held_for: int
    """Microseconds."""
    idempotency_key: str | None = None
    chain: Sequence[str] = ()
    """Ids of the agents that led here, one through another."""

    def apply(self, scope: Scope) -> Begun:
        tree = scope.open_tree(self.tree)
        self._refuse_circles(scope)
        parent = source_row(scope, tree, self.parent, "generate from")
        for source in self.sources:
            source_row(scope, tree, source.node, "use")
        lease, is_borrowed = self._take(scope, tree, parent)
        self._require_room(scope, tree)
        begun = [self._begin(scope, tree, parent, lease, call) for call in self.calls]
        told: dict[str, JsonValue] = {"attempts": [ulid for _, ulid in begun], "parent": parent.ulid}
        if self.chain:
            told["chain"] = list(self.chain)
        scope.record(tree, "attempt", told, {})
        return Begun(
            tree=tree.key,
            position=lease.position,
            run=lease.run,
            token=lease.token,
            attempts=tuple(begun),
            generation=lease.run if scope.actor.run is None else scope.new_ulid(),
            is_borrowed=is_borrowed,
        )

    def _refuse_circles(self, scope: Scope) -> None:
        """Nobody is asked who led here: an agent would invoke itself, directly or through others."""
        for call in self.calls:
            if call.agent in self.chain:
                name = scope.transaction.agent(agent_key(scope, call.agent)).name
                raise PermissionDeniedError(
                    f"{name!r} led here and cannot be invoked again", hint="let another agent continue"
                )

    def _take(self, scope: Scope, tree: TreeState, parent: NodeRow) -> tuple[LeaseRow, bool]:
        """One generator at a time extends a position; the siblings of a comparison are one run.

        A run that holds it already goes on holding it.
        """
        transaction = scope.transaction
        sweep_leases(transaction, tree, scope.now)
        held = lease_at(transaction, tree.key, parent.position, scope.now)
        if held is not None:
            if not scope.is_own(held):
                raise scope.lease_taken(held)
            return held, True
        run, token = scope.actor.run or scope.new_ulid(), transaction.take_key(tree)
        until = scope.now + self.held_for
        row = LeaseRow(tree.key, parent.position, run, scope.actor.agent, token, until)
        put_lease(transaction, tree, row)
        return row, False

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
            row = scope.transaction.agent(agent_key(scope, agent))
            spender = Spender(
                tree=tree.key, tree_id=tree.ulid, agent=row.key, agent_id=row.ulid, agent_name=row.name
            )
            require_room(scope.transaction, spender, now=scope.now, more=whole, mine=mine)

    def _begin(
        self, scope: Scope, tree: TreeState, parent: NodeRow, lease: LeaseRow, call: CallPlan
    ) -> tuple[int, str]:
        transaction = scope.transaction
        row = new_attempt(scope, tree, parent, call.agent, self.idempotency_key)
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
        scope.add_fingerprint(attempt_fingerprint(row, call.agent, parent.ulid, None, manifest))
        return key, ulid
