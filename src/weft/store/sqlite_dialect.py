"""What SQLite does in its own way: statements, the table of words, errors, statistics, connections.

Without statistics the planner takes "all rows of this tree" for a handful, and reads a whole tree
where an index would find one node. Statistics taken from a young grove would be wrong later. So every
grove gets the same ones, those of a large grove with large trees: plans are good at any size and
never change.
"""

import contextlib
import sqlite3
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    Engine,
    Executable,
    Float,
    Insert,
    Select,
    Table,
    bindparam,
    column,
    create_engine,
    event,
    func,
    insert,
    literal,
    literal_column,
    select,
    table,
    text,
)
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from weft.errors import StorageError, WeftError
from weft.store import schema
from weft.store.session import IndexEntry, Reach, Session, upsert_with
from weft.tree.query import Atom, Query

_EVERYTHING = -1


class SqliteTerms:
    """An FTS5 table, fed with words that are cut already. A rowid is a key."""

    def __init__(self, name: str) -> None:
        self._insert = text(f"INSERT INTO {name} (rowid, title, body) VALUES (:key, :title, :body)")
        self._delete = text(f"DELETE FROM {name} WHERE rowid = :key")
        self._delete_reach = text(f"DELETE FROM {name} WHERE rowid BETWEEN :low AND :high")
        # Faster than taking row after row out of the index: what it is made from, then the index itself.
        self._delete_all = text(f"DELETE FROM {name}_content")
        self._rebuild = text(f"INSERT INTO {name} ({name}) VALUES ('rebuild')")
        # Removed words stay in the older parts of the index until those are merged with the newer.
        self._purge = text(f"INSERT INTO {name} ({name}) VALUES ('optimize')")
        self._terms = table(name, column("rowid", BigInteger), column("rank", Float), column(name))
        self._words = self._terms.c[name]

    def add(self, transaction: Session, entries: Sequence[IndexEntry]) -> None:
        rows = [
            {"key": entry.key, "title": " ".join(entry.title), "body": " ".join(entry.body)}
            for entry in sorted(entries)
        ]
        transaction.execute_many(self._insert, rows)

    def remove(self, transaction: Session, keys: Sequence[int]) -> None:
        transaction.execute_many(self._delete, [{"key": key} for key in sorted(keys)])

    def remove_reach(self, transaction: Session, reach: Reach) -> None:
        transaction.execute(self._delete_reach, reach._asdict())

    def purge(self, transaction: Session) -> None:
        transaction.execute(self._purge)

    def clear(self, transaction: Session) -> None:
        transaction.execute(self._delete_all)
        transaction.execute(self._rebuild)

    def matching(
        self, session: Session, query: Query, reach: Reach, most: int | None
    ) -> Select[*tuple[Any, ...]]:
        del session
        terms = self._terms
        best = (
            select(terms.c.rowid.label("key"), (-terms.c.rank).label("rank"))
            .where(
                self._words.match(bindparam("match", _match(query))),
                terms.c.rowid.between(reach.low, reach.high),
            )
            .order_by(terms.c.rank)
            .limit(_EVERYTHING if most is None else most)
            .subquery("best")
        )
        return select(best.c.key, best.c.rank, literal_column("0", Boolean).label("unsure"))


def _match(query: Query) -> str:
    """The query in FTS5's language. Words consist of letters, digits and marks: quotes hold them."""
    wanted = " AND ".join(f"({_any(clause)})" for clause in query.clauses)
    return f"({wanted}) NOT ({_any(query.without)})" if query.without else wanted


def _any(atoms: Sequence[Atom]) -> str:
    return " OR ".join(_phrase(atom) for atom in atoms)


def _phrase(atom: Atom) -> str:
    return f'"{" ".join(atom.words)}"' + (" *" if atom.prefix else "")


