"""Media bytes beside the database, named by their SHA-256."""

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError

__all__ = ["BLOB_LIMIT", "BlobStore", "IncomingBlob", "blobs_beside"]

BLOB_LIMIT = 512 * 1024 * 1024
_NEW = ".new-"
_PIECE = 1 << 20
_REF = re.compile(r"[0-9a-f]{64}\Z")


class BlobStore:
    """A folder of files that never change. A blob is there whole, or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Keep the bytes; return their ref. The same bytes are kept once."""
        if len(data) > BLOB_LIMIT:
            raise LimitExceededError(f"blob has {len(data):,} bytes, the limit is {BLOB_LIMIT:,}")
        ref = hashlib.sha256(data).hexdigest()
        path = self.path(ref)
        if path.exists():
            return ref
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._write(path, data)
        except OSError as error:
            raise StorageError(
                f"cannot store a blob in {self.folder}: {error.strerror}",
                hint="check free space and permissions",
            ) from error
        return ref

    def get(self, ref: str) -> bytes:
        try:
            data = self.path(ref).read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"no blob {ref[:12]}…", hint="store the bytes first") from None
        except OSError as error:
            raise StorageError(f"cannot read blob {ref[:12]}…: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != ref:
            raise StorageError(f"blob {ref[:12]}… is damaged", hint="restore it from a backup")
        return data

    def pieces(self, ref: str) -> Iterator[bytes]:
        """A blob's bytes, a little at a time; whoever takes them checks them."""
        try:
            with self.path(ref).open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece
        except FileNotFoundError:
            raise NotFoundError(f"no blob {ref[:12]}…", hint="restore it from a backup") from None
        except OSError as error:
            raise StorageError(f"cannot read blob {ref[:12]}…: {error.strerror}") from error

    def copy(self, ref: str, source: "BlobStore") -> None:
        """Take a blob over from another store, unless it is here."""
        if ref in self:
            return
        incoming = self.receive(ref)
        try:
            for piece in source.pieces(ref):
                incoming.write(piece)
        except BaseException:
            incoming.drop()
            raise
        incoming.finish()

    def receive(self, ref: str) -> "IncomingBlob":
        """Take a blob in pieces; it is there once it is finished."""
        return IncomingBlob(self.path(ref), ref)

    def refs(self) -> Iterator[str]:
        """Everything that is kept, whether anything points to it or not."""
        for folder in sorted(self.folder.glob("[0-9a-f][0-9a-f]")):
            for path in sorted(folder.iterdir()):
                if _REF.match(folder.name + path.name):
                    yield folder.name + path.name

    def leftovers(self) -> Iterator[Path]:
        """Files of writers that were stopped halfway."""
        yield from sorted(self.folder.glob(f"[0-9a-f][0-9a-f]/{_NEW}*"))

    def remove(self, ref: str) -> None:
        self.path(ref).unlink(missing_ok=True)

    def __contains__(self, ref: str) -> bool:
        return self.path(ref).is_file()

    def path(self, ref: str) -> Path:
        """Where a blob lies, or would lie."""
        if _REF.match(ref) is None:
            raise InvalidInputError(f"{ref[:80]!r} is not a blob ref")
        return self.folder / ref[:2] / ref[2:]

    def _write(self, path: Path, data: bytes) -> None:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def blobs_beside(database: Path) -> Path:
    """The folder with the blobs of a grove that is a file."""
    return database.with_name(database.name + "-blobs")


class IncomingBlob:
    """A blob on its way in. Unless it is finished, nothing of it stays."""

    def __init__(self, path: Path, ref: str) -> None:
        self._path = path
        self._ref = ref
        self._digest = hashlib.sha256()
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
        self._temporary = Path(name)
        self._file = os.fdopen(descriptor, "wb")

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        with self._explained():
            self._file.write(data)

    def finish(self) -> None:
        """Keep it, if the bytes are what the ref says."""
        if self._digest.hexdigest() != self._ref:
            self.drop()
            raise StorageError(f"blob {self._ref[:12]}… is damaged", hint="restore it from a backup")
        try:
            with self._explained():
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._temporary.replace(self._path)
                _sync_folder(self._path.parent)
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
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


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
