"""Statements compiled once and handed to the driver as they are, where thousands run a second."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar

from sqlalchemy import Connection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

__all__ = ["Prepared"]


class Prepared:
    """One statement in one database's words.

    Values go to the driver untouched, so this is for columns that need no
    conversion: numbers, texts, bytes, booleans.
    """

    _known: ClassVar[dict[tuple[str, int, tuple[str, ...]], "Prepared"]] = {}

    def __init__(
        self, connection: Connection, statement: ClauseElement, columns: Sequence[str] | None
    ) -> None:
        compiled = statement.compile(
            dialect=connection.dialect, column_keys=list(columns) if columns else None
        )
        if not isinstance(compiled, SQLCompiler):
            raise TypeError("only statements with parameters can be prepared")
        self._sql = str(compiled)
        order = tuple(compiled.positiontup or ()) if compiled.positional else ()
        self._pick = itemgetter(*order) if len(order) > 1 else None
        # Kept so that the identity by which it is known stays its own.
        self._statement = statement

    @classmethod
    def of(
        cls, connection: Connection, statement: ClauseElement, columns: Sequence[str] | None = None
    ) -> "Prepared":
        key = connection.dialect.name, id(statement), tuple(columns or ())
        found = cls._known.get(key)
        if found is None:
            found = cls._known[key] = cls(connection, statement, columns)
        return found

    def all(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """Rows as the driver gives them; its errors too."""
        driver: Any = connection.connection.driver_connection
        return driver.execute(self._sql, self._parameters(values)).fetchall()

    def many(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        connection.exec_driver_sql(self._sql, [self._parameters(row) for row in rows])

    def _parameters(self, values: Mapping[str, Any]) -> Any:
        return values if self._pick is None else self._pick(values)
