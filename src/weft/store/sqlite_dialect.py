"""What SQLite says in its own way."""

import contextlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Insert,
    Table,
    bindparam,
    func,
    insert,
    literal,
    select,
    text,
)
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from weft.store import schema
from weft.store.session import Session
from weft.store.sqlite_text_index import SqliteTerms


class SqliteDialect:
    """What SQLite says in its own way."""

    counts_events = True
    terms = SqliteTerms()

    def among(self, column: ColumnElement[int], keys: Sequence[int]) -> ColumnElement[bool]:
        # Not a join: the planner would be free to scan the keys once for every row of the table.
        wanted = func.json_each(literal(self.keys(keys))).table_valued("value")
        return column.in_(select(wanted.c.value))

    def among_given(self, column: ColumnElement[int], name: str) -> ColumnElement[bool]:
        return column.in_(select(func.json_each(bindparam(name)).table_valued("value").c.value))

    def keys(self, keys: Sequence[int]) -> object:
        return json.dumps(list(keys))

    def fetch(self, driver: Any, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        return driver.execute(sql, parameters).fetchall()

    def send(self, driver: Any, sql: str, rows: Sequence[Any]) -> None:
        driver.executemany(sql, rows)

    def together(self, driver: Any) -> contextlib.AbstractContextManager[object]:  # noqa: ARG002 - nothing to save
        return contextlib.nullcontext()

    def upsert(self, table: Table, key: Sequence[str], update: Sequence[str]) -> Insert:
        return _upsert(table, tuple(key), tuple(update))

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


@cache
def _upsert(table: Table, key: tuple[str, ...], update: tuple[str, ...]) -> Insert:
    statement = sqlite_insert(table)
    if not update:
        return statement.on_conflict_do_nothing(index_elements=key or None)
    return statement.on_conflict_do_update(
        index_elements=key, set_={name: statement.excluded[name] for name in update}
    )


DIALECT = SqliteDialect()
"""One for all: statements are kept by it."""
