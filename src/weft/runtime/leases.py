"""Leases: one generator at a time extends a position; every other place is free.

A lease is held by a run and runs out unless it is renewed. Its token goes up with
every new holder and is checked in the transaction that writes, so that a holder who
slept too long is refused, whatever it believes.
"""

import contextlib
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, NamedTuple, TypeVar

from weft.errors import ConflictError, InvalidInputError
from weft.ids import is_ulid
from weft.runtime.heartbeat import Pulse, beating
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.node_values import heading_of
from weft.runtime.operations.nodes import Append
from weft.runtime.operations.permissions import Actor, agent_row, require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.store.leases import LeaseRow, drop_lease, lease_at, put_lease, sweep_leases
from weft.store.queries import find_node, node_row
from weft.store.references import find_tree
from weft.store.rows import NodeRow, TreeState
from weft.store.transaction import Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json_names import from_microseconds, to_microseconds
from weft.tree.node import Node

__all__ = ["LEASE_SECONDS", "Extend", "Extended", "HeldLease", "Lease", "Leases"]

T = TypeVar("T")
LEASE_SECONDS = 30.0
_LONGEST = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right of one run to extend one position, until it runs out."""

    tree_id: str
    node_id: str
    """The first node at the position."""
    run: str
    agent_id: str
    token: int
    expires_at: datetime


class Extended(NamedTuple):
    """A node written under a lease, and the lease as it is afterwards."""

    node: Node
    lease: Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Extend(Editing):
    """Append where a lease is held, and follow: the lease moves on to the new node.

    Without `follows` it stays, for the siblings of a comparison. A lease that ran out,
    or that another run has by now, is refused, and nothing is written.
    """

    verb: ClassVar[str] = "append"
    lease: Lease
    append: Append
    follows: bool = True

    def apply(self, scope: Scope) -> Extended:
        tree = scope.open_tree(self.lease.tree_id)
        at = _require(scope, tree, self.lease)
        node = self.append.apply(scope)
        row = scope.node(tree, node.id) if node.tree_id == tree.ulid else None
        if row is None or row.parent != at.position:
            raise InvalidInputError(
                f"the lease is on [{at.local_id}], and this would be written elsewhere",
                hint="append to the node that the lease is on",
            )
        return Extended(node, _advance(scope, tree, at, row, self.lease) if self.follows else self.lease)


def _require(scope: Scope, tree: TreeState, lease: Lease) -> NodeRow:
    """The first node at the leased position; a conflict unless the lease still holds."""
    row = scope.node(tree, lease.node_id)
    scope.require_lease(tree, row.position, lease.run, lease.token)
    return row


def _advance(scope: Scope, tree: TreeState, before: NodeRow, to: NodeRow, lease: Lease) -> Lease:
    """A new token too: somebody may have held that position in between."""
    drop_lease(scope.transaction, tree, before.position)
    token = scope.transaction.take_key(tree)
    until = to_microseconds(lease.expires_at)
    return _put(scope, tree, LeaseRow(tree.key, to.position, lease.run, scope.actor.agent, token, until))


def _put(scope: Scope, tree: TreeState, row: LeaseRow) -> Lease:
    put_lease(scope.transaction, tree, row)
    return _lease(scope, tree, row)


def _lease(scope: Scope, tree: TreeState, row: LeaseRow) -> Lease:
    return Lease(
        tree_id=tree.ulid,
        node_id=scope.transaction.node(tree.key, row.position).ulid,
        run=row.run,
        agent_id=scope.transaction.agent(row.agent).ulid,
        token=row.token,
        expires_at=from_microseconds(row.expires_at),
    )


@dataclass(frozen=True, slots=True)
class Leases:
    """Taking leases, for one agent."""

    gate: Executor
    actor: Actor

    def acquire(
        self, tree: str, node: str, *, run: str | None = None, seconds: float = LEASE_SECONDS
    ) -> Lease:
        """Take the position of a node for a run (a new one, if none is named).

        A run that has it already gets it again, for longer: the siblings of one
        comparison are one run. If another run has it: a conflict that says who and until when.
        """
        length = _microseconds(seconds)
        if run is not None and not is_ulid(run):
            raise InvalidInputError("a run is named by a ULID", hint="leave it away to begin a new one")

        def work(scope: Scope, state: TreeState) -> Lease:
            row = scope.live_node(state, node, "extend")
            holder = run or scope.new_ulid()
            sweep_leases(scope.transaction, state, scope.now)
            held = lease_at(scope.transaction, state.key, row.position, scope.now)
            if held is not None and held.run != holder:
                raise scope.lease_taken(held)
            token = scope.transaction.take_key(state) if held is None else held.token
            agent, until = self.actor.agent, scope.now + length
            return _put(scope, state, LeaseRow(state.key, row.position, holder, agent, token, until))

        return self._write(tree, work)

    def renew(self, lease: Lease, *, seconds: float = LEASE_SECONDS) -> Lease:
        """Keep it for longer, from now; a conflict if it has run out or passed on."""
        length = _microseconds(seconds)

        def work(scope: Scope, state: TreeState) -> Lease:
            at = _require(scope, state, lease)
            agent, until = self.actor.agent, scope.now + length
            return _put(scope, state, LeaseRow(state.key, at.position, lease.run, agent, lease.token, until))

        return self._write(lease.tree_id, work)

    def release(self, lease: Lease) -> bool:
        """Let it go; False if it was not this run's any more, and then nothing changes."""

        def work(scope: Scope, state: TreeState) -> bool:
            row = scope.node(state, lease.node_id)
            held = lease_at(scope.transaction, state.key, row.position, scope.now)
            if held is None or (held.run, held.token) != (lease.run, lease.token):
                return False
            drop_lease(scope.transaction, state, row.position)
            return True

        return self._write(lease.tree_id, work)

    def holder(self, tree: str, node: str) -> Lease | None:
        """Who extends a node's position now."""
        with self.gate.store.read() as session:
            require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
            key = find_tree(session, tree)
            require_access(session, self.actor, MemberRole.READER, key)
            position = find_node(session, key, node).position
            held = lease_at(session, key, position, self.gate.clock())
            if held is None:
                return None
            return Lease(
                tree_id=heading_of(session, key).ulid,
                node_id=node_row(session, key, position).ulid,
                run=held.run,
                agent_id=agent_row(session, held.agent).ulid,
                token=held.token,
                expires_at=from_microseconds(held.expires_at),
            )

    @contextlib.contextmanager
    def hold(
        self, tree: str, node: str, *, run: str | None = None, seconds: float = LEASE_SECONDS
    ) -> Generator["HeldLease"]:
        """Take it, renew it in the background, let it go at the end."""
        held = HeldLease(self, self.acquire(tree, node, run=run, seconds=seconds), seconds)
        try:
            with beating(held.renew, every=seconds / 3) as pulse:
                held.pulse = pulse
                yield held
        finally:
            self.release(held.lease)

    def _write(self, tree: str, work: Callable[[Scope, TreeState], T]) -> T:
        """Bookkeeping, not an operation: checked like one, in one transaction, without an event."""
        gate = self.gate

        def run(transaction: Transaction) -> T:
            require_permission(transaction, self.actor, Extend.permission, "extend")
            scope = Scope(
                transaction,
                self.actor,
                Extend.access,
                gate.clock,
                gate.entropy,
                gate.store.blobs,
                gate.accept_clock,
            )
            return work(scope, scope.open_tree(tree))

        return gate.store.write(run)


class HeldLease:
    """A lease that is being renewed; it follows what is written through it."""

    def __init__(self, leases: Leases, lease: Lease, seconds: float) -> None:
        self.lease = lease
        self.pulse = Pulse()
        self._leases = leases
        self._seconds = seconds
        # One at a time: a renewal must not use the lease that an append has just moved on.
        self._turn = threading.Lock()

    @property
    def is_lost(self) -> bool:
        """Whether there is any use in going on."""
        return self.pulse.is_lost

    def extend(self, append: Append, *, follows: bool = True) -> Node:
        """Write a node at the leased position, and move on to it."""
        with self._turn:
            operation = Extend(lease=self.lease, append=append, follows=follows)
            node, self.lease = self._leases.gate.perform(self._leases.actor, operation)
            return node

    def renew(self) -> bool:
        with self._turn:
            try:
                self.lease = self._leases.renew(self.lease, seconds=self._seconds)
            except ConflictError:
                return False
            return True


def _microseconds(seconds: float) -> int:
    if not 0 < seconds <= _LONGEST:
        raise InvalidInputError(
            f"a lease of {seconds:g} seconds makes no sense", hint=f"more than 0, at most {_LONGEST:g}"
        )
    return round(seconds * 1_000_000)
