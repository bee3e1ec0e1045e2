"""Bytes in chunks: bodies and blobs, each in one record after another."""

import hashlib

from weft.errors import InvalidInputError, LimitExceededError
from weft.interop.weft_json import Record
from weft.runtime.transfer.checked_fields import Row
from weft.runtime.transfer.import_target import ImportTarget
from weft.runtime.transfer.record_specs import BLOB
from weft.store.blobs import BLOB_LIMIT, IncomingBlob


class ChunkSequence:
    """Checks that chunks follow one another without a gap."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._name: str | None = None
        self._size = 0
        self._offset = 0

    def add(self, chunk: Row) -> tuple[bool, bool]:
        """Whether the chunk is the first and the last of its bytes."""
        name, size, offset, data = chunk["sha256"], chunk["size"], chunk["offset"], chunk["data"]
        if size > self._limit:
            raise LimitExceededError(f"{size:,} bytes are more than the limit of {self._limit:,}")
        first = offset == 0
        if first:
            self.require_complete()
            self._name, self._size, self._offset = name, size, 0
        elif (name, size, offset) != (self._name, self._size, self._offset):
            raise InvalidInputError("this chunk does not follow the one before")
        self._offset += len(data)
        if self._offset > size or (not data and size):
            raise InvalidInputError("the chunks are more, or less, than their size says")
        last = self._offset == size
        if last:
            self._name = None
        return first, last

    def require_complete(self) -> None:
        if self._name is not None:
            raise InvalidInputError(f"the rest of {self._name[:12]}… is missing")


class BlobImporter:
    """Images and recordings of a file: checked against their hashes, written if they are new."""

    def __init__(self, target: ImportTarget) -> None:
        self._target = target
        self._chunks = ChunkSequence(BLOB_LIMIT)
        self._read = BLOB.reader()
        self._incoming: IncomingBlob | None = None
        self._digest = hashlib.sha256()
        self.known: set[str] = set()
        self.missing = 0

    def add(self, record: Record) -> None:
        chunk = self._read(record)
        ref, data = chunk["sha256"], chunk["data"]
        if chunk["missing"]:
            self.known.add(ref)
            self.missing += not self._target.has_blob(ref)
            return
        if data is None or chunk["size"] is None:
            raise InvalidInputError("a blob needs its size and data")
        first, last = self._chunks.add(chunk)
        if first:
            self._digest = hashlib.sha256()
            self._incoming = self._target.blob(ref)
        self._digest.update(data)
        if self._incoming is not None:
            self._incoming.write(data)
        if not last:
            return
        if self._digest.hexdigest() != ref:
            self.discard()
            raise InvalidInputError(f"blob {ref[:12]}… does not match its hash")
        if self._incoming is not None:
            self._incoming.finish()
            self._incoming = None
        self.known.add(ref)

    def require_complete(self) -> None:
        self._chunks.require_complete()

    def discard(self) -> None:
        """Remove what is written of a blob that is not complete."""
        if self._incoming is not None:
            self._incoming.drop()
            self._incoming = None
