"""Copies of a whole grove: migration to another database, and backups taken while others write.

Everything is read in one snapshot and written in one transaction, so a copy is complete
or not there at all. Before it is committed, the rows are read back and compared.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Integer, Table, delete, func, select

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError, StorageError
from weft.interop.weft_json import JsonLine
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor, require_access, require_permission
from weft.runtime.transfer.doctor import broken_chains
from weft.runtime.transfer.exporter import Exporter
from weft.runtime.transfer.files import require_documents, temporary_file
from weft.runtime.transfer.import_target import DryRun, is_pristine
from weft.runtime.transfer.importer import FileImporter, Imported
from weft.store import schema
from weft.store.addresses import open_store
from weft.store.base import Store
from weft.store.blobs import BlobStore, blobs_beside, media_of_grove
from weft.store.session import Session
from weft.store.sqlite import SqliteStore, find_damage
from weft.store.sqlite_dialect import peek
from weft.store.transaction import Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.progress import Progress, silent

_BATCH = 2_000
_MODULUS = 2**256


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What was copied, and compared on both sides."""

    tables: dict[str, tuple[int, str]]
    """By table: how many rows, and the sum of their SHA-256s."""
    blobs: int
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(count for count, _ in self.tables.values())


def migrate_grove(source: str | Path, target: str | Path, *, progress: Progress = silent) -> Copied:
    """Copy a whole grove to a new place: a file or postgresql://…, in either direction."""
    with (
        contextlib.closing(open_store(source, create=False)) as here,
        contextlib.closing(open_store(target)) as there,
    ):
        if here.name == there.name:
            raise InvalidInputError("source and target are the same grove", hint="name another target")
        return copy_grove(here, there, progress)


def copy_grove(source: Store, target: Store, progress: Progress = silent) -> Copied:
    """Copy everything into an empty grove, or change nothing."""
    tables = schema.metadata.sorted_tables
    with source.read() as session:
        total = sum(_count(session, table) for table in tables)
        target.write(_require_empty)
        blobs, notes = copy_blobs(session, source, target)

        def work(transaction: Transaction) -> dict[str, tuple[int, str]]:
            _require_empty(transaction)
            for table in (schema.events, schema.grove, schema.agents):
                transaction.execute(delete(table))
            transaction.forget()
            done = _RowProgress(progress, 2 * total)
            return {str(table.name): _copy_table(session, transaction, table, done) for table in tables}

        copied = target.write(work)
    progress(2 * total, 2 * total)
    return Copied(tables=copied, blobs=blobs, notes=notes)


def copy_blobs(session: Session, source: Store, target: Store) -> tuple[int, tuple[str, ...]]:
    """Copy every blob that a node points to, and note how many are missing."""
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
class _RowProgress:
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
        raise ConflictError("the target grove is not empty", hint="copy into a new file or an empty database")


def _count(session: Session, table: Table) -> int:
    return int(session.execute(select(func.count()).select_from(table)).scalar_one())


def _copy_table(
    session: Session, transaction: Transaction, table: Table, done: _RowProgress
) -> tuple[int, str]:
    count = last = 0
    digest = _Sum()
    for rows in _batches(session, table):
        transaction.put(table, rows)
        digest.add(rows)
        count += len(rows)
        if table is schema.events:
            last = max(last, *(int(row["number"]) for row in rows))
        done.add(len(rows))
    _continue_numbers(transaction, table, last)
    written = _Sum()
    for rows in _batches(transaction, table):
        written.add(rows)
        done.add(len(rows))
    if written.text != digest.text:
        raise StorageError(
            f"the copy of {table.name} differs from the original", hint="nothing was written; try again"
        )
    return count, digest.text


def _batches(session: Session, table: Table) -> Iterator[list[dict[str, Any]]]:
    statement = table.select().order_by(*table.primary_key.columns)
    result = session.execute(statement.execution_options(yield_per=_BATCH))
    for part in result.mappings().partitions():
        rows = [dict(row) for row in part]
        if table is schema.events:
            # Transaction numbers are valid only in the database that assigned them.
            for row in rows:
                row["transaction"] = 0
        yield rows


