"""A grove whole, from one database to another, with equal hashes.

Everything is read in one snapshot and written in one transaction, so a copy is there
whole or not at all; before it is kept, what was written is read back and compared.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Integer, Table, delete, func, select

from weft.errors import ConflictError, InvalidInputError, NotFoundError, StorageError
from weft.runtime.transfer.import_target import is_pristine
from weft.store import schema
from weft.store.base import Store
from weft.store.media import media_of_grove
from weft.store.opening import open_store
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.progress import Progress, silent

__all__ = ["NOT_COPIED", "Copied", "copy_blobs", "copy_grove", "migrate_grove"]

NOT_COPIED: frozenset[str] = frozenset()
"""Tables that follow from others, and are made anew where they are needed."""
_BATCH = 2_000
_MODULUS = 2**256


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What was copied, and found equal on both sides."""

    tables: dict[str, tuple[int, str]]
    """By table: how many rows, and the sum of their SHA-256s."""
    blobs: int
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(count for count, _ in self.tables.values())


def migrate_grove(source: str | Path, target: str | Path, *, progress: Progress = silent) -> Copied:
    """Copy a grove whole to where there is none yet: a file or postgresql://…, either way."""
    here = open_store(source, create=False)
    try:
        there = open_store(target)
        try:
            if here.name == there.name:
                raise InvalidInputError("that is the grove itself", hint="name another place to copy it to")
            return copy_grove(here, there, progress)
        finally:
            there.close()
    finally:
        here.close()


def copy_grove(source: Store, target: Store, progress: Progress = silent) -> Copied:
    """Copy everything into an empty grove, or change nothing."""
    tables = [table for table in schema.metadata.sorted_tables if table.name not in NOT_COPIED]
    with source.read() as session:
        total = sum(_count(session, table) for table in tables)
        target.write(_require_empty)
        blobs, notes = copy_blobs(session, source, target)

        def work(transaction: Transaction) -> dict[str, tuple[int, str]]:
            _require_empty(transaction)
            for table in (schema.events, schema.grove, schema.agents):
                transaction.execute(delete(table))
            transaction.cache.clear()
            done = _Done(progress, 2 * total)
            return {str(table.name): _copy_table(session, transaction, table, done) for table in tables}

        copied = target.write(work)
    progress(2 * total, 2 * total)
    return Copied(tables=copied, blobs=blobs, notes=notes)


def copy_blobs(session: Session, source: Store, target: Store) -> tuple[int, tuple[str, ...]]:
    """Every blob that a node points to. One that is missing here is told, and does not stop the rest."""
    count = missing = 0
    if source.blobs.folder == target.blobs.folder:
        source.blobs.share()
    target.blobs.take_name(session.execute(select(schema.grove.c.ulid)).scalar_one())
    for ref in sorted(media_of_grove(session)):
        try:
            target.blobs.copy(ref, source.blobs)
            count += 1
        except NotFoundError:
            missing += 1
    return count, (f"{missing:,} blobs are missing, and were not copied",) if missing else ()


@dataclass(slots=True)
class _Done:
    progress: Progress
    total: int
    count: int = 0

    def add(self, count: int) -> None:
        self.count += count
        self.progress(self.count, self.total)


def _require_empty(transaction: Transaction) -> None:
    if transaction.execute(select(schema.grove.c.key)).first() is None:
        return
    if not is_pristine(transaction):
        raise ConflictError(
            "the target is a grove with something in it", hint="copy into a new file or an empty database"
        )


def _count(session: Session, table: Table) -> int:
    return int(session.execute(select(func.count()).select_from(table)).scalar_one())


def _copy_table(session: Session, transaction: Transaction, table: Table, done: _Done) -> tuple[int, str]:
    count = last = 0
    digest = _Sum()
    for rows in _batches(session, table):
        transaction.put(table, rows)
        digest.add(rows)
        count += len(rows)
        if table is schema.events:
            last = max(last, *(int(row["number"]) for row in rows))
        done.add(len(rows))
    _count_on(transaction, table, last)
    kept = _Sum()
    for rows in _batches(transaction, table):
        kept.add(rows)
        done.add(len(rows))
    if kept.text != digest.text:
        raise StorageError(
            f"the copy of {table.name} is not equal to the original", hint="nothing was kept; try again"
        )
    return count, digest.text


def _batches(session: Session, table: Table) -> Iterator[list[dict[str, Any]]]:
    statement = table.select().order_by(*table.primary_key.columns)
    result = session.execute(statement.execution_options(yield_per=_BATCH))
    for part in result.mappings().partitions():
        rows = [dict(row) for row in part]
        if table is schema.events:
            # Transaction numbers mean something only to the database that gave them.
            for row in rows:
                row["transaction"] = 0
        yield rows


def _count_on(transaction: Transaction, table: Table, last_event: int) -> None:
    """New rows go on after those that were copied."""
    if table is schema.events:
        transaction.dialect.reserve_event_numbers(transaction, last_event)
    column = table.autoincrement_column
    if column is not None and column.name == "key" and isinstance(column.type, Integer):
        last = transaction.execute(select(func.max(column))).scalar()
        if last:
            transaction.dialect.reserve_keys(transaction, table, int(last))


class _Sum:
    """The SHA-256s of rows, added up: equal for equal rows in any order, whatever sorts them."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            data = orjson.dumps(list(row.values()), default=_hex)
            self._sum += int.from_bytes(hashlib.sha256(data).digest())
        self._sum %= _MODULUS

    @property
    def text(self) -> str:
        return f"{self._sum:064x}"


def _hex(value: object) -> str:
    if isinstance(value, bytes | memoryview):
        return value.hex()
    raise TypeError(f"{type(value).__name__} is not a column's value")
