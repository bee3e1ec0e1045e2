"""The progress of a run, written before it goes on: what another process needs to close it.

Bookkeeping, and no operations: the rows are gone when the run has ended.
"""

from dataclasses import dataclass, replace

import orjson
from sqlalchemy import Select, select

from weft.errors import ConflictError
from weft.runtime.coordination.heartbeat import this_process
from weft.runtime.coordination.leases import release_lease, take_lease
from weft.runtime.generation.start_call import HELD
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.nodes import source_row
from weft.runtime.operations.permissions import require_permission
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.cursors import touch_cursor
from weft.store.leases import LeaseRow, lease_taken
from weft.store.model_calls import RunRow, add_run, change_run, drop_run, run_row
from weft.store.rows import EDGE_TYPES, NodeRow, TreeState
from weft.store.run_records import begin_record, close_record
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.store.tree_queries import node_row
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.edge import EdgeType
from weft.tree.json_names import iso_moment
from weft.tree.run import RunKind, RunStatus

_CONTINUATION = EDGE_TYPES.index(EdgeType.CONTINUATION)


@dataclass(frozen=True, slots=True)
class Batch:
    """The commands of a turn, and how many of them are done; the next one may have been begun."""

    commands: tuple[str, ...] = ()
    done: int = 0

    def dumped(self) -> str:
        return orjson.dumps([self.done, list(self.commands)]).decode()

    @classmethod
    def loaded(cls, text: str) -> "Batch":
        done, commands = orjson.loads(text)
        return cls(tuple(commands), done)


def _scope(caller: Caller, transaction: Transaction) -> Scope:
    """The scope of an operation, for work that is none."""
    executor = caller.executor
    return Scope(
        transaction,
        caller.actor,
        MemberRole.EDITOR,
        executor.clock,
        executor.entropy,
        executor.store.blobs,
        executor.accept_clock,
    )


@dataclass(slots=True)
class RunLog:
    """One run, as it is written down."""

    caller: Caller
    """Who asked, with the run's leases."""
    row: RunRow
    head: NodeRow
    batch: Batch = Batch()

    @classmethod
    def begin(
        cls, caller: Caller, place: tuple[str, str], *, agent: int, run: str, runner: str | None = None
    ) -> "RunLog":
        """Lease the node that is going to be extended; a collaborator's cursor moves there."""
        (tree, node), actor = place, caller.actor

        def work(transaction: Transaction) -> tuple[RunRow, NodeRow]:
            scope = _scope(caller, transaction)
            require_permission(transaction, actor, Permission.LOOM_GENERATE, "generate")
            state = scope.open_tree(tree)
            start = source_row(scope, state, node, "answer")
            if runner is None:
                _refuse_twice(scope, state, agent)
            until = scope.now + HELD
            wanted = LeaseRow(state.key, start.position, run, agent, 0, until)
            lease = take_lease(transaction, state, wanted, scope.now)
            if lease.run != run:
                raise lease_taken(scope.transaction, lease)
            if runner is None:
                transaction.move_cursor(state.key, agent, start.key, scope.now)
            row = RunRow(
                tree=state.key,
                run=run,
                agent=agent,
                asker=actor.agent,
                start=start.key,
                head=start.key,
                holder=this_process(),
                held_until=until,
                turns=0,
                said="",
                batch=Batch().dumped(),
                attempt=None,
                started_at=scope.now,
                runner=runner,
            )
            add_run(transaction, row)
            begin_record(
                transaction,
                tree=state.key,
                run=run,
                kind=RunKind.COLLABORATION if runner is None else RunKind.ASK,
                node=start.key,
                asker=actor.agent,
                now=scope.now,
            )
            return row, start

        row, start = caller.store.write(work)
        return cls(Caller(caller.executor, replace(actor, run=run)), row, start)

    def keep_turn(
        self, transaction: Transaction, *, turns: int, said: str, batch: Batch, attempt: str | None
    ) -> None:
        """A turn has ended: what it said, and what it asks for. In the transaction that ends its call."""
        self.batch = batch
        values = {"turns": turns, "said": said, "batch": batch.dumped(), "attempt": attempt}
        if not change_run(transaction, self.row.tree, self.row.run, **values):
            raise _ended_elsewhere()
        self.row = self.row._replace(turns=turns, said=said, batch=batch.dumped(), attempt=attempt)

    def begin_command(self, number: int) -> None:
        """Everything before this one is done; this one is begun now, and never again."""
        self.keep_batch(replace(self.batch, done=number))

    def keep_batch(self, batch: Batch, said: str | None = None) -> None:
        """Write down how far the turn has come, before it goes on."""
        self.batch = batch
        values = {"batch": batch.dumped()} | ({} if said is None else {"said": said})

        def work(transaction: Transaction) -> None:
            if not change_run(transaction, self.row.tree, self.row.run, **values):
                raise _ended_elsewhere()

        self.caller.store.write(work)

    def follow(self) -> None:
        """Go on under what the agent itself wrote below the place since: the lease goes along."""
        with self.caller.store.read() as session:
            if session.execute(_written_below(self.row, self.head)).first() is None:
                return
        self.head = self.caller.store.write(self._advance)

    def _advance(self, transaction: Transaction) -> NodeRow:
        scope = _scope(self.caller, transaction)
        state = transaction.tree_state(self.row.tree)
        now, head = self.caller.executor.clock(), self.head
        transaction.flush()
        while (key := transaction.execute(_written_below(self.row, head)).scalar()) is not None:
            head = transaction.node(self.row.tree, key)
        if head.key == self.head.key:
            return head
        lease = take_lease(transaction, state, self._lease(head, now), now)
        if lease.run != self.row.run:
            raise lease_taken(scope.transaction, lease)
        release_lease(transaction, state, self.head.position, now, run=self.row.run)
        change_run(transaction, self.row.tree, self.row.run, head=head.key)
        return head

    def beat(self) -> bool:
        """Renew the run; False if another process closed it, or another run has its place."""
        return self.caller.store.write(self._beat)

    def _beat(self, transaction: Transaction) -> bool:
        now, tree = self.caller.executor.clock(), self.row.tree
        if not change_run(transaction, tree, self.row.run, held_until=now + HELD):
            return False
        # One that expired while this process slept is taken again, unless another took it.
        lease = take_lease(transaction, transaction.tree_state(tree), self._lease(self.head, now), now)
        if lease.run != self.row.run:
            return False
        touch_cursor(transaction, tree, self.row.agent, now)
        return True

    def _lease(self, head: NodeRow, now: int) -> LeaseRow:
        return LeaseRow(self.row.tree, head.position, self.row.run, self.row.agent, 0, now + HELD)

    def end(self) -> None:
        """It is over, and nothing is left to be said."""
        self.caller.store.write(
            lambda transaction: end_run(
                transaction,
                transaction.tree_state(self.row.tree),
                self.row.run,
                self.caller.executor.clock(),
            )
        )


