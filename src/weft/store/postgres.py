"""PostgreSQL: for teams and scale; many processes, one schema."""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Generator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from platformdirs import user_data_path
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Insert,
    Integer,
    Table,
    Text,
    any_,
    bindparam,
    cast,
    create_engine,
    event,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, StorageError, UnavailableError, WeftError
from weft.store import schema
from weft.store.base import Store, require_same_process
from weft.store.blobs import BlobStore
from weft.store.migrate import migrate
from weft.store.postgres_text_index import PostgresTerms
from weft.store.session import Session
from weft.store.transaction import Cache, Transaction

T = TypeVar("T")

_SETTINGS = "-c jit=off -c plan_cache_mode=force_custom_plan -c random_page_cost=1.1"
"""A generic plan, made without a tree's size in view, may read a whole tree to find one node; so may one
that takes an index for four times as dear as a scan, as on a turning disk."""
_MIGRATION_LOCK = 0x57454654
_TRIES = 5
_FRESH_SECONDS = 1.0
_AGAIN = {"40001", "40P01"}
"""Serialization failure, deadlock: the transaction changed nothing and may be run again."""


class PostgresDialect:
    """What PostgreSQL says in its own way."""

    counts_events = False
    terms = PostgresTerms()

    def among(self, column: ColumnElement[int], keys: Sequence[int]) -> ColumnElement[bool]:
        return column == any_(literal(list(keys), ARRAY(Integer)))

    def among_given(self, column: ColumnElement[int], name: str) -> ColumnElement[bool]:
        return column == any_(cast(bindparam(name, type_=Text()), ARRAY(Integer)))

    def keys(self, keys: Sequence[int]) -> object:
        # As text, which the server reads: the driver would look at every item in Python.
        return f"{{{','.join(map(str, keys))}}}"

    def fetch(self, driver: Any, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        return driver.execute(sql, parameters, binary=True).fetchall()

    def send(self, driver: Any, sql: str, rows: Sequence[Any]) -> None:
        with driver.cursor() as cursor:
            cursor.executemany(sql, rows)

    def together(self, driver: Any) -> contextlib.AbstractContextManager[object]:
        return driver.pipeline()

    def upsert(self, table: Table, key: Sequence[str], update: Sequence[str]) -> Insert:
        return _upsert(table, tuple(key), tuple(update))

    def insert_events(self) -> Insert:
        return _INSERT_EVENTS

    def is_unreadable_text(self, error: Exception) -> bool:  # noqa: ARG002 - the database checks texts itself
        return False

    def last_key(self, session: Session, table: Table) -> int:
        sequence = f"{table.name}_{table.c.key.name}_seq"
        found = text(f'SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "{sequence}"')
        return int(session.execute(found).scalar_one())

    def reserve_keys(self, session: Session, table: Table, last: int) -> None:
        sequence = f"{table.name}_{table.c.key.name}_seq"
        if last > self.last_key(session, table):
            session.execute(select(func.setval(sequence, last)))

    def reserve_event_numbers(self, session: Session, last: int) -> None:
        if last:
            session.execute(select(func.setval(schema.event_numbers.name, last)))

    def leave_traces(self) -> None:
        """The server's own vacuum frees what deleted rows held."""

    def settled(self, transaction: ColumnElement[int]) -> ColumnElement[bool]:
        return transaction < _number(func.pg_snapshot_xmin(func.pg_current_snapshot()))

    def horizon(self) -> ColumnElement[int]:
        return _number(func.pg_snapshot_xmax(func.pg_current_snapshot()))


def _number(transaction: ColumnElement[Any]) -> ColumnElement[int]:
    """PostgreSQL's type for transaction ids has no direct way to a number."""
    return cast(cast(transaction, Text), BigInteger)


@cache
def _upsert(table: Table, key: tuple[str, ...], update: tuple[str, ...]) -> Insert:
    statement = postgres_insert(table)
    if not update:
        return statement.on_conflict_do_nothing(index_elements=key or None)
    return statement.on_conflict_do_update(
        index_elements=key, set_={name: statement.excluded[name] for name in update}
    )


_INSERT_EVENTS = insert(schema.events).values(
    number=schema.event_numbers.next_value(),
    transaction=_number(func.pg_current_xact_id()),
)


_DIALECT = PostgresDialect()
"""One for all: statements are kept by it."""

_SETTLE_RESTORED = (
    update(schema.events)
    .where(
        select(func.max(schema.events.c.transaction)).scalar_subquery()
        >= _number(func.pg_snapshot_xmax(func.pg_current_snapshot()))
    )
    .values(transaction=0)
)
"""Transaction ids from the future: a dump of another server was put back here. Its events are all settled."""


class PostgresStore(Store):
    """A grove on a PostgreSQL server."""

    def __init__(self, url: str, *, timeout: float = 30.0, create: bool = True) -> None:
        try:
            address = make_url(url)
        except (ArgumentError, ValueError):
            raise InvalidInputError(
                "that is not a PostgreSQL address", hint="postgresql://user@host:5432/database"
            ) from None
        self._address = address.set(drivername="postgresql+psycopg")
        self._dialect = _DIALECT
        self._process = os.getpid()
        self.blobs = BlobStore(_blob_folder(self.name))
        self._engine = create_engine(
            self._address,
            pool_size=16,
            max_overflow=64,
            pool_timeout=timeout,
            connect_args={"connect_timeout": int(max(2, timeout)), "options": _SETTINGS},
        )
        self._closed = False
        event.listen(self._engine, "checkin", self._take_back)
        event.listen(self._engine, "checkout", _look_after_idling)
        try:
            if not create:
                self._require_grove()
            self._migrate()
        except BaseException:
            self._engine.dispose()
            raise

    def _require_grove(self) -> None:
        with self._explained(), self._engine.connect() as connection:
            if not inspect(connection).has_table(schema.grove.name):
                raise StorageError(f"there is no grove in {self.name}", hint=Hint(HintKind.CREATE_GROVE))

    def _migrate(self) -> None:
        lock = {"lock": _MIGRATION_LOCK}
        with self._explained(), self._engine.connect() as connection:
            with connection.begin():
                connection.execute(text("SELECT pg_advisory_lock(:lock)"), lock)
            try:
                migrate(connection)
                with connection.begin():
                    connection.execute(_SETTLE_RESTORED)
            finally:
                with connection.begin():
                    connection.execute(text("SELECT pg_advisory_unlock(:lock)"), lock)

    @property
    def name(self) -> str:
        return _shown(self._address)

    @contextlib.contextmanager
    def read(self) -> Generator[Session]:
        self._require_open()
        with self._explained(), self._engine.connect() as connection:
            snapshot = connection.execution_options(isolation_level="REPEATABLE READ")
            yield Session(snapshot, self._dialect)

    def write(self, work: Callable[[Transaction], T]) -> T:
        self._require_open()
        for attempt in range(_TRIES):
            try:
                with self._explained():
                    return self._write_once(work)
            except _RunAgainError:
                time.sleep(0.005 * 2**attempt)
        raise UnavailableError("too many others are writing the same place", hint="try again in a moment")

    def find_damage(self, session: Session) -> list[str]:
        """Every index against its table, by PostgreSQL's extension amcheck."""
        installed = session.execute(text("SELECT 1 FROM pg_extension WHERE extname = 'amcheck'")).first()
        if installed is None:
            raise UnavailableError(
                "the extension amcheck is not installed",
                hint=Hint(HintKind.SETUP, text="CREATE EXTENSION amcheck"),
            )
        indexes = session.execute(
            text(
                "SELECT c.oid, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
                "JOIN pg_am a ON a.oid = c.relam "
                "WHERE a.amname = 'btree' AND c.relnamespace = current_schema()::regnamespace "
                "ORDER BY c.relname"
            )
        ).all()
        damage: list[str] = []
        check = text("SELECT bt_index_check(CAST(:index AS oid)::regclass, true)")
        for index in indexes:
            try:
                with session.connection.begin_nested():
                    session.execute(check, {"index": index.oid})
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", "") == "42501":
                    raise UnavailableError("this user may not run amcheck") from error
                damage.append(f"index {index.relname}: {error.orig}".strip())
        return damage

    def copy_file(self, path: Path, progress: Callable[[int, int], None]) -> bool:
        del path, progress
        return False

    def close(self) -> None:
        self._closed = True
        # A forked child must not end the connections of its parent.
        self._engine.dispose(close=self._process == os.getpid())

    def _take_back(self, _driver: object, record: ConnectionPoolEntry) -> None:
        if self._closed:
            # It was in use when the others were closed: this is the last chance to close it.
            record.close()
        else:
            record.info["idle_since"] = time.monotonic()

    def _write_once(self, work: Callable[[Transaction], T]) -> T:
        with self._engine.connect() as connection:
            transaction = connection.begin()
            written = Transaction(connection, self._dialect, Cache())
            try:
                result = work(written)
                written.flush()
            except (DBAPIError, psycopg.Error) as error:
                with contextlib.suppress(DBAPIError):
                    transaction.rollback()
                if _state_of(error) in _AGAIN:
                    raise _RunAgainError from error
                raise
            except BaseException:
                with contextlib.suppress(DBAPIError):
                    transaction.rollback()
                raise
            try:
                transaction.commit()
            except DBAPIError as error:
                if _state_of(error) in _AGAIN:
                    raise _RunAgainError from error
                if error.connection_invalidated and self._did_commit(written):
                    return result
                raise
            return result

    def _did_commit(self, written: Transaction) -> bool:
        """The connection broke during the commit: look whether an event of this transaction is there.

        Without one the outcome is unknown, and the error says that the database did not answer.
        """
        return written.last_event is not None and self._has_event(*written.last_event)

    def _has_event(self, tree: int, ordinal: int, digest: bytes) -> bool:
        events = schema.events
        with self._engine.begin() as connection:
            # Waits until the broken transaction, should it still run, has ended.
            if tree:
                connection.execute(
                    select(schema.trees.c.key).where(schema.trees.c.key == tree).with_for_update()
                )
            else:
                connection.execute(select(schema.grove.c.key).with_for_update())
            found = connection.execute(
                select(events.c.hash).where(events.c.tree == tree, events.c.ordinal == ordinal)
            ).scalar_one_or_none()
        return found == digest

    def _require_open(self) -> None:
        if self._closed:
            raise UnavailableError("the grove is closed", hint="open it again")
        require_same_process(self._process, self.name)

    @contextlib.contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except (DBAPIError, psycopg.Error) as error:
            raise explain(error, self.name) from error
        except PoolTimeoutError as error:
            raise UnavailableError(
                f"all connections to {self.name} are busy", hint="try again in a moment"
            ) from error


def _look_after_idling(driver: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """Ask whether the server is still there, unless it answered a moment ago: asking costs a round trip."""
    since: float | None = record.info.get("idle_since")
    if since is None or time.monotonic() - since < _FRESH_SECONDS:
        return
    try:
        driver.execute("")
        driver.rollback()
    except psycopg.Error as error:
        raise DisconnectionError from error


class _RunAgainError(Exception):
    """The transaction lost against another one; nothing was changed."""


def _origin(error: DBAPIError | psycopg.Error) -> BaseException | None:
    return error.orig if isinstance(error, DBAPIError) else error


def _state_of(error: DBAPIError | psycopg.Error) -> str:
    origin = _origin(error)
    return (origin.sqlstate or "") if isinstance(origin, psycopg.Error) else ""


def explain(error: DBAPIError | psycopg.Error, name: str) -> WeftError:
    state = _state_of(error)
    lost = isinstance(_origin(error), psycopg.OperationalError | psycopg.InterfaceError) and not state
    if lost or state[:2] in {"08", "57"}:
        return UnavailableError(
            f"the database {name} does not answer: {_first_line(error)}",
            hint="check that the server runs; Weft goes on by itself once it is back",
        )
    if state == "53100":
        return StorageError(f"the disk of {name} is full", hint="free some space; nothing was half-written")
    if state[:2] == "53":
        return UnavailableError(f"the database {name} is out of resources", hint="try again later")
    if state == "25006":
        return StorageError(f"{name} is read-only", hint="connect to the primary server")
    if state[:2] in {"28", "3D", "42"} or state == "42501":
        return StorageError(f"{name} refuses: {_first_line(error)}", hint="check the address and the rights")
    return StorageError(f"{name}: {_first_line(error)}", hint="nothing was half-written")


def _first_line(error: DBAPIError | psycopg.Error) -> str:
    return (str(_origin(error)).strip().splitlines() or ["no reason given"])[0]


def blobs_of_server(url: str) -> BlobStore:
    """The blobs of a grove, without connecting to it."""
    return BlobStore(_blob_folder(_shown(make_url(url))))


def _shown(address: URL) -> str:
    return address._replace(drivername="postgresql", password=None).render_as_string()


def _blob_folder(name: str) -> Path:
    """Blobs of a PostgreSQL grove lie in a folder that all its processes share."""
    configured = os.environ.get("WEFT_BLOBS")
    if configured:
        return Path(configured)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return user_data_path("weft") / "blobs" / digest
