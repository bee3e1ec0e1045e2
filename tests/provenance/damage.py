"""Changing stored values behind Weft's back, one byte at a time, and putting them back."""

import contextlib
import random
import sqlite3
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Boolean, Integer, LargeBinary, SmallInteger, Table

from weft.store import schema

SPARED_TABLES = {
    *("cursors", "selections", "buffers"),  # where people stand, and what they have not said yet
    *("leases", "idempotency", "jobs", "group_index"),  # bookkeeping, not history
    *("proxy_sessions", "proxy_requests", "proxy_keys", "proxy_segments"),  # found by, not history
    *("calls", "pieces", "runs", "spending", "provider_caches"),  # of the moment, and what was paid
    *("imports", "imported_conversations"),  # reports, not history
}
SPARED = {
    # In which order followers were told of events; given by the database, after the hash.
    ("events", "number"),
    ("events", "transaction"),
    # Keys that a database gives out itself; everything is named by its ULID.
    *(
        ("links", "key"),
        ("tags", "key"),
        ("documents", "key"),
        ("agents", "key"),
        ("projects", "key"),
        ("vaults", "key"),
        ("records", "key"),
        ("users", "key"),
        ("tokens", "key"),
    ),
    # May run ahead, because leases draw their tokens from it; behind the nodes it is found.
    ("trees", "next_key"),
    # Working state while a model speaks, or until an authority answers.
    *(("attempts", "partial"), ("trees", "leased_until"), ("tokens", "used_at")),
    *(("timestamps", "attempts"), ("timestamps", "next_try"), ("timestamps", "error")),
}


@dataclass(frozen=True)
class Place:
    """One byte of one stored value."""

    table: Table
    key: tuple[Any, ...]
    column: str
    value: Any
    byte: int

    def __str__(self) -> str:
        return f"{self.table.name}{self.key}.{self.column}[{self.byte}] of {self.value!r:.60}"


def places(grove: Any) -> Iterator[Place]:
    """Every byte of every value that verify answers for."""
    for table in schema.metadata.sorted_tables:
        if table.name in SPARED_TABLES:
            continue
        for key, row in rows_of(grove, table):
            for column in table.columns:
                if (table.name, column.name) not in SPARED:
                    value = getattr(row, column.name)
                    for byte in range(length_of(column, value)):
                        yield Place(table, key, column.name, value, byte)


def rows_of(grove: Any, table: Table) -> list[tuple[tuple[Any, ...], Any]]:
    """The rows of a table, each with its key."""
    names = [column.name for column in table.primary_key.columns]
    with grove.caller.executor.store.read() as session:
        rows = list(session.execute(table.select()))
    return [(tuple(getattr(row, name) for name in names), row) for row in rows]


def length_of(column: Any, value: Any) -> int:
    if value is None:
        return 1
    if isinstance(value, bool):
        return 1
    if isinstance(value, float):
        return 1
    if isinstance(value, int):
        return {SmallInteger: 1, Integer: 3}.get(type(column.type), 7)
    return len(value.encode()) if isinstance(value, str) else len(value)


def flipped(place: Place, chance: random.Random) -> Any:
    """The value with one byte changed; bytes where it is no text any more."""
    value, mask = place.value, chance.randrange(1, 256)
    column = place.table.c[place.column]
    if value is None:
        if isinstance(column.type, LargeBinary):
            return b"\0"
        return True if isinstance(column.type, Boolean) else 1 if isinstance(column.type, Integer) else "x"
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value + mask
    if isinstance(value, int):
        return value ^ ((mask & 127 or 1) << 8 * place.byte)
    data = bytearray(value.encode() if isinstance(value, str) else value)
    data[place.byte] ^= mask
    if not isinstance(value, str):
        return bytes(data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return bytes(data)


class Vandal:
    """Writes to the database as someone with the file, or the password, could."""

    def __init__(self, address: str) -> None:
        self.postgres = address.startswith("postgresql")
        if self.postgres:
            self._connection: Any = psycopg.connect(address, autocommit=True)
            self._connection.execute("SET session_replication_role = replica")
            self._connection.execute("SET synchronous_commit = off")
        else:
            self._connection = sqlite3.connect(address, isolation_level=None)
            # Damage need not last: it is undone at once.
            self._connection.execute("PRAGMA synchronous = OFF")

    def close(self) -> None:
        self._connection.close()

    def drop_constraints(self) -> None:
        """Let every column hold nothing, and every value that its type allows."""
        if self.postgres:
            for table in schema.metadata.sorted_tables:
                for column in table.columns:
                    if not column.nullable and not column.primary_key:
                        self._connection.execute(
                            sql.SQL("ALTER TABLE {} ALTER COLUMN {} DROP NOT NULL").format(
                                sql.Identifier(table.name), sql.Identifier(column.name)
                            )
                        )
            return
        self._connection.execute("PRAGMA ignore_check_constraints = ON")
        self._connection.execute("PRAGMA writable_schema = ON")
        self._connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'"
        )
        self._connection.execute("PRAGMA writable_schema = RESET")

    @contextlib.contextmanager
    def change(self, place: Place, value: Any) -> Generator[bool]:
        """The value in place of the true one for a while; False where the database refuses it."""
        names = [column.name for column in place.table.primary_key.columns]
        key = list(place.key)
        if self.postgres and place.column in names and type(value) is not type(place.value):
            # Converted by the database, so that the row would not be found again.
            yield False
            return
        if not self._set(place, value, key):
            yield False
            return
        if place.column in names:
            key[names.index(place.column)] = value
        try:
            yield True
        finally:
            assert self._set(place, place.value, key)

    def _set(self, place: Place, value: Any, key: list[Any]) -> bool:
        names = [column.name for column in place.table.primary_key.columns]
        text = not isinstance(place.table.c[place.column].type, LargeBinary) and isinstance(value, bytes)
        if self.postgres:
            blob = not isinstance(place.table.c[place.column].type, LargeBinary) and isinstance(
                value, bytearray
            )
            if text or blob or (isinstance(value, str) and "\0" in value):
                return False
            where = sql.SQL(" AND ").join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in names)
            statement: Any = sql.SQL("UPDATE {} SET {} = %s WHERE {}").format(
                sql.Identifier(place.table.name), sql.Identifier(place.column), where
            )
        else:
            shown = "CAST(? AS TEXT)" if text else "?"
            where = " AND ".join(f'"{name}" IS {self._mark(place, name, key)}' for name in names)
            statement = f'UPDATE "{place.table.name}" SET "{place.column}" = {shown} WHERE {where}'
        try:
            return self._connection.execute(statement, [value, *key]).rowcount == 1
        except (sqlite3.IntegrityError, psycopg.IntegrityError, psycopg.DataError, psycopg.ProgrammingError):
            return False

    @staticmethod
    def _mark(place: Place, name: str, key: list[Any]) -> str:
        names = [column.name for column in place.table.primary_key.columns]
        text = not isinstance(place.table.c[name].type, LargeBinary)
        return "CAST(? AS TEXT)" if text and isinstance(key[names.index(name)], bytes) else "?"
