"""Statements against one connection, the same on every database."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from sqlalchemy import ColumnElement, Connection, CursorResult, Executable, Insert, Select, Table
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

from weft.tree.query import Query

T = TypeVar("T")
K = TypeVar("K")
Values = Mapping[str, Any]
_AT_ONCE = 400
"""Parameters of one statement: databases limit them."""


def in_batches(items: Iterable[T], size: int = _AT_ONCE) -> Iterator[list[T]]:
    """The items in lists of at most that size."""
    listed = list(items)
    return (listed[start : start + size] for start in range(0, len(listed), size))


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The rows in lists by a key, each in the order in which they came."""
    groups: dict[K, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


class IndexEntry(NamedTuple):
    """One row to be: its key, the words of its title and of its body."""

    key: int
    title: Sequence[str]
    body: Sequence[str]


class Reach(NamedTuple):
    """The keys that a search looks at, both ends included."""

    low: int = 0
    high: int = (1 << 63) - 1


class Terms(Protocol):
    """The table of words. What it is called and how it is asked is each database's own."""

    def add(self, transaction: "Session", entries: Sequence[IndexEntry]) -> None:
        """Add rows that are not there, in the order of their keys."""
        ...

    def remove(self, transaction: "Session", keys: Sequence[int]) -> None: ...

    def remove_reach(self, transaction: "Session", reach: Reach) -> None: ...

    def purge(self, transaction: "Session") -> None:
        """Leave nothing of what was removed in the files."""
        ...

    def clear(self, transaction: "Session") -> None: ...

    def matching(
        self, session: "Session", query: Query, reach: Reach, most: int | None
    ) -> Select[*tuple[object, ...]]:
        """Columns `key`, `rank` (more is better) and `unsure`: to be checked against the text."""
        ...


class Dialect(Protocol):
    """The few things that SQLite and PostgreSQL say differently."""

    def among(self, column: ColumnElement[int], keys: Sequence[int]) -> ColumnElement[bool]:
        """The column's value is one of many integers, passed as one parameter."""
        ...

    def among_given(self, column: ColumnElement[int], name: str) -> ColumnElement[bool]:
        """The same with the integers given when it runs: `keys` makes the parameter of that name."""
        ...

    def keys(self, keys: Sequence[int]) -> object:
        """Many integers as one parameter."""
        ...

    def fetch(self, driver: Any, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        """All rows of a query, as the driver gives them."""
        ...

    def send(self, driver: Any, sql: str, rows: Sequence[Any]) -> None:
        """Run a statement once for each row."""
        ...

    def stop_reading(self, driver: Any) -> None:
        """The rest of the transaction only writes."""
        ...

    def batch(self, table: Table) -> str | None:
        """A statement that inserts many rows, given as one JSON text; None where rows go one by one."""
        ...

    def together(self, driver: Any) -> AbstractContextManager[object]:
        """What is sent inside travels together, where the driver can do that."""
        ...

    def upsert(self, table: Table, key: Sequence[str], update: Sequence[str]) -> Insert:
        """Insert, or update these columns where the key is there already (none: leave it).

        Without a key: leave any row that it would collide with.
        """
        ...

    def insert_events(self) -> Insert:
        """The insert that numbers events in an order that followers can rely on."""
        ...

    def is_unreadable_text(self, error: Exception) -> bool:
        """Whether the error says that a stored text is not text."""
        ...

    def last_key(self, session: "Session", table: Table) -> int:
        """The highest key that was given to a row of the table, as far as the database knows."""
        ...

    def reserve_keys(self, session: "Session", table: Table, last: int) -> None:
        """Keys up to this one will not be given to new rows; the caller inserts them."""
        ...

    def reserve_event_numbers(self, session: "Session", last: int) -> None:
        """Events are numbered from above this one on."""
        ...

    def leave_traces(self) -> Executable | None:
        """Says, with the delete itself, that the files must be purged of it; None where that is not ours to do."""
        ...

    def settled(self, transaction: ColumnElement[int]) -> ColumnElement[bool]:
        """No event of an earlier transaction than this one can still appear."""
        ...

    def horizon(self) -> ColumnElement[int]:
        """A transaction that is later than every one whose events can be seen."""
        ...

    @property
    def counts_events(self) -> bool:
        """Whether the writer numbers events itself."""
        ...

    @property
    def terms(self) -> Terms:
        """The search index's table of words."""
        ...

    @property
    def passage_terms(self) -> Terms:
        """The words of the passages of vaults."""
        ...


@cache
def upsert_with(
    new_insert: Callable[[Table], Any], table: Table, key: tuple[str, ...], update: tuple[str, ...]
) -> Insert:
    """The dialect's `upsert`, made once: its own insert knows what to do on a conflict."""
    statement = new_insert(table)
    if not update:
        return statement.on_conflict_do_nothing(index_elements=key or None)
    return statement.on_conflict_do_update(
        index_elements=key, set_={name: statement.excluded[name] for name in update}
    )


class Session:
    """A connection in a transaction, for reading."""

    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection = connection
        self.dialect = dialect
        self.driver: Any = connection.connection.driver_connection
        """The driver's own connection."""
        self._known: dict[Hashable, Any] = {}

    @property
    def connection(self) -> Connection:
        """For what only one database can do; its own module asks."""
        return self._connection

    def execute(self, statement: Executable, values: Values | None = None) -> CursorResult[Any]:
        return self._connection.execute(statement, values)

    def one(self, statement: Executable, make: Callable[[Any], T]) -> T | None:
        """The only row of a query, as `make` gives it; None where there is none."""
        row = self.execute(statement).one_or_none()
        return None if row is None else make(row)

    def once(self, key: Hashable, read: Callable[[], T]) -> T:
        """What is needed several times of one snapshot, read the first time."""
        if key not in self._known:
            self._known[key] = read()
        return self._known[key]

    def know(self, values: Mapping[Hashable, object]) -> None:
        """Values for `once` that were read together with something else."""
        self._known.update(values)

    def execute_many(self, statement: Executable, rows: Sequence[Values]) -> None:
        """The same statement for each of many rows."""
        if rows:
            self._connection.execute(statement, rows)

    def rows(self, statement: ClauseElement, values: Values) -> list[tuple[Any, ...]]:
        """All rows of what is asked often, as plain tuples: compiled once, then straight to the driver."""
        prepared = CompiledStatement.of(self._connection, statement)
        return self.dialect.fetch(self.driver, prepared.sql, prepared.parameters(values))


class CompiledStatement:
    """One statement in one database's words.

    Values go to the driver untouched, so this is for columns that need no
    conversion: numbers, texts, bytes, booleans.
    """

    _known: ClassVar[dict[tuple[str, int, tuple[str, ...]], "CompiledStatement"]] = {}

    def __init__(
        self, connection: Connection, statement: ClauseElement, columns: Sequence[str] | None
    ) -> None:
        compiled = statement.compile(
            dialect=connection.dialect, column_keys=list(columns) if columns else None
        )
        if not isinstance(compiled, SQLCompiler):
            raise TypeError("only statements with parameters can be prepared")
        self.sql = str(compiled)
        order = tuple(compiled.positiontup or ()) if compiled.positional else None
        self._pick = None if order is None else _picker(order)
        # Constants in the statement's own text, such as LIMIT 1.
        self._fixed = {name: value for name, value in compiled.params.items() if value is not None}
        self._columns = tuple(columns or ())
        self._in_order = order == self._columns
        # Kept so that the identity by which it is known stays its own.
        self._statement = statement

    @classmethod
    def of(
        cls, connection: Connection, statement: ClauseElement, columns: Sequence[str] | None = None
    ) -> "CompiledStatement":
        key = connection.dialect.name, id(statement), tuple(columns or ())
        compiled = cls._known.get(key)
        if compiled is None:
            compiled = cls._known[key] = cls(connection, statement, columns)
        return compiled

    def in_order(self, rows: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        """The same for rows whose values are in the order of the columns."""
        if self._in_order:
            return rows
        return [self.parameters(dict(zip(self._columns, row, strict=True))) for row in rows]

    def parameters(self, values: Mapping[str, Any]) -> Any:
        """Values in the order and form the driver wants."""
        given = {**self._fixed, **values} if self._fixed else values
        return given if self._pick is None else self._pick(given)


def _picker(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Values of these names, always as a tuple."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple(values[name] for name in names)