def _continue_numbers(transaction: Transaction, table: Table, last_event: int) -> None:
    """Number new rows after those that were copied."""
    if table is schema.events:
        transaction.dialect.reserve_event_numbers(transaction, last_event)
    column = table.autoincrement_column
    if column is not None and column.name == "key" and isinstance(column.type, Integer):
        last = transaction.execute(select(func.max(column))).scalar()
        if last:
            transaction.dialect.reserve_keys(transaction, table, int(last))


class _Sum:
    """The sum of the SHA-256s of rows: equal for equal rows in any order."""

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
    raise TypeError(f"{type(value).__name__} is not a value of a column")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """A backup that was taken and checked."""

    file: str
    bytes: int
    blobs: int
    verified: bool
    """Whether every hash was recomputed, or only the file and the ends of the chains were checked."""
    notes: tuple[str, ...] = ()


def back_up(
    executor: Executor,
    actor: Actor,
    path: Path,
    *,
    overwrite: bool = False,
    verify: bool = False,
    progress: Progress = silent,
) -> BackedUp:
    """Copy the grove to a SQLite file, with its blobs in a folder beside it.

    The copy is a snapshot: every acknowledged operation, and no half of one. It gets its name
    after it was checked and synced to the disk. To restore it, open it.
    """
    path = path.expanduser().absolute()
    with executor.store.read() as session:
        require_permission(session, actor, Permission.LOOM_AWARE, "back up the grove")
        require_access(session, actor, MemberRole.OWNER)
        ask = "request elevated permissions or ask the human to back up the grove"
        require_documents(session, actor, "back up", hint=ask)
    executor.store.refuse_own_file(path)
    if overwrite:
        _refuse_open(path)
    with temporary_file(path, overwrite=overwrite) as temporary:
        if not executor.store.copy_file(temporary, progress):
            _copy_rows(executor.store, temporary, progress)
        blobs = BlobStore(blobs_beside(path))
        count, notes = _examine(temporary, executor.store, blobs, verify=verify, progress=progress)
        size = temporary.stat().st_size
    return BackedUp(file=str(path), bytes=size, blobs=count, verified=verify, notes=notes)


def _refuse_open(path: Path) -> None:
    """A replaced file must not leave the log of the old one beside it."""
    for suffix in ("-wal", "-journal"):
        log = path.with_name(path.name + suffix)
        if log.exists() and log.stat().st_size:
            raise StorageError(
                f"{path} is in use, or was not closed: {log.name} lies beside it",
                hint="close what has it open, or name another file",
            )


def _copy_rows(store: Store, temporary: Path, progress: Progress) -> None:
    target = SqliteStore(temporary)
    try:
        # The blobs are copied later, in `_examine`.
        target.blobs = store.blobs
        copy_grove(store, target, progress)
    finally:
        target.close()


def _examine(
    temporary: Path, store: Store, blobs: BlobStore, *, verify: bool, progress: Progress
) -> tuple[int, tuple[str, ...]]:
    count = missing = 0
    with peek(temporary) as session:
        damage = [*find_damage(session), *broken_chains(session)]
        if damage:
            raise StorageError(f"the copy is damaged: {damage[0]}", hint=Hint(HintKind.DOCTOR))
        blobs.take_name(session.execute(select(schema.grove.c.ulid)).scalar_one())
        for ref in sorted(media_of_grove(session)):
            if ref in store.blobs:
                blobs.copy(ref, store.blobs)
                count += 1
            else:
                missing += 1
        if verify:
            try:
                check_all(session, blobs, progress)
            except (InvalidInputError, LimitExceededError) as error:
                raise StorageError(
                    f"the copy does not verify: {error.message}", hint=Hint(HintKind.VERIFY)
                ) from error
    return count, (f"{missing:,} blobs are missing from the grove and from the backup",) if missing else ()


def check_all(session: Session, blobs: BlobStore, progress: Progress = silent) -> Imported:
    """Recompute every hash of every node and event, as an import into another grove does."""
    exporter = Exporter(session, blobs, None, progress)
    importer = FileImporter(exporter.scope, DryRun(blobs))
    for number, record in enumerate(exporter.records(), 2):
        importer.add(JsonLine(number, record))
    return importer.end()