def explain(error: BaseException, path: Path) -> WeftError:
    """A database error in a person's words."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    name = getattr(origin, "sqlite_errorname", "") or ""
    for prefix, (message, hint) in _EXPLANATIONS.items():
        if name.startswith(prefix):
            return StorageError(message.format(path=path), hint=hint)
    return StorageError(
        f"{path}: {origin}", hint="check the disk and the file's rights; nothing was half-written"
    )


_EXPLANATIONS: dict[str, tuple[str, str]] = {
    "SQLITE_FULL": ("the disk with {path} is full", "free some space; nothing was half-written"),
    "SQLITE_READONLY": ("{path} is read-only", "change its permissions, or copy it to where you may write"),
    "SQLITE_BUSY": (
        "{path} is locked by another program",
        "close what has it open for writing, and try again",
    ),
    "SQLITE_LOCKED": ("{path} is locked by another program", "try again"),
    "SQLITE_CANTOPEN": ("cannot open {path}", "check that its folder exists and is yours to write"),
    "SQLITE_NOTADB": ("{path} is not a database", "name another file for the grove"),
    "SQLITE_CORRUPT": ("{path} is damaged", "restore a backup; the file was left as it is"),
    "SQLITE_IOERR": ("{path} cannot be read or written", "check the disk; nothing was half-written"),
}


_ROWS = 1_000_000
_ROWS_OF_A_TREE = 10_000
_ROWS_OF_A_PREFIX = 2


def teach_planner(connection: sqlite3.Connection) -> None:
    """Write the statistics, unless they are there."""
    if knows_planner(connection):
        return
    wanted = _statistics(connection)
    # An ANALYZE of nothing makes the table of statistics; the second makes the planner read it.
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("ANALYZE sqlite_schema")
    connection.execute("DELETE FROM sqlite_stat1")
    connection.executemany(
        "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)",
        [(table, index, figures) for (table, index), figures in wanted.items()],
    )
    connection.execute("COMMIT")
    connection.execute("ANALYZE sqlite_schema")


def knows_planner(connection: sqlite3.Connection) -> bool:
    """Whether the statistics are there, as they should be."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchone():
        return False
    known = {
        (row[0], row[1]): row[2] for row in connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1")
    }
    return known == _statistics(connection)


