"""Imports of uploaded files as jobs: they go on when the client is gone, and again after the process was killed."""

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from sqlalchemy import select

from weft.argument_checks import Options, option
from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError, WeftError
from weft.ids import new_ulid
from weft.interop.source_file import opened_files
from weft.interop.weft_json import begins_as_weft
from weft.runtime.coordination.background import BackgroundWorker, worker_of
from weft.runtime.coordination.jobs import JobInterrupted, JobKind, JobRunner, RunningJob
from weft.runtime.operations.executor import Caller, Executor
from weft.runtime.operations.permissions import Actor, require_access
from weft.runtime.transfer.conversation_import import ConversationImport
from weft.runtime.transfer.files import import_file
from weft.runtime.transfer.import_report import ImportedConversation, ImportTotals
from weft.store import schema
from weft.store.base import Store
from weft.store.imports import (
    IMPORT_JOB,
    OPEN,
    ImportRow,
    ImportState,
    add_conversation,
    advance_import,
    conversations_of,
    import_by_key,
    import_row,
    list_imports,
    open_imports,
)
from weft.store.jobs import enqueue
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json import JsonObject
from weft.tree.json_names import from_microseconds, iso

UPLOAD_LIMIT = 4 * 1024 * 1024 * 1024
"""Bytes of an uploaded file, unless a server is told otherwise."""
_WAITING = 20
"""Imports that have not ended, at most."""
_FREE = 256 * 1024 * 1024
"""Bytes that an upload leaves free on the disk."""
_ATTEMPTS = 3
_OFTEN = 0.25
"""Seconds between two notes of the progress of reading."""
_ABANDONED = 24 * 3600.0
"""Seconds after which an upload that no import knows is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions(Options):
    """How an uploaded file is imported."""

    name: str = option("", "The file's name, for the report.", most=500)
    format: str | None = option(None, "The program it comes from; default: by its content.")
    dry_run: bool = option(False, "Report what would be imported; write nothing.")
    strict: bool = option(False, "Import nothing if one conversation cannot be read.")


def upload_folder(store: Store) -> Path:
    """Where uploaded files lie until they are imported: beside the media."""
    return store.blobs.folder.with_name(f"{store.blobs.folder.name}-uploads")


def new_upload(store: Store, size: int | None, limit: int = UPLOAD_LIMIT) -> Path:
    """An empty file for an upload that is to have so many bytes; refused before a byte of it is read."""
    if size is not None and size > limit:
        raise LimitExceededError(f"the file has {size:,} bytes, the limit is {limit:,}")
    folder = upload_folder(store)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if shutil.disk_usage(folder).free < (size or 0) + _FREE:
            raise StorageError("there is not enough room on the disk for this file", hint="free some space")
        handle, name = tempfile.mkstemp(dir=folder, prefix="upload-")
    except OSError as error:
        raise StorageError(f"cannot keep an upload: {error.strerror}") from error
    os.close(handle)
    return Path(name)


@dataclass(frozen=True, slots=True)
class Imports:
    """Imports of uploaded files: start, list, read their reports, stop."""

    caller: Caller

    def require_permission(self) -> None:
        """Refuse those who may not import, and more imports than can wait: before a file is read."""
        with self.caller.reading(Permission.LOOM_WRITE, "import") as session:
            require_access(session, self.caller.actor, MemberRole.EDITOR)
            if open_imports(session) >= _WAITING:
                raise LimitExceededError(
                    f"{_WAITING} imports have not ended yet", hint="wait for them, or stop some"
                )

    def start(self, upload: Path, options: ImportOptions) -> JsonObject:
        """Import a file of `new_upload` in the background; it is deleted when the import has ended."""
        self.require_permission()
        executor, actor = self.caller.executor, self.caller.actor
        now = executor.clock()
        ulid = new_ulid(now, executor.entropy)
        values: dict[str, Any] = {
            "ulid": ulid,
            "agent": actor.agent,
            "user": actor.user,
            "name": options.name or "upload",
            "bytes": upload.stat().st_size,
            "options": json.dumps(
                {
                    "file": upload.name,
                    "format": options.format,
                    "dryRun": options.dry_run,
                    "strict": options.strict,
                }
            ),
            "state": ImportState.WAITING.value,
            "done": 0,
            "total": 0,
            "report": json.dumps(ImportTotals().to_wire()),
            "created_at": now,
        }

        def work(transaction: Transaction) -> None:
            transaction.execute(schema.imports.insert().values(**values))
            key = transaction.execute(
                select(schema.imports.c.key).where(schema.imports.c.ulid == ulid)
            ).scalar_one()
            enqueue(transaction, IMPORT_JOB, now=now, target=key)

        self.caller.store.write(work)
        start_imports(executor)
        return self.report(ulid)

    def all(self, limit: int = 100) -> list[JsonObject]:
        """The latest first: those of this user, or all for an owner of the grove."""
        with self.caller.reading() as session:
            rows = [row for row in list_imports(session, limit) if self.may_read(session, row)]
        return [_described(row) for row in rows]

    def report(self, name: str) -> JsonObject:
        """How far an import is, and what it kept and did not keep so far."""
        with self.caller.reading() as session:
            return _described(self._row(session, name))

    def conversations(self, name: str, first: int = 0, limit: int = 100) -> list[JsonObject]:
        """What became of each conversation, in the order of the file."""
        with self.caller.reading() as session:
            row = self._row(session, name)
            return [json.loads(value) for value in conversations_of(session, row.key, first, limit)]

    def stop(self, name: str) -> JsonObject:
        """Stop after the conversation that is being written; what was written stays."""
        with self.caller.reading(Permission.LOOM_WRITE, "stop an import") as session:
            row = self._row(session, name)

        def work(transaction: Transaction) -> None:
            advance_import(transaction, row.key, OPEN, state=ImportState.STOPPING.value)

        self.caller.store.write(work)
        start_imports(self.caller.executor)
        return self.report(name)

    def _row(self, session: Session, name: str) -> ImportRow:
        row = import_row(session, name.upper())
        if row is None or not self.may_read(session, row):
            raise NotFoundError(f"no import {name[:60]!r}")
        return row

    def may_read(self, session: Session, row: ImportRow) -> bool:
        actor = self.caller.actor
        if actor.user is None or actor.user == row.user:
            return True
        try:
            require_access(session, actor, MemberRole.OWNER)
        except WeftError:
            return False
        return True


def _described(row: ImportRow) -> JsonObject:
    options = json.loads(row.options)
    moments = {
        name: None if moment is None else iso(from_microseconds(moment))
        for name, moment in (
            ("createdAt", row.created_at),
            ("startedAt", row.started_at),
            ("endedAt", row.ended_at),
        )
    }
    return {
        "id": row.ulid,
        "name": row.name,
        "bytes": row.bytes,
        "status": row.state.name.lower(),
        "dryRun": options["dryRun"],
        "strict": options["strict"],
        "done": row.done,
        "total": row.total,
        "error": row.error,
        **moments,
        **json.loads(row.report),
    }


class _ImportWorker(BackgroundWorker):
    """Imports what was uploaded, one file at a time."""

    name: ClassVar[str] = "weft-imports"
    every: ClassVar[float] = 5.0
    gather: ClassVar[float] = 0.0
    patience: ClassVar[float] = 10.0

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor.store)
        self._settings = executor.clock, executor.entropy, executor.accept_clock
        self._cleaned = False

    def work(self, store: Store) -> None:
        executor = Executor(store, *self._settings)
        if not self._cleaned:
            self._cleaned = True
            _delete_abandoned(store)
        kinds = {IMPORT_JOB: JobKind(run=lambda job: run_import(executor, job), max_attempts=_ATTEMPTS)}
        JobRunner(executor, kinds, stopping=self.stopping).run_pending()


def start_imports(executor: Executor) -> None:
    """Import what was uploaded and was not finished, until the grove is closed."""
    worker_of(executor.store, _ImportWorker, lambda: _ImportWorker(executor)).wake()


def _delete_abandoned(store: Store) -> None:
    """Uploads whose process was killed before they were whole."""
    with store.read() as session:
        known = {
            json.loads(row.options)["file"] for row in list_imports(session, 10_000) if row.state in OPEN
        }
    folder = upload_folder(store)
    with contextlib.suppress(OSError):
        for path in folder.glob("upload-*"):
            if path.name not in known and time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink()


def run_import(executor: Executor, job: RunningJob) -> None:
    """Run one import, or go on with it after the conversations that are done."""
    with executor.store.read() as session:
        row = None if job.target is None else import_by_key(session, job.target)
    if row is None or row.state not in OPEN:
        return
    try:
        _ImportRun(executor, job, row).run()
    except WeftError as error:
        if error.retryable and job.attempt < _ATTEMPTS:
            raise
        _end(executor, row, ImportState.FAILED, error=error.message)
    except Exception:
        # A fault of our own: the log has it, and the report says so when no try is left.
        if job.attempt >= _ATTEMPTS:
            _end(executor, row, ImportState.FAILED, error="the import failed; the log has the details")
        raise


def _end(executor: Executor, row: ImportRow, state: ImportState, *, error: str | None = None) -> None:
    values = {"state": state.value, "error": error, "ended_at": executor.clock()}
    executor.store.write(lambda transaction: advance_import(transaction, row.key, OPEN, **values))
    with contextlib.suppress(OSError):
        _upload(executor.store, row).unlink()


def _upload(store: Store, row: ImportRow) -> Path:
    return upload_folder(store) / json.loads(row.options)["file"]


class _ImportRun:
    """One try of an import."""

    def __init__(self, executor: Executor, job: RunningJob, row: ImportRow) -> None:
        self._executor = executor
        self._job = job
        self._row = row
        self._options = json.loads(row.options)
        self._caller = Caller(executor, Actor(row.agent, row.user))
        self._totals = ImportTotals()
        self._about: JsonObject = {}
        self._noted = 0.0

    def run(self) -> None:
        path = _upload(self._executor.store, self._row)
        if not path.exists():
            raise NotFoundError("the uploaded file is gone", hint="upload it again")
        done = self._resumed()
        if begins_as_weft(path) and self._options["format"] is None:
            self._import_weft(path)
            return
        with opened_files(path, self._row.name) as files:
            under_way = ConversationImport(
                self._caller, files, format=self._options["format"], dry_run=self._options["dryRun"]
            )
            if not self._advance(
                state=ImportState.READING.value, started_at=self._row.started_at or self._executor.clock()
            ):
                return
            self._about = under_way.recognised()
            self._advance(report=self._report(""))
            total = under_way.read(strict=self._options["strict"], seen=self._read)
            if not self._advance(state=ImportState.WRITING.value, total=total):
                return
            for ordinal, conversation in enumerate(under_way.conversations(done), start=done):
                if not self._keep(ordinal, conversation, total):
                    return
        _end(self._executor, self._row, ImportState.COMPLETE)

    def _resumed(self) -> int:
        """Count again what an earlier try did; returns how many conversations that was."""
        with self._executor.store.read() as session:
            values = conversations_of(session, self._row.key, 0, 1_000_000)
        for value in values:
            self._totals.add(json.loads(value))
        return len(values)

    def _read(self, count: int) -> None:
        """Note now and then how many conversations were read."""
        if time.monotonic() - self._noted > _OFTEN:
            self._noted = time.monotonic()
            if not self._advance(total=count):
                self._interrupt()

    def _keep(self, ordinal: int, conversation: ImportedConversation, total: int) -> bool:
        value = json.dumps(self._totals.add(conversation), ensure_ascii=False)
        report = self._report(conversation.file)

        def work(transaction: Transaction) -> bool:
            add_conversation(transaction, self._row.key, ordinal, value)
            # It is written already: the report counts it, also if a person stopped the import meanwhile.
            advance_import(transaction, self._row.key, OPEN, done=ordinal + 1, report=report)
            return advance_import(transaction, self._row.key, _RUNNING, total=total)

        if self._executor.store.write(work):
            self._leave_if_stopping()
            return True
        self._stop()
        return False

    def _report(self, current: str) -> str:
        return json.dumps({**self._totals.to_wire(), **self._about, "current": current}, ensure_ascii=False)

    def _import_weft(self, path: Path) -> None:
        """A file of `weft export`: whole or not at all."""
        self._about = {"labels": ["Weft export"], "files": 1, "media": 0}
        if not self._advance(state=ImportState.WRITING.value, total=1, started_at=self._executor.clock()):
            return
        if self._options["dryRun"]:
            raise InvalidInputError(
                "a file of weft export is checked while it is imported", hint="import it without dryRun"
            )
        done = import_file(self._executor, self._caller.actor, path)
        for ordinal, conversation in enumerate(_trees(self._row.name, self._caller, done.trees)):
            self._keep(ordinal, conversation, len(done.trees))
        _end(self._executor, self._row, ImportState.COMPLETE)

    def _advance(self, **values: Any) -> bool:
        """Note how far it is; False if a person stopped it."""
        self._leave_if_stopping()
        write = self._executor.store.write
        if write(lambda transaction: advance_import(transaction, self._row.key, _RUNNING, **values)):
            return True
        self._stop()
        return False

    def _stop(self) -> None:
        _end(self._executor, self._row, ImportState.STOPPED)

    def _leave_if_stopping(self) -> None:
        if self._job.should_stop:
            self._interrupt()

    def _interrupt(self) -> NoReturn:
        raise JobInterrupted


_RUNNING = (ImportState.WAITING, ImportState.READING, ImportState.WRITING)


def _trees(file: str, caller: Caller, trees: Sequence[str]) -> Iterator[ImportedConversation]:
    table = schema.trees
    with caller.reading() as session:
        rows = session.execute(
            select(table.c.ulid, table.c.title, table.c.nodes).where(table.c.ulid.in_(trees))
        ).all()
    for number, row in enumerate(rows, start=1):
        yield ImportedConversation(
            file=file,
            place="",
            number=number,
            format="weft",
            source=row.ulid,
            title=row.title,
            tree=row.ulid,
            is_new=True,
            nodes=row.nodes,
            new_nodes=row.nodes,
            kept={"messages": row.nodes},
        )
