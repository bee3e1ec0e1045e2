"""Export and import of files in Weft's own JSON."""

import contextlib
import gzip
import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, ClassVar, cast

from sqlalchemy import func, select

from weft.errors import ConflictError, NotFoundError, StorageError
from weft.interop.weft_json import Writer
from weft.runtime.moving.arriving import Imported, read_records
from weft.runtime.moving.exporting import Export
from weft.runtime.moving.landing import Ground, Nowhere
from weft.runtime.operations.executor import Editing, Executor
from weft.runtime.operations.permissions import Actor, require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.references import find_tree
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.progress import Progress, silent

__all__ = ["Exported", "Imported", "export_file", "import_file", "new_file"]

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What went into a file."""

    trees: int
    nodes: int
    records: int
    notes: tuple[str, ...]


def export_file(
    gate: Executor,
    actor: Actor,
    target: Path | BinaryIO,
    trees: Sequence[str] | None = None,
    *,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Exported:
    """Write these trees, or the whole grove, as they are at this moment."""
    with gate.store.read() as session:
        require_permission(session, actor, Permission.LOOM_AWARE, "export")
        keys: list[int] | None = None
        if trees is None:
            require_access(session, actor, MemberRole.OWNER)
        else:
            keys = list(dict.fromkeys(find_tree(session, name) for name in trees))
            for key in keys:
                require_access(session, actor, MemberRole.READER, key)
        export = Export(session, gate.store.blobs, keys, progress)
        with contextlib.ExitStack() as stack:
            file = (
                stack.enter_context(new_file(target, overwrite=overwrite))
                if isinstance(target, Path)
                else target
            )
            writer = Writer(file, export.scope)
            try:
                for record in export.records():
                    writer.write(record)
                writer.close()
            except OSError as error:
                if isinstance(error, BrokenPipeError):
                    raise
                raise StorageError(f"cannot write the file: {error.strerror or error}") from error
        listed = len(keys) if keys is not None else _count_trees(session)
    return Exported(trees=listed, nodes=export.nodes, records=writer.count, notes=tuple(export.notes))


def _count_trees(session: Session) -> int:
    return int(session.execute(select(func.count()).select_from(schema.trees)).scalar_one())


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool) -> Generator[BinaryIO]:
    """A file that is there once it is whole and safe on the disk; before that, nothing is."""
    refuse_existing(path, overwrite=overwrite)
    path = path.absolute()
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    except OSError as error:
        raise StorageError(f"cannot write in {path.parent}: {error.strerror}") from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packing:
                    yield cast("BinaryIO", packing)
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        refuse_existing(path, overwrite=overwrite)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    if path.is_dir():
        raise ConflictError(f"{path} is a folder", hint="name a file in it")
    if not overwrite and path.exists():
        raise ConflictError(
            f"{path} is there already", hint="name another file, or pass --force (overwrite=True)"
        )


def sync_folder(path: Path) -> None:
    """What was renamed stays renamed, also when the power goes."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFile(Editing):
    """Take in all that a file holds, or nothing. Its chains come along, and go on here."""

    verb: ClassVar[str] = "import"
    path: Path
    progress: Progress = field(default=silent, compare=False)

    def apply(self, scope: Scope) -> Imported:
        scope.open_grove()
        ground = Ground(scope)
        done = read_records(self.path, ground, self.progress)
        ground.finish()
        return done


def import_file(
    gate: Executor, actor: Actor, source: Path | BinaryIO, *, progress: Progress = silent
) -> Imported:
    """Check a file from beginning to end, then take it in, in one transaction.

    Others may write while it is checked, not while it is taken in.
    """
    with gate.store.read() as session:
        require_permission(session, actor, ImportFile.permission, ImportFile.verb)
        require_access(session, actor, ImportFile.access)
    with _on_disk(source) as path:
        half = _Halves(progress)
        read_records(path, Nowhere(gate.store.blobs), half.first)
        return gate.perform(actor, ImportFile(path=path, progress=half.second))


@contextlib.contextmanager
def _on_disk(source: Path | BinaryIO) -> Generator[Path]:
    """A file that can be read twice; a pipe is kept in one until it was."""
    if isinstance(source, Path):
        if source.is_file():
            yield source
            return
        if not source.exists() or source.is_dir():
            raise NotFoundError(f"there is no file {source}", hint="name a file that weft export wrote")
    with tempfile.NamedTemporaryFile(prefix="weft-import-") as kept:
        try:
            with contextlib.ExitStack() as stack:
                piped = stack.enter_context(source.open("rb")) if isinstance(source, Path) else source
                shutil.copyfileobj(piped, kept, _PIECE)
            kept.flush()
        except OSError as error:
            raise StorageError(f"cannot keep what comes in: {error.strerror}") from error
        yield Path(kept.name)


@dataclass(frozen=True, slots=True)
class _Halves:
    """Two passes over one file as one way to go."""

    progress: Progress

    def first(self, done: int, total: int) -> None:
        self.progress(done, 2 * total)

    def second(self, done: int, total: int) -> None:
        self.progress(total + done, 2 * total)
