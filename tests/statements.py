"""Hearing every statement that goes to a database, however it is sent."""

import contextlib
import threading
from collections.abc import Generator
from typing import Any

from sqlalchemy import event

from weft.store.base import Store
from weft.store.sqlite import SqliteStore


@contextlib.contextmanager
def statements(store: Store, *, mine: bool = False) -> Generator[list[str]]:
    """What is said meanwhile, by way of SQLAlchemy or straight to the driver; `mine`: by this thread only."""
    heard: list[str] = []
    me = threading.get_ident()
    with store.read() as session:
        dialect: Any = type(session.dialect)
    fetch, send = dialect.fetch, dialect.send

    def note(statement: str) -> None:
        if not mine or threading.get_ident() == me:
            heard.append(statement)

    def listen(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        note(statement)

    def fetched(self: Any, driver: Any, sql: str, parameters: Any) -> Any:
        note(sql)
        return fetch(self, driver, sql, parameters)

    def sent(self: Any, driver: Any, sql: str, rows: Any) -> None:
        note(sql)
        send(self, driver, sql, rows)

    engines = _engines(store)
    for engine in engines:
        event.listen(engine, "before_cursor_execute", listen)
    dialect.fetch, dialect.send = fetched, sent
    try:
        yield heard
    finally:
        dialect.fetch, dialect.send = fetch, send
        for engine in engines:
            event.remove(engine, "before_cursor_execute", listen)


def _engines(store: Any) -> list[Any]:
    """Those who read, and the one who writes."""
    if isinstance(store, SqliteStore):
        return [store._file._readers, store._file._connection.engine]
    return [store._engine]
