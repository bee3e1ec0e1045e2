"""Stores that refuse one table: what fails in the middle must leave nothing behind."""

from sqlalchemy import text

import weft
from weft.store.sqlite import SqliteStore


def refuse(grove: weft.Grove, table: str, event: str = "INSERT") -> None:
    """From now on the database itself refuses to change this table."""
    for statement in _refusing(table, event, is_file=_is_file(grove)):
        _write(grove, statement)


def allow(grove: weft.Grove, table: str) -> None:
    where = "" if _is_file(grove) else f" ON {table}"
    _write(grove, f"DROP TRIGGER refused_{table}{where}")


def _is_file(grove: weft.Grove) -> bool:
    return isinstance(grove.caller.executor.store, SqliteStore)


def _refusing(table: str, event: str, *, is_file: bool) -> list[str]:
    if is_file:
        return [
            (
                f"CREATE TRIGGER refused_{table} BEFORE {event} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'refused'); END"
            )
        ]
    return [
        (
            "CREATE OR REPLACE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'refused'; END $$"
        ),
        f"CREATE TRIGGER refused_{table} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION refused()",
    ]


def _write(grove: weft.Grove, statement: str) -> None:
    grove.caller.executor.store.write(lambda transaction: transaction.execute(text(statement)))
