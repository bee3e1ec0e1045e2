"""Writes to PostgreSQL: what one process writes to several trees at once shares its commits.

A group locks the rows of its trees first, in one round trip and in the order of their keys. A tree
that another transaction has locked is not waited for: what was to be written to it is run by its own
caller in a transaction of its own, and so is everything else of a group that failed for any reason.
Between groups the writer remembers what it knows of a tree, and trusts that again if the row that it
has locked is what it was: every change of a tree is an event, and the row holds the newest one's hash.
"""

import contextlib
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import psycopg
from sqlalchemy import ARRAY, Connection, Engine, Text, any_, bindparam, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from weft.errors import UnavailableError
from weft.ids import is_ulid
from weft.store import schema
from weft.store.group_commit import GroupWriter, Take, WaitingWrite, WriteOutcome, run_jobs
from weft.store.postgres_dialect import DIALECT, explain, state_of
from weft.store.session import CompiledStatement
from weft.store.transaction import Cache, Transaction
from weft.store.tree_statements import GROVE_EVENTS, TREE_STATE

T = TypeVar("T")

_LANES = 2
_TRIES = 5
_AGAIN = {"40001", "40P01"}
"""Serialization failure, deadlock: the transaction changed nothing and may be run again."""
_PATIENCE = "SET LOCAL lock_timeout = 250"
"""Milliseconds that a group waits for a lock, such as that of the grove: others wait for the group."""
_FREE_TREES = (
    TREE_STATE.where(
        schema.trees.c.ulid == any_(bindparam("ulids", type_=ARRAY(Text))), schema.trees.c.hidden.is_(None)
    )
    .order_by(schema.trees.c.key)
    .with_for_update(skip_locked=True)
)


class RunAloneError(Exception):
    """The group did not write it; its caller does."""


class _RunAgainError(Exception):
    """The transaction lost against another one; nothing was changed."""


class PostgresWriter:
    """The write transactions of one process."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self._name = name
        self._lanes = [_Lane(self) for _ in range(_LANES)]

    def write(self, work: Callable[[Transaction], T], timeout: float, tree: str | None) -> T:
        if tree is not None and is_ulid(tree):
            try:
                # Always the same one: it remembers the tree.
                return self._lanes[hash(tree) % _LANES].groups.submit(work, timeout, tree)
            except RunAloneError:
                pass
        for attempt in range(_TRIES):
            try:
                with self.explained():
                    return self._write_alone(work)
            except _RunAgainError:
                time.sleep(0.005 * 2**attempt)
        raise UnavailableError("too many others are writing the same place", hint="try again in a moment")

    def stop(self) -> None:
        for lane in self._lanes:
            lane.groups.stop()

    def join(self, timeout: float) -> None:
        for lane in self._lanes:
            lane.groups.join(timeout)

    @contextlib.contextmanager
    def explained(self) -> Generator[None]:
        try:
            yield
        except (DBAPIError, psycopg.Error) as error:
            raise explain(error, self._name) from error
        except PoolTimeoutError as error:
            raise UnavailableError(
                f"all connections to {self._name} are busy", hint="try again in a moment"
            ) from error

    def _write_alone(self, work: Callable[[Transaction], T]) -> T:
        with self.engine.connect() as connection:
            begun = connection.begin()
            transaction = Transaction(connection, DIALECT, Cache())
            try:
                result = work(transaction)
                transaction.flush()
            except BaseException as error:
                with contextlib.suppress(DBAPIError):
                    begun.rollback()
                if isinstance(error, DBAPIError | psycopg.Error) and state_of(error) in _AGAIN:
                    raise _RunAgainError from error
                raise
            self.commit(transaction, begun.commit)
            return result

    def commit(self, transaction: Transaction, commit: Callable[[], None]) -> None:
        try:
            commit()
        except DBAPIError as error:
            if state_of(error) in _AGAIN:
                raise _RunAgainError from error
            if not (error.connection_invalidated and self._did_commit(transaction)):
                raise

    def _did_commit(self, transaction: Transaction) -> bool:
        """The connection broke during the commit: look whether an event of this transaction is there.

        Without one the outcome is unknown, and the error says that the database did not answer.
        """
        return transaction.last_event is not None and self._has_event(*transaction.last_event)

    def _has_event(self, tree: int, ordinal: int, digest: bytes) -> bool:
        events = schema.events
        with self.engine.begin() as connection:
            # Waits until the broken transaction, should it still run, has ended.
            if tree:
                connection.execute(
                    select(schema.trees.c.key).where(schema.trees.c.key == tree).with_for_update()
                )
            else:
                connection.execute(select(schema.grove.c.key).with_for_update())
            stored = connection.execute(
                select(events.c.hash).where(events.c.tree == tree, events.c.ordinal == ordinal)
            ).scalar_one_or_none()
        return stored == digest


class _Lane:
    """Some of the trees, whose writes share commits; while the database answers one lane, another one works."""

    def __init__(self, writer: PostgresWriter) -> None:
        self._writer = writer
        self._cache = Cache()
        self.groups = GroupWriter(self._run_group, self._run_group, _do_nothing)

    def _run_group(self, take: Take, hold: Callable[[], None]) -> bool:
        hold()
        jobs = take(0)
        with self._writer.explained():
            outcomes = self._write_together(jobs)
        for job, result, failure in outcomes:
            job.finish(result, failure)
        for job in jobs:
            if not job.finished:
                job.finish(error=RunAloneError())
        return True

    def _write_together(self, jobs: Sequence[WaitingWrite]) -> list[WriteOutcome]:
        """Run and commit those whose trees are free."""
        try:
            with self._writer.engine.connect() as connection:
                begun = connection.begin()
                transaction = Transaction(connection, DIALECT, self._cache)
                try:
                    held = self._hold_trees(connection, transaction, {str(job.tree) for job in jobs})
                    outcomes = run_jobs(transaction, [job for job in jobs if job.tree in held])
                except BaseException as error:
                    with contextlib.suppress(DBAPIError):
                        begun.rollback()
                    raise RunAloneError from error
                self._writer.commit(transaction, begun.commit)
        except BaseException as error:
            self._cache.clear()
            if isinstance(error, _RunAgainError):
                raise RunAloneError from error
            raise
        transaction.keep_known()
        return outcomes

    def _hold_trees(self, connection: Connection, transaction: Transaction, ulids: set[str]) -> set[str]:
        """Lock the trees that are free; forget the agents if the grove was changed."""
        free = CompiledStatement.of(connection, _FREE_TREES)
        with transaction.driver.pipeline():
            transaction.driver.execute(_PATIENCE)
            grove = self._ask(transaction, CompiledStatement.of(connection, GROVE_EVENTS), {})
            trees = self._ask(transaction, free, {"ulids": list(ulids)})
        row = grove.fetchone()
        self._cache.doubt(None if row is None else row[0])
        return {transaction.hold_tree(row).ulid for row in trees.fetchall()}

    def _ask(self, transaction: Transaction, statement: CompiledStatement, values: dict[str, Any]) -> Any:
        return transaction.driver.execute(statement.sql, statement.parameters(values), binary=True)


def _do_nothing() -> None:
    """The connections belong to the pool."""
