"""Statements against one connection, the same on every database."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import ColumnElement, Connection, CursorResult, Executable, Insert, Table
from sqlalchemy.sql.elements import ClauseElement

from weft.store.compiled_statements import CompiledStatement

if TYPE_CHECKING:
    from weft.store.text_index import Terms

Values = Mapping[str, Any]


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

    def together(self, driver: Any) -> AbstractContextManager[object]:
        """What is sent inside travels together, where the driver can do that."""
        ...

    def upsert(self, table: Table, key: Sequence[str], update: Sequence[str]) -> Insert:
        """Insert, or update these columns where the key is there already (none: leave it).

        Without a key: leave whatever it would collide with.
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
    def terms(self) -> "Terms":
        """The search index's table of words."""
        ...


class Session:
    """A connection in a transaction, for reading."""

    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection = connection
        self.dialect = dialect

    @property
    def connection(self) -> Connection:
        """For what only one database can do; its own module asks."""
        return self._connection

    def execute(self, statement: Executable, values: Values | None = None) -> CursorResult[Any]:
        return self._connection.execute(statement, values)

    def rows(self, statement: ClauseElement, values: Values) -> list[tuple[Any, ...]]:
        """All rows of what is asked often, as plain tuples: compiled once, then straight to the driver."""
        prepared = CompiledStatement.of(self._connection, statement)
        return self.dialect.fetch(self.driver, prepared.sql, prepared.parameters(values))

    @property
    def driver(self) -> Any:
        """The driver's own connection."""
        return self._connection.connection.driver_connection
