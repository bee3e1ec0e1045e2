"""Imports of uploaded files as rows: how far each is, its report, and what became of each conversation."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from sqlalchemy import Row, delete, func, select, update

from weft.store import schema
from weft.store.session import Session
from weft.store.transaction import Transaction

_imports, _conversations = schema.imports, schema.imported_conversations
IMPORT_JOB = "import"
"""The kind of job that imports an uploaded file: the target is the import."""


class ImportState(IntEnum):
    """Stored as it is: append only."""

    WAITING = 0
    READING = 1
    WRITING = 2
    STOPPING = 3
    """A person wants it to stop; it does after the conversation that is being written."""
    COMPLETE = 4
    STOPPED = 5
    FAILED = 6


OPEN = (ImportState.WAITING, ImportState.READING, ImportState.WRITING, ImportState.STOPPING)
"""Not ended yet."""


class ImportRow(NamedTuple):
    key: int
    ulid: str
    agent: int
    user: int | None
    name: str
    bytes: int
    options: str
    state: ImportState
    done: int
    total: int
    report: str
    error: str | None
    created_at: int
    started_at: int | None
    ended_at: int | None


def _row(stored: Row[*tuple[Any, ...]]) -> ImportRow:
    row = ImportRow._make(stored)
    return row._replace(state=ImportState(row.state))


def import_row(session: Session, ulid: str) -> ImportRow | None:
    return session.one(select(_imports).where(_imports.c.ulid == ulid), _row)


def import_by_key(session: Session, key: int) -> ImportRow | None:
    return session.one(select(_imports).where(_imports.c.key == key), _row)


def list_imports(session: Session, limit: int) -> list[ImportRow]:
    """The latest first."""
    statement = select(_imports).order_by(_imports.c.key.desc()).limit(limit)
    return [_row(row) for row in session.execute(statement)]


def open_imports(session: Session) -> int:
    """How many have not ended."""
    return session.execute(
        select(func.count()).select_from(_imports).where(_imports.c.state.in_(OPEN))
    ).scalar_one()


def advance_import(transaction: Transaction, key: int, states: Sequence[ImportState], **values: Any) -> bool:
    """Change an import that is in one of these states; False if it is in another."""
    changed = update(_imports).where(_imports.c.key == key, _imports.c.state.in_(states)).values(**values)
    return transaction.execute(changed).rowcount > 0


def add_conversation(transaction: Transaction, key: int, ordinal: int, value: str) -> None:
    transaction.add(_conversations, {"import": key, "ordinal": ordinal, "value": value})


def forget_conversations(transaction: Transaction, key: int) -> None:
    """Of an import that wrote nothing and begins again."""
    transaction.execute(delete(_conversations).where(_conversations.c["import"] == key))


def conversations_of(session: Session, key: int, first: int, limit: int) -> list[str]:
    """What became of conversations, from one on, as JSON."""
    statement = (
        select(_conversations.c.value)
        .where(_conversations.c["import"] == key, _conversations.c.ordinal >= first)
        .order_by(_conversations.c.ordinal)
        .limit(limit)
    )
    return list(session.execute(statement).scalars())
