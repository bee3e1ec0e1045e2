"""Media bytes beside the database, named by their SHA-256."""

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import cast

from sqlalchemy import ColumnElement, and_, select, true

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError
from weft.store import schema
from weft.store.rows import KINDS
from weft.store.session import Session
from weft.tree.content import Image, blob_refs, content_from_wire
from weft.tree.item import about_item

BLOB_LIMIT = 512 * 1024 * 1024
_NEW = ".new-"
_PIECE = 1 << 20
_REF = re.compile(r"[0-9a-f]{64}\Z")


class BlobStore:
    """A folder of files that never change. A blob is there whole, or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.grove: str | None = None
        """The id of the grove that keeps its media here, once it is known."""
        self._is_signed = False

    def put(self, data: bytes) -> str:
        """Keep the bytes; return their ref. The same bytes are kept once."""
        if len(data) > BLOB_LIMIT:
            raise LimitExceededError(f"blob has {len(data):,} bytes, the limit is {BLOB_LIMIT:,}")
        ref = hashlib.sha256(data).hexdigest()
        incoming = self.receive(ref)
        if incoming is not None:
            incoming.write(data)
            incoming.finish()
        return ref

    def receive(self, ref: str) -> "IncomingBlob | None":
        """Take a blob in pieces; it is there once it is finished. None: it is there already."""
        return None if self._has_again(ref) else IncomingBlob(self.path(ref), ref, self._sign)

    def copy(self, ref: str, source: "BlobStore") -> None:
        """Take a blob over from another store, unless it is here."""
        incoming = self.receive(ref)
        if incoming is None:
            return
        try:
            for piece in source.pieces(ref):
                incoming.write(piece)
        except BaseException:
            incoming.drop()
            raise
        incoming.finish()

    def pieces(self, ref: str) -> Iterator[bytes]:
        """A blob's bytes, a little at a time; the caller checks them."""
        try:
            with self.path(ref).open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece
        except FileNotFoundError:
            raise NotFoundError(f"no blob {ref[:12]}…", hint="restore it from a backup") from None
        except OSError as error:
            raise StorageError(f"cannot read blob {ref[:12]}…: {error.strerror}") from error

    def leftovers(self) -> Iterator[Path]:
        """Files of writers that were stopped halfway."""
        yield from sorted(self.folder.glob(f"[0-9a-f][0-9a-f]/{_NEW}*"))

    def _has_again(self, ref: str) -> bool:
        """Whether a blob that is being stored is there; it is as young as if it had been stored now."""
        try:
            # Younger than any delete under way, which therefore lets it be.
            os.utime(self.path(ref))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError(f"cannot reach a blob in {self.folder}: {error.strerror}") from error
        self._sign()
        return True

    def get(self, ref: str) -> bytes:
        try:
            data = self.path(ref).read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"no blob {ref[:12]}…", hint=Hint(HintKind.STORE_BYTES)) from None
        except OSError as error:
            raise StorageError(f"cannot read blob {ref[:12]}…: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != ref:
            raise StorageError(f"blob {ref[:12]}… is damaged", hint="restore it from a backup")
        return data

    def digest(self, ref: str) -> str | None:
        """SHA-256 of the bytes as they are now, read piece by piece; None where there are none."""
        try:
            with self.path(ref).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageError(f"cannot read blob {ref[:12]}…: {error.strerror}") from error

    def all(self) -> Iterator[tuple[str, int]]:
        """Every blob's ref, and when it was last stored, in nanoseconds."""
        for path in sorted(self.folder.glob("[0-9a-f][0-9a-f]/*")):
            ref = path.parent.name + path.name
            if _REF.match(ref):
                with contextlib.suppress(FileNotFoundError):
                    yield ref, path.stat().st_mtime_ns

    def announce(self, refs: Iterable[str]) -> None:
        """Note durably that these may have to go, and of what age they are now."""
        for ref in sorted(refs):
            try:
                stored_at = self.path(ref).stat().st_mtime_ns
            except FileNotFoundError:
                continue
            note = IncomingBlob(self._leaving / ref)
            note.write(str(stored_at).encode())
            note.finish()

    def leaving(self) -> dict[str, int]:
        """What was announced and has not been dealt with: ref → its age then."""
        ages: dict[str, int] = {}
        for path in sorted(self._leaving.glob("*")):
            if _REF.match(path.name):
                with contextlib.suppress(FileNotFoundError, ValueError):
                    ages[path.name] = int(path.read_bytes())
        return ages

    def depart(self, ref: str, stored_at: int, *, stays: bool) -> bool:
        """Remove a blob that was announced, unless it stays or was stored again since; whether it went."""
        gone = False
        try:
            if not stays:
                gone = self._remove(self.path(ref), stored_at)
            (self._leaving / ref).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._leaving.rmdir()
        except OSError:
            # The note is still there: tried again with the next delete.
            return False
        return gone

    @staticmethod
    def _remove(path: Path, stored_at: int) -> bool:
        """Rename it first: a process that stores it at this moment is either seen here or writes it again."""
        aside = path.with_name(f".gone-{path.name}")
        try:
            path.replace(aside)
        except FileNotFoundError:
            aside.unlink(missing_ok=True)
            return False
        if aside.stat().st_mtime_ns == stored_at:
            aside.unlink()
            return True
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(aside)
        aside.unlink()
        return False

    def is_shared(self) -> bool:
        """Whether another grove keeps its media here too: then it is unknown whether a blob is needed."""
        return any(path.name != self.grove for path in (self.folder / "groves").glob("*"))

    def take_name(self, grove: str) -> None:
        """The grove that keeps its media here is called otherwise from now on."""
        if self.grove is not None and self.grove != grove:
            (self.folder / "groves" / self.grove).unlink(missing_ok=True)
        self.grove = grove
        self._is_signed = False

    def share(self) -> None:
        """A copy of the grove, with the same id, keeps its media here as well: none may go any more."""
        signs = self.folder / "groves"
        if self.folder.exists():
            make_private_folder(signs)
            (signs / "copies").touch(mode=0o600)

    def _sign(self) -> None:
        """Leave a mark that this grove keeps media here."""
        if self.grove is not None and not self._is_signed:
            with contextlib.suppress(OSError):
                signs = self.folder / "groves"
                make_private_folder(signs)
                (signs / self.grove).touch(mode=0o600)
                self._is_signed = True

    @property
    def _leaving(self) -> Path:
        return self.folder / "leaving"

    def __contains__(self, ref: str) -> bool:
        return self.path(ref).is_file()

    def path(self, ref: str) -> Path:
        """Where a blob lies, or would lie."""
        if _REF.match(ref) is None:
            raise InvalidInputError(f"{ref[:80]!r} is not a blob ref")
        return self.folder / ref[:2] / ref[2:]


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it, that only their owner can look into."""
    for each in reversed([folder, *folder.parents]):
        if not each.exists():
            each.mkdir(exist_ok=True, mode=0o700)


def blobs_beside(database: Path) -> Path:
    """The folder with the blobs of a grove that is a file."""
    return database.with_name(database.name + "-blobs")


class IncomingBlob:
    """A file on its way in. Unless it is finished, nothing of it stays."""

    def __init__(
        self, path: Path, ref: str | None = None, finished: Callable[[], None] = lambda: None
    ) -> None:
        """The bytes must have the hash `ref`, if one is named; `finished` is called when they are there."""
        self._path = path
        self._ref = ref
        self._finished = finished
        self._digest = hashlib.sha256()
        with self._explained():
            make_private_folder(path.parent)
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
        self._temporary = Path(name)
        self._file = os.fdopen(descriptor, "wb")

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        try:
            with self._explained():
                self._file.write(data)
        except BaseException:
            self.drop()
            raise

    def finish(self) -> None:
        """Keep it, if the bytes are what the ref says."""
        if self._ref not in {None, self._digest.hexdigest()}:
            self.drop()
            raise StorageError(f"blob {str(self._ref)[:12]}… is damaged", hint="restore it from a backup")
        try:
            with self._explained():
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._temporary.replace(self._path)
                sync_folder(self._path.parent)
        except BaseException:
            self.drop()
            raise
        self._finished()

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        self._temporary.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"cannot store a blob in {self._path.parent.parent}: {error.strerror}",
                hint="check free space and permissions",
            ) from error


def sync_folder(path: Path) -> None:
    """Make a rename in the folder durable."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


_nodes = schema.nodes
_texts = schema.texts
_items = schema.attachments
_KINDS = [KINDS.index(kind) for kind in ("image", "audio", "mixed")]
_AT_ONCE = 500


def media_of_tree(session: Session, tree: int) -> set[str]:
    """Refs that a tree's nodes point to, pruned and undone ones too."""
    return {*_refs(session, _nodes.c.tree == tree), *_of_items(session, _items.c.tree == tree)}


def media_of_grove(session: Session, among: set[str] | None = None) -> set[str]:
    """Refs that any node points to (only those asked about, if some are named)."""
    refs = {*_refs(session, true()), *_of_items(session, true())}
    return refs if among is None else refs & among


def _refs(session: Session, where: ColumnElement[bool]) -> Iterator[str]:
    statement = (
        select(_texts.c.content)
        .select_from(_nodes)
        .join(_texts, and_(_texts.c.tree == _nodes.c.tree, _texts.c.node == _nodes.c.key))
        .where(where, _nodes.c.kind.in_(_KINDS))
        .execution_options(yield_per=_AT_ONCE)
    )
    for stored in session.execute(statement).scalars():
        yield from blob_refs(content_from_wire(json.loads(stored)))


def _of_items(session: Session, where: ColumnElement[bool]) -> Iterator[str]:
    """Of pictures that an active note came with, detached or not."""
    described = select(_items.c.about).where(where, _items.c.about.is_not(None))
    for about in session.execute(described.execution_options(yield_per=_AT_ONCE)).scalars():
        for image in cast("tuple[Image, ...]", about_item(about).get("images", ())):
            yield image.ref
