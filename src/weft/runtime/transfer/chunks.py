"""Bytes that come in pieces: bodies and blobs, one record after another."""

import hashlib

from weft.errors import LimitExceededError
from weft.runtime.transfer.checked_fields import Fields
from weft.runtime.transfer.import_target import ImportTarget
from weft.store.blobs import BLOB_LIMIT, IncomingBlob

__all__ = ["BlobImporter", "ChunkSequence"]


class ChunkSequence:
    """Bytes that come in pieces, one after another."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._size = 0
        self._offset = 0

    def take(self, fields: Fields, limit: int) -> tuple[str, bytes, bool, bool]:
        """The name, one piece, and whether it is the first and the last."""
        name, size = fields.digest("sha256").hex(), fields.count("size", limit=2**62)
        offset = fields.optional_count("offset", limit=2**62) or 0
        if size > limit:
            raise LimitExceededError(f"{fields.where}: {size:,} bytes are more than the limit of {limit:,}")
        first = offset == 0
        if first:
            self.require_whole(fields)
            self.name, self._size, self._offset = name, size, 0
        elif (name, size, offset) != (self.name, self._size, self._offset):
            raise fields.wrong("this piece does not follow the one before")
        data = fields.data("data")
        fields.done()
        self._offset += len(data)
        if self._offset > size or (not data and size):
            raise fields.wrong("the pieces are more, or less, than their size says")
        last = self._offset == size
        if last:
            self.name = None
        return name, data, first, last

    def require_whole(self, fields: Fields) -> None:
        if self.name is not None:
            raise fields.wrong(f"the rest of {self.name[:12]}… is missing")


class BlobImporter:
    """Media that come with a file: checked against their names, kept if they are new."""

    def __init__(self, landing: ImportTarget) -> None:
        self._landing = landing
        self._pieces = ChunkSequence()
        self._into: IncomingBlob | None = None
        self._digest = hashlib.sha256()
        self.known: set[str] = set()
        self.missing = 0

    def take(self, fields: Fields) -> None:
        if fields.flag("missing"):
            ref = fields.digest("sha256").hex()
            fields.done()
            self.known.add(ref)
            self.missing += not self._landing.has_blob(ref)
            return
        ref, data, first, last = self._pieces.take(fields, BLOB_LIMIT)
        if first:
            self._digest = hashlib.sha256()
            self._into = self._landing.blob(ref)
        self._digest.update(data)
        if self._into is not None:
            self._into.write(data)
        if not last:
            return
        if self._digest.hexdigest() != ref:
            self.drop()
            raise fields.wrong(f"blob {ref[:12]}… does not match its hash")
        if self._into is not None:
            self._into.finish()
            self._into = None
        self.known.add(ref)

    def require_whole(self, fields: Fields) -> None:
        self._pieces.require_whole(fields)

    def drop(self) -> None:
        if self._into is not None:
            self._into.drop()
            self._into = None