def _statistics(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """For each index: rows in all, then how many share its first column, its first two, and so on."""
    statistics: dict[tuple[str, str], str] = {}
    indexes = connection.execute(
        "SELECT t.name, i.name, i.\"unique\", i.origin = 'pk' AND NOT EXISTS"
        " (SELECT 1 FROM sqlite_master WHERE name = i.name AND type = 'index')"
        " FROM sqlite_master AS t JOIN pragma_index_list(t.name) AS i"
        " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'"
    ).fetchall()
    for owner, name, unique, is_table in indexes:
        columns = [row[2] for row in connection.execute("SELECT * FROM pragma_index_info(?)", (name,))]
        figures = [_ROWS, *(_ROWS_OF_A_PREFIX for _ in columns)]
        if columns[0] == "tree":
            figures[1] = _ROWS_OF_A_TREE
        if unique or columns[-1] == "key":
            figures[-1] = 1
        # A table without row ids is its own index.
        statistics[owner, owner if is_table else name] = " ".join(map(str, figures))
    return statistics


class SqliteDialect:
    """What SQLite says in its own way."""

    counts_events = True
    terms = SqliteTerms("search_terms")
    passage_terms = SqliteTerms("vault_terms")

    def among(self, column: ColumnElement[int], keys: Sequence[int]) -> ColumnElement[bool]:
        # Not a join: the planner would be free to scan the keys once for every row of the table.
        wanted = func.json_each(literal(self.keys(keys))).table_valued("value")
        return column.in_(select(wanted.c.value))

    def among_given(self, column: ColumnElement[int], name: str) -> ColumnElement[bool]:
        return column.in_(select(func.json_each(bindparam(name)).table_valued("value").c.value))

    def keys(self, keys: Sequence[int]) -> object:
        return orjson.dumps(list(keys)).decode()

    def fetch(self, driver: Any, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        return driver.execute(sql, parameters).fetchall()

    def send(self, driver: Any, sql: str, rows: Sequence[Any]) -> None:
        driver.executemany(sql, rows)

    def stop_reading(self, driver: Any) -> None:
        """It makes no difference."""

    def batch(self, table: Table) -> None:
        """One by one is as fast."""

    def together(self, driver: Any) -> contextlib.AbstractContextManager[object]:  # noqa: ARG002 - nothing to save
        return contextlib.nullcontext()

    def upsert(self, table: Table, key: Sequence[str], update: Sequence[str]) -> Insert:
        return upsert_with(sqlite_insert, table, tuple(key), tuple(update))

    def insert_events(self) -> Insert:
        return _INSERT_EVENTS

    def is_unreadable_text(self, error: Exception) -> bool:
        return "Could not decode to UTF-8" in str(error)

    def last_key(self, session: Session, table: Table) -> int:
        return int(session.execute(select(func.coalesce(func.max(table.c.key), 0))).scalar_one())

    def reserve_keys(self, session: Session, table: Table, last: int) -> None:
        """New rows go above the highest there is, so putting them in is enough."""

    def reserve_event_numbers(self, session: Session, last: int) -> None:
        """The writer counts on from the highest there is."""

    def leave_traces(self) -> Executable:
        return _LEAVE_TRACES

    def settled(self, transaction: ColumnElement[int]) -> ColumnElement[bool]:
        # One writer at a time numbers events, so what can be seen is complete.
        return transaction >= 0

    def horizon(self) -> ColumnElement[int]:
        return literal(1)


_INSERT_EVENTS = insert(schema.events)
_LEAVE_TRACES = text("PRAGMA user_version = 1")
"""Part of the transaction that deletes, so that a purge cut short is finished when the file is opened next."""


DIALECT = SqliteDialect()
"""One for all: statements are kept by it."""


BUSY_MILLISECONDS = 5_000
TEMPORARY = "MEMORY"
"""Where SQLite keeps what is temporary."""
_READERS = 32
_POOL_SECONDS = 30.0


def open_engine(
    address: str,
    pool: type[QueuePool] | type[StaticPool] = StaticPool,
    *,
    begin: str = "BEGIN",
    configure: bool = False,
) -> Engine:
    """Connections to a path or a file: address; `configure` prepares them for a grove that may be written."""
    options: dict[str, Any] = (
        {"pool_size": _READERS, "max_overflow": 0, "pool_timeout": _POOL_SECONDS} if pool is QueuePool else {}
    )
    engine = create_engine("sqlite+pysqlite://", creator=lambda: _connect(address), poolclass=pool, **options)
    if configure:
        event.listen(engine, "connect", _configure)

    def begin_transaction(connection: Connection) -> None:
        driver = driver_of(connection)
        # The writer's groups begin theirs before the first statement needs one.
        if not driver.in_transaction:
            driver.execute(begin)

    event.listen(engine, "begin", begin_transaction)
    return engine


@contextlib.contextmanager
def peek(path: Path) -> Generator[Session]:
    """Read a grove file that is not open anywhere, without leaving anything beside it."""
    engine = open_engine(f"{path.absolute().as_uri()}?immutable=1")
    try:
        with engine.connect() as connection:
            yield Session(connection, DIALECT)
    except (DBAPIError, sqlite3.Error) as error:
        raise explain(error, path) from error
    finally:
        engine.dispose()


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address,
        uri=address.startswith("file:"),
        timeout=BUSY_MILLISECONDS / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        # What else may be wrong is reported where the connection is used.
        with contextlib.suppress(sqlite3.Error):
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 0").close()
    except UnicodeDecodeError as error:
        # SQLite quotes a damaged table definition, and the driver cannot decode the quotation.
        connection.close()
        damage = sqlite3.DatabaseError("malformed database schema")
        damage.sqlite_errorname = "SQLITE_CORRUPT"
        raise damage from error
    return connection


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "wal_autocheckpoint = 0",
        "secure_delete = ON",
        "cache_size = -65536",
        f"temp_store = {TEMPORARY}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def driver_of(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101 - this engine makes no other
    return driver
