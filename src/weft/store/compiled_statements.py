"""Statements compiled once and handed to the driver as they are, where thousands run a second."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar

from sqlalchemy import Connection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement


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
        found = cls._known.get(key)
        if found is None:
            found = cls._known[key] = cls(connection, statement, columns)
        return found

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
