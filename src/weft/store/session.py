"""Statements against one connection, the same on every database."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, CursorResult, Executable, Insert, Table

__all__ = ["Dialect", "Session"]

Values = Mapping[str, Any]


class Dialect(Protocol):
    """The few things that SQLite and PostgreSQL say differently."""

    def among(self, column: ColumnElement[int], keys: Sequence[int]) -> ColumnElement[bool]:
        """The column's value is one of many integers, passed as one parameter."""
        ...

    def upsert(self, table: Table, key: Sequence[str], update: Sequence[str]) -> Insert:
        """Insert, or update these columns where the key is there already (none: leave it)."""
        ...

    def insert_events(self) -> Insert:
        """The insert that numbers events in an order that followers can rely on."""
        ...

    def last_key(self, session: "Session", table: Table) -> int:
        """The highest key that was given to a row of the table, as far as the database knows."""
        ...

    def reserve_keys(self, session: "Session", table: Table, last: int) -> None:
        """Keys up to this one will not be given to new rows; whoever asks puts them in."""
        ...

    def reserve_event_numbers(self, session: "Session", last: int) -> None:
        """Events are numbered from above this one on."""
        ...

    @property
    def counts_events(self) -> bool:
        """Whether the writer numbers events itself."""
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
