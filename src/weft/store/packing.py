"""Bytes as they are kept: gzip that any tool can open, with every byte of it accounted for.

Gzip checks what comes out, not what is stored: header fields and the bits that pad
a block may change unseen. So the header is fixed, and carries a digest of what follows it.
"""

import hashlib
import zlib

from weft.errors import LimitExceededError

__all__ = ["BODY_LIMIT", "PackingError", "pack", "unpack"]

BODY_LIMIT = 1024 * 1024 * 1024
"""More than this never comes out, whatever a stored value claims."""
_PLAIN = bytes.fromhex("1f8b0800000000000003")
_MARKED = bytes.fromhex("1f8b0804000000000003" + "1400" + "5766" + "1000")
"""The same header with one extra field, "Wf": the first half of the SHA-256 of the rest."""
_DIGEST = 16
_TRAILER = 8
_LEVEL = 6


class PackingError(ValueError):
    """Stored bytes that are not what was stored."""


def pack(body: bytes) -> bytes:
    """Compress; the same bytes in give a value that `unpack` accepts byte for byte, or not at all."""
    stream = zlib.compress(body, level=_LEVEL, wbits=31)[len(_PLAIN) :]
    return _MARKED + hashlib.sha256(stream).digest()[:_DIGEST] + stream


def unpack(packed: bytes, limit: int = BODY_LIMIT) -> bytes:
    """What was packed. Raises where a single byte of the value is not as it was written."""
    if packed.startswith(_MARKED):
        start = len(_MARKED) + _DIGEST
        digest, stream = packed[len(_MARKED) : start], packed[start:]
        if hashlib.sha256(stream).digest()[:_DIGEST] != digest:
            raise PackingError("the compressed bytes differ from their digest")
    elif packed.startswith(_PLAIN):
        stream = packed[len(_PLAIN) :]
    else:
        raise PackingError("the gzip header differs")
    return _inflate(stream, limit)


def _inflate(stream: bytes, limit: int) -> bytes:
    engine = zlib.decompressobj(wbits=-15)
    try:
        body = engine.decompress(stream, limit + 1)
    except zlib.error as error:
        raise PackingError("the compressed bytes cannot be read") from error
    if len(body) > limit:
        raise LimitExceededError(f"a stored body unpacks to more than {limit:,} bytes")
    if not engine.eof or len(engine.unused_data) != _TRAILER:
        raise PackingError("the compressed bytes do not end where they should")
    size = len(body).to_bytes(8, "little")[:4]
    if zlib.crc32(body).to_bytes(4, "little") + size != engine.unused_data:
        raise PackingError("the gzip checksum differs")
    return body
