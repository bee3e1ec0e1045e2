"""A copy of the grove to keep, taken while others write."""

import contextlib
import os
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from weft.errors import InvalidInputError, LimitExceededError, StorageError
from weft.runtime.moving.checks import broken_chains, check_all
from weft.runtime.moving.copying import copy_grove
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor, require_access
from weft.runtime.transfer.files import refuse_existing, sync_folder
from weft.store import schema
from weft.store.base import Store
from weft.store.blobs import BlobStore, blobs_beside
from weft.store.media import media_of_grove
from weft.store.sqlite import SqliteStore, find_damage, peek
from weft.tree.access import MemberRole
from weft.tree.progress import Progress, silent

__all__ = ["BackedUp", "back_up"]

_SIDE_FILES = ("-wal", "-shm", "-lock", "-turn", "-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """A backup that was taken and checked."""

    file: str
    bytes: int
    blobs: int
    verified: bool
    """Whether every hash was recomputed, or only the file and the chains' ends were looked at."""
    notes: tuple[str, ...] = ()


def back_up(
    gate: Executor,
    actor: Actor,
    path: Path,
    *,
    overwrite: bool = False,
    verify: bool = False,
    progress: Progress = silent,
) -> BackedUp:
    """Copy the grove to a SQLite file, with its blobs in a folder beside it.

    The copy is of one moment: all that was acknowledged before, nothing half. It is
    there once it has been checked and is safe on the disk; opening it is restoring it.
    """
    path = path.expanduser().absolute()
    with gate.store.read() as session:
        require_access(session, actor, MemberRole.OWNER)
    gate.store.refuse_own_file(path)
    refuse_existing(path, overwrite=overwrite)
    if overwrite:
        _refuse_open(path)
    with _temporary(path) as temporary:
        if not gate.store.copy_file(temporary, progress):
            _copy_rows(gate.store, temporary, progress)
        blobs = BlobStore(blobs_beside(path))
        count, notes = _examine(temporary, gate.store, blobs, verify=verify, progress=progress)
        size = temporary.stat().st_size
        refuse_existing(path, overwrite=overwrite)
        temporary.replace(path)
        sync_folder(path.parent)
    return BackedUp(file=str(path), bytes=size, blobs=count, verified=verify, notes=notes)


@contextlib.contextmanager
def _temporary(path: Path) -> Generator[Path]:
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    except OSError as error:
        raise StorageError(f"cannot write in {path.parent}: {error.strerror}") from error
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        for suffix in ("", *_SIDE_FILES):
            temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)


def _refuse_open(path: Path) -> None:
    """A file that is replaced must not leave the log of the old one beside it."""
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
        # Blobs are looked after later, with those of the file.
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
            raise StorageError(
                f"the copy is not sound: {damage[0]}", hint="weft doctor examines the grove itself"
            )
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
                    f"the copy does not verify: {error.message}", hint="weft verify names what differs"
                ) from error
    return count, (f"{missing:,} blobs are missing from the grove and from the backup",) if missing else ()
