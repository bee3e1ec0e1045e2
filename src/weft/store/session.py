"""Statements against one connection, the same on every database."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import ColumnElement, Connection, CursorResult, Executable, Insert, Table

if TYPE_CHECKING:
    from weft.store.search import Terms

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

    def execute(self, statement: Executable, values: Values | None = None) -> CursorResult[Any]:
        return self._connection.execute(statement, values)
