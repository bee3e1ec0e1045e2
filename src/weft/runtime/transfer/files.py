"""Export and import of files in Weft's own JSON."""

import contextlib
import gzip
import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from sqlalchemy import select

from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, NotFoundError, PermissionDeniedError, StorageError
from weft.interop.weft_json import JsonWriter
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.permissions import (
    Actor,
    permissions_of,
    require_access,
    require_permission,
    tree_for,
)
from weft.runtime.operations.scope import Scope
from weft.runtime.transfer.exporter import Exporter
from weft.runtime.transfer.import_target import DryRun, GroveTarget
from weft.runtime.transfer.importer import Imported, read_records
from weft.store import schema
from weft.store.blobs import sync_folder
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.progress import Progress, silent

__all__ = ["Exported", "Imported", "export_file", "import_file", "new_file"]

_READ_SIZE = 1 << 20
_SIDE_FILES = ("-wal", "-shm", "-lock", "-turn", "-journal")
"""What SQLite leaves beside a database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written to a file."""

    trees: int
    nodes: int
    records: int
    notes: tuple[str, ...]


def export_file(
    executor: Executor,
    actor: Actor,
    target: Path | BinaryIO,
    trees: Sequence[str] | None = None,
    *,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Exported:
    """Write these trees, or the whole grove, in one snapshot."""
    if isinstance(target, Path):
        executor.store.refuse_own_file(target)
    with executor.store.read() as session:
        require_permission(session, actor, Permission.LOOM_AWARE, "export")
        keys: list[int] | None = None
        if trees is None:
            require_access(session, actor, MemberRole.OWNER)
            require_documents(session, actor, "export", hint="name trees to export: they hold no documents")
        else:
            keys = list(dict.fromkeys(tree_for(session, actor, name) for name in trees))
        exporter = Exporter(session, executor.store.blobs, keys, progress)
        with contextlib.ExitStack() as stack:
            file = (
                stack.enter_context(new_file(target, overwrite=overwrite))
                if isinstance(target, Path)
                else target
            )
            writer = JsonWriter(file, exporter.scope)
            try:
                for record in exporter.records():
                    writer.write(record)
                writer.close()
            except OSError as error:
                if isinstance(error, BrokenPipeError):
                    raise
                raise StorageError(f"cannot write the file: {error.strerror or error}") from error
    return Exported(
        trees=exporter.tree_count,
        nodes=exporter.node_count,
        records=writer.count,
        notes=tuple(exporter.notes),
    )


def require_documents(session: Session, actor: Actor, verb: str, *, hint: str) -> None:
    """Refuse to copy a grove that has documents for an agent that may not read them."""
    has_documents = session.execute(select(schema.documents.c.key).limit(1)).first() is not None
    if has_documents and Permission.DOC_READ not in permissions_of(session, actor):
        raise PermissionDeniedError(f"doc_read not enabled: cannot {verb} documents", hint=hint)


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool) -> Generator[BinaryIO]:
    """A new file that gets its name once it is complete and synced to the disk."""
    with temporary_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packing:
                yield cast("BinaryIO", packing)
        else:
            yield file
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def temporary_file(path: Path, *, overwrite: bool) -> Generator[Path]:
    """An empty file beside `path` that replaces it at the end; after an error nothing is left of it."""
    refuse_existing(path, overwrite=overwrite)
    path = path.absolute()
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    except OSError as error:
        raise StorageError(f"cannot write in {path.parent}: {error.strerror}") from error
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        refuse_existing(path, overwrite=overwrite)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        for suffix in ("", *_SIDE_FILES):
            temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    if path.is_dir():
        raise ConflictError(f"{path} is a folder", hint="name a file in it")
    if not overwrite and path.exists():
        raise ConflictError(f"{path} is there already", hint=Hint(HintKind.OVERWRITE))


class ImportFile(Editing, verb="import"):
    """Import everything in a file, or nothing. Its chains continue here."""

    path: Path
    progress: Progress = field(default=silent, compare=False)

    def apply(self, scope: Scope) -> Imported:
        scope.open_grove()
        target = GroveTarget(scope)
        imported = read_records(self.path, target, self.progress)
        target.finish()
        return imported


def import_file(
    executor: Executor, actor: Actor, source: Path | BinaryIO, *, progress: Progress = silent
) -> Imported:
    """Check a whole file, then import it in one transaction.

    Others can write while it is checked, but not while it is imported.
    """
    if isinstance(source, Path):
        executor.store.refuse_own_file(source)
    with executor.store.read() as session:
        require_permission(session, actor, ImportFile.permission, ImportFile.verb)
        require_access(session, actor, ImportFile.access)
    with _on_disk(source) as path:
        passes = _TwoPasses(progress)
        read_records(path, DryRun(executor.store.blobs), passes.first)
        return executor.perform(actor, ImportFile(path=path, progress=passes.second))


@contextlib.contextmanager
def _on_disk(source: Path | BinaryIO) -> Generator[Path]:
    """A file that can be read twice; a pipe is copied to a temporary one."""
    if isinstance(source, Path):
        if source.is_file():
            yield source
            return
        if not source.exists() or source.is_dir():
            raise NotFoundError(f"there is no file {source}", hint=Hint(HintKind.EXPORTED_FILE))
    with tempfile.NamedTemporaryFile(prefix="weft-import-") as copy:
        try:
            with contextlib.ExitStack() as stack:
                piped = stack.enter_context(source.open("rb")) if isinstance(source, Path) else source
                shutil.copyfileobj(piped, copy, _READ_SIZE)
            copy.flush()
        except OSError as error:
            raise StorageError(f"cannot write a temporary copy of the input: {error.strerror}") from error
        yield Path(copy.name)


@dataclass(frozen=True, slots=True)
class _TwoPasses:
    """The progress of two passes over one file."""

    progress: Progress

    def first(self, done: int, total: int) -> None:
        self.progress(done, 2 * total)

    def second(self, done: int, total: int) -> None:
        self.progress(total + done, 2 * total)