def _refuse_twice(scope: Scope, tree: TreeState, agent: int) -> None:
    """An agent has one cursor and one memory in a tree: two runs at once would conflict."""
    runs = schema.runs
    here = (
        runs.c.tree == tree.key,
        runs.c.agent == agent,
        runs.c.held_until > scope.now,
        runs.c.runner.is_(None),
    )
    other = scope.transaction.execute(select(runs.c.head, runs.c.held_until).where(*here).limit(1)).first()
    if other is not None:
        name, node = scope.transaction.agent(agent).name, scope.transaction.node(tree.key, other.head)
        raise ConflictError(
            f"{name!r} is already running in this tree, at [{node.local_id}] until {iso_moment(other.held_until)}",
            hint="wait for it, or ask another agent",
        )


def _written_below(row: RunRow, head: NodeRow) -> Select[tuple[int]]:
    """What the agent of a run itself wrote below a node since the run began, the newest first."""
    nodes = schema.nodes
    return (
        select(nodes.c.key)
        .where(
            nodes.c.tree == row.tree,
            nodes.c.parent == head.position,
            nodes.c.author == row.agent,
            nodes.c.edge_type == _CONTINUATION,
            nodes.c.pruned.is_(None),
            nodes.c.hidden.is_(None),
            nodes.c.created_at >= row.started_at,
        )
        .order_by(nodes.c.key.desc())
        .limit(1)
    )


def last_written(session: Session, row: RunRow) -> NodeRow:
    """The end of what a run has written so far."""
    head = node_row(session, row.tree, row.head)
    while (key := session.execute(_written_below(row, head)).scalar()) is not None:
        head = node_row(session, row.tree, key)
    return head


def end_run(transaction: Transaction, state: TreeState, run: str, now: int) -> bool:
    """Delete its row and release its lease; False if another process has ended it."""
    row = run_row(transaction, state.key, run)
    if row is None:
        return False
    is_own = row.holder == this_process()
    status, note = (None, None) if is_own else (RunStatus.FAILED, "its process ended before it did")
    close_record(transaction, state.key, run, now, status=status, note=note)
    position = transaction.node(state.key, row.head).position
    release_lease(transaction, state, position, now, run=run)
    return drop_run(transaction, state.key, run)


def _ended_elsewhere() -> ConflictError:
    return ConflictError(
        "this run was closed: its process stopped answering", hint="its text is stored as interrupted"
    )
