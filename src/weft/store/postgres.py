"""PostgreSQL: for teams and scale; many processes, one schema."""

import contextlib
import hashlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from platformdirs import user_data_path
from sqlalchemy import Engine, create_engine, event, func, inspect, select, text, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, StorageError, UnavailableError
from weft.store import schema
from weft.store.base import HealthCheck, Store, good, note, require_same_process, wrong
from weft.store.blobs import BlobStore
from weft.store.migrate import migrate
from weft.store.postgres_dialect import DIALECT, explain, transaction_number
from weft.store.postgres_writer import PostgresWriter
from weft.store.session import Session
from weft.store.transaction import Transaction

T = TypeVar("T")

_SETTINGS = "-c jit=off -c plan_cache_mode=force_custom_plan -c random_page_cost=1.1"
"""A generic plan, made without a tree's size in view, may read a whole tree to find one node; so may one
that takes an index for four times as dear as a scan, as on a turning disk."""
_MIGRATION_LOCK = 0x57454654
_FRESH_SECONDS = 1.0

_SETTLE_RESTORED = (
    update(schema.events)
    .where(
        select(func.max(schema.events.c.transaction)).scalar_subquery()
        >= transaction_number(func.pg_snapshot_xmax(func.pg_current_snapshot()))
    )
    .values(transaction=0)
)
"""Transaction ids from the future: a dump of another server was put back here. Its events are all settled."""


class PostgresStore(Store):
    """A grove on a PostgreSQL server."""

    def __init__(self, url: str, *, timeout: float = 30.0, create: bool = True) -> None:
        self._address = _address(url)
        self._process = os.getpid()
        self.blobs = BlobStore(_blob_folder(self.name))
        self._engine = create_engine(
            self._address,
            pool_size=16,
            max_overflow=64,
            pool_timeout=timeout,
            connect_args={"connect_timeout": int(max(2, timeout)), "options": _SETTINGS},
        )
        self._timeout = timeout
        self._closed = threading.Event()
        event.listen(self._engine, "checkin", partial(_take_back, self._closed))
        event.listen(self._engine, "checkout", _look_after_idling)
        self._writer = PostgresWriter(self._engine, self.name)
        # Threads and connections do not outlive a store that is dropped without being closed.
        self._let_go = weakref.finalize(
            self, _let_go, self._process, self._closed, self._writer, self._engine
        )
        self._let_go.atexit = False
        try:
            if not create:
                self._require_grove()
            self._migrate()
        except BaseException:
            self._engine.dispose()
            raise

    def _require_grove(self) -> None:
        with self._writer.explained(), self._engine.connect() as connection:
            if not inspect(connection).has_table(schema.grove.name):
                raise StorageError(f"there is no grove in {self.name}", hint=Hint(HintKind.CREATE_GROVE))

    def _migrate(self) -> None:
        lock = {"lock": _MIGRATION_LOCK}
        with self._writer.explained(), self._engine.connect() as connection:
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
        with self._writer.explained(), self._engine.connect() as connection:
            snapshot = connection.execution_options(isolation_level="REPEATABLE READ")
            yield Session(snapshot, DIALECT)

    def write(self, work: Callable[[Transaction], T], *, tree: str | None = None) -> T:
        self._require_open()
        return self._writer.write(work, self._timeout, tree)

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
        if self._process == os.getpid():
            self._writer.stop()
            self._writer.join(self._timeout)
        self._let_go()

    def _require_open(self) -> None:
        if self._closed.is_set():
            raise UnavailableError("the grove is closed", hint="open it again")
        require_same_process(self._process, self.name)


def _let_go(process: int, closed: threading.Event, writer: PostgresWriter, engine: Engine) -> None:
    closed.set()
    is_own = process == os.getpid()
    if is_own:
        writer.stop()
    # A forked child must not end the connections of its parent.
    engine.dispose(close=is_own)


def _take_back(closed: threading.Event, _driver: object, record: ConnectionPoolEntry) -> None:
    if closed.is_set():
        # It was in use when the others were closed: this is the last chance to close it.
        record.close()
    else:
        record.info["idle_since"] = time.monotonic()


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


def blobs_of_server(url: str) -> BlobStore:
    """The blobs of a grove, without connecting to it."""
    return BlobStore(_blob_folder(_shown(_address(url))))


def _address(url: str) -> URL:
    try:
        return make_url(url).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise InvalidInputError(
            "that is not a PostgreSQL address", hint="postgresql://user@host:5432/database"
        ) from None


def _shown(address: URL) -> str:
    return address._replace(drivername="postgresql", password=None).render_as_string()


def _blob_folder(name: str) -> Path:
    """Blobs of a PostgreSQL grove lie in a folder that all its processes share."""
    configured = os.environ.get("WEFT_BLOBS")
    if configured:
        return Path(configured)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return user_data_path("weft") / "blobs" / digest


_LOSES = {
    "fsync": "the server does not wait for the disk: a power cut may destroy the whole database",
    "full_page_writes": "a power cut may leave half-written pages behind",
    "synchronous_commit": "a write that was acknowledged may be lost when the server stops",
}
_OLDEST = 13
_SKEW = 60


@contextlib.contextmanager
def look_inside(url: str) -> Generator[Session]:
    """A session that cannot write, in one snapshot."""
    address = _address(url)
    engine = create_engine(address, poolclass=NullPool, connect_args={"connect_timeout": 10})
    try:
        with engine.connect() as connection:
            options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            yield Session(connection.execution_options(**options), DIALECT)
    except (DBAPIError, psycopg.Error) as error:
        raise explain(error, _shown(address)) from error
    finally:
        engine.dispose()


def look_at_server(session: Session, now: int) -> Iterator[HealthCheck]:
    """Version, settings that decide whether a write is kept, broken indexes, the clock."""
    version = _setting(session, "server_version")
    number = int(_setting(session, "server_version_num"))
    if number // 10_000 < _OLDEST:
        yield wrong("PostgreSQL", f"PostgreSQL {version} is too old", f"upgrade to {_OLDEST} or newer")
    else:
        yield good("PostgreSQL", f"PostgreSQL {version}")
    lost = 0
    for setting, consequence in _LOSES.items():
        if _setting(session, setting) == "off":
            lost += 1
            yield wrong("durability", f"{setting} is off: {consequence}", f"set {setting} = on")
    if not lost:
        yield good("durability", f"{', '.join(_LOSES)} are on")
    if session.execute(text("SELECT pg_is_in_recovery()")).scalar_one():
        yield note("server", "this server is a replica: the grove can be read here, not changed")
    broken = session.execute(
        text("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid")
    ).scalars()
    for index in broken:
        yield wrong("indexes", f"index {index} is not valid", f"REINDEX INDEX {index}")
    there = session.execute(text("SELECT extract(epoch FROM clock_timestamp())::float8")).scalar_one()
    if abs(there - now / 1_000_000) > _SKEW:
        yield note(
            "clock", f"the server's clock and this machine's are {abs(there - now / 1e6):,.0f} s apart"
        )


def _setting(session: Session, name: str) -> str:
    return str(session.execute(text("SELECT current_setting(:name)"), {"name": name}).scalar_one())
