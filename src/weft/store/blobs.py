"""Media bytes beside the database, named by their SHA-256."""

import hashlib
import os
import re
import tempfile
from pathlib import Path

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError

__all__ = ["BLOB_LIMIT", "BlobStore"]

BLOB_LIMIT = 512 * 1024 * 1024
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
        path = self._path(ref)
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
            data = self._path(ref).read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"no blob {ref[:12]}…", hint="store the bytes first") from None
        except OSError as error:
            raise StorageError(f"cannot read blob {ref[:12]}…: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != ref:
            raise StorageError(f"blob {ref[:12]}… is damaged", hint="restore it from a backup")
        return data

    def digest(self, ref: str) -> str | None:
        """SHA-256 of the bytes as they are now, read piece by piece; None where there are none."""
        try:
            with self._path(ref).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageError(f"cannot read blob {ref[:12]}…: {error.strerror}") from error

    def __contains__(self, ref: str) -> bool:
        return self._path(ref).is_file()

    def _path(self, ref: str) -> Path:
        if _REF.match(ref) is None:
            raise InvalidInputError(f"{ref[:80]!r} is not a blob ref")
        return self.folder / ref[:2] / ref[2:]

    def _write(self, path: Path, data: bytes) -> None:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
