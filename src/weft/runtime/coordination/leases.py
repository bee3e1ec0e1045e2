"""Leases: one run at a time extends a position; every other place is free.

A lease is held by a run and expires unless it is renewed. Its token goes up with every new holder and
is checked in the transaction that writes, so that a holder that slept too long is refused. Generations,
collaborations and `Leases` all take, renew and release leases with the functions below.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeVar

from weft.errors import InvalidInputError
from weft.ids import is_ulid
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.node_values import heading_of
from weft.runtime.operations.nodes import Append
from weft.runtime.operations.permissions import Actor, agent_row, require_permission, tree_for
from weft.runtime.operations.scope import Scope
from weft.store.leases import LeaseRow, drop_lease, lease_at, lease_taken, put_lease, sweep_leases
from weft.store.rows import TreeState
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.store.tree_queries import find_node, node_row
from weft.tree.agent import Permission
from weft.tree.json_names import from_microseconds, to_microseconds
from weft.tree.node import Node

T = TypeVar("T")
LEASE_SECONDS = 30.0
_LONGEST = 3_600.0


def take_lease(transaction: Transaction, tree: TreeState, wanted: LeaseRow, now: int) -> LeaseRow:
    """Return the lease on a position: `wanted`'s run's, taken or prolonged, unless another run holds it.

    A new holder gets a new token; the token in `wanted` is ignored. The caller compares the run.
    """
    sweep_leases(transaction, tree, now)
    held = None if tree.leased_until is None else lease_at(transaction, tree.key, wanted.position, now)
    if held is not None and held.run != wanted.run:
        return held
    if held is None:
        lease = wanted._replace(token=transaction.take_key(tree))
    else:
        # A call inside a run prolongs the run's lease; the run's agent stays its holder.
        lease = held._replace(expires_at=max(held.expires_at, wanted.expires_at))
    put_lease(transaction, tree, lease)
    return lease


def renew_lease(transaction: Transaction, tree: TreeState, lease: LeaseRow, now: int, until: int) -> bool:
    """Prolong a lease that this holder still has; one that expired is not taken again."""
    if not _is_held(transaction, tree, lease.position, now, (lease.run, lease.token)):
        return False
    put_lease(transaction, tree, lease._replace(expires_at=until))
    return True


def release_lease(
    transaction: Transaction, tree: TreeState, position: int, now: int, *, run: str, token: int | None = None
) -> bool:
    """Give up a run's lease, by its token if one is given; False if the run does not hold it."""
    if not _is_held(transaction, tree, position, now, (run, token)):
        return False
    drop_lease(transaction, tree, position)
    return True


def _is_held(
    transaction: Transaction, tree: TreeState, position: int, now: int, by: tuple[str, int | None]
) -> bool:
    run, token = by
    held = lease_at(transaction, tree.key, position, now)
    return held is not None and held.run == run and token in {None, held.token}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right of one run to extend one position, until it expires."""

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


class Extend(Editing, verb="append"):
    """Append where a lease is held, and follow: the lease moves on to the new node.

    Without `follows` it stays, for the siblings of a comparison. A lease that expired, or that another
    run has by now, is refused, and nothing is written.
    """

    lease: Lease
    append: Append
    follows: bool = True

    def apply(self, scope: Scope) -> Extended:
        lease = self.lease
        tree = scope.open_tree(lease.tree_id)
        at = scope.node(tree, lease.node_id)
        scope.require_lease(tree, at.position, lease.run, lease.token)
        node = self.append.apply(scope)
        row = scope.node(tree, node.id) if node.tree_id == tree.ulid else None
        if row is None or row.parent != at.position:
            raise InvalidInputError(
                f"the lease is on [{at.local_id}], and this would be written elsewhere",
                hint="append to the node that the lease is on",
            )
        if not self.follows:
            return Extended(node, lease)
        release_lease(scope.transaction, tree, at.position, scope.now, run=lease.run, token=lease.token)
        return Extended(node, _take(scope, tree, row.position, lease.run, to_microseconds(lease.expires_at)))


def _take(scope: Scope, tree: TreeState, position: int, run: str, until: int) -> Lease:
    wanted = LeaseRow(tree.key, position, run, scope.actor.agent, 0, until)
    row = take_lease(scope.transaction, tree, wanted, scope.now)
    if row.run != run:
        raise lease_taken(scope.transaction, row)
    return _lease(scope.transaction, tree.ulid, row)


def _lease(session: Session, tree: str, row: LeaseRow) -> Lease:
    return Lease(
        tree_id=tree,
        node_id=node_row(session, row.tree, row.position).ulid,
        run=row.run,
        agent_id=agent_row(session, row.agent).ulid,
        token=row.token,
        expires_at=from_microseconds(row.expires_at),
    )


@dataclass(frozen=True, slots=True)
class Leases:
    """Taking leases, for one agent."""

    executor: Executor
    actor: Actor

    def acquire(
        self, tree: str, node: str, *, run: str | None = None, seconds: float = LEASE_SECONDS
    ) -> Lease:
        """Take the position of a node for a run (a new one, if none is named).

        A run that has it already gets it again, for longer: the siblings of one comparison are one
        run. If another run has it: a conflict that says who and until when.
        """
        length = _microseconds(seconds)
        if run is not None and not is_ulid(run):
            raise InvalidInputError("a run is named by a ULID", hint="omit it to begin a new one")

        def work(scope: Scope, state: TreeState) -> Lease:
            row = scope.live_node(state, node, "extend")
            return _take(scope, state, row.position, run or scope.new_ulid(), scope.now + length)

        return self._write(tree, work)

    def renew(self, lease: Lease, *, seconds: float = LEASE_SECONDS) -> Lease:
        """Prolong it, from now; a conflict if it has expired or passed on."""
        length = _microseconds(seconds)

        def work(scope: Scope, state: TreeState) -> Lease:
            row = scope.node(state, lease.node_id)
            scope.require_lease(state, row.position, lease.run, lease.token)
            return _take(scope, state, row.position, lease.run, scope.now + length)

        return self._write(lease.tree_id, work)

    def release(self, lease: Lease) -> bool:
        """Give it up; False if it was not this run's any more, and then nothing changes."""

        def work(scope: Scope, state: TreeState) -> bool:
            position = scope.node(state, lease.node_id).position
            return release_lease(
                scope.transaction, state, position, scope.now, run=lease.run, token=lease.token
            )

        return self._write(lease.tree_id, work)

    def holder(self, tree: str, node: str) -> Lease | None:
        """The lease on a node's position now."""
        with self.executor.store.read() as session:
            require_permission(session, self.actor, Permission.LOOM_AWARE, "look")
            key = tree_for(session, self.actor, tree)
            held = lease_at(session, key, find_node(session, key, node).position, self.executor.clock())
            return None if held is None else _lease(session, heading_of(session, key).ulid, held)

    def _write(self, tree: str, work: Callable[[Scope, TreeState], T]) -> T:
        """Bookkeeping, not an operation: checked like one, in one transaction, without an event."""
        executor = self.executor

        def run(transaction: Transaction) -> T:
            require_permission(transaction, self.actor, Extend.permission, "extend")
            scope = executor.scope(transaction, self.actor, Extend.access)
            return work(scope, scope.open_tree(tree))

        return executor.store.write(run)


def _microseconds(seconds: float) -> int:
    if not 0 < seconds <= _LONGEST:
        raise InvalidInputError(
            f"a lease of {seconds:g} seconds makes no sense", hint=f"more than 0, at most {_LONGEST:g}"
        )
    return round(seconds * 1_000_000)
