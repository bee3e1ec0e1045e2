"""Resume cursors of the event stream: opaque to whoever holds them, checked when they come back."""

import base64
import binascii
import hashlib
import struct
import zlib

from weft.errors import InvalidInputError
from weft.store.events import Place

__all__ = ["read_cursor", "write_cursor"]

_LAYOUT = struct.Struct(">B6sqqI")
"""Version, whose grove, transaction, number, checksum: 27 bytes, which base64 needs no padding for."""
_VERSION = 1
_HINT = "use a cursor as it was given out, or leave it away to begin at the first event"


def write_cursor(grove: str, place: Place) -> str:
    """A place in this grove's stream, as a word that can be kept and put into a URL."""
    head = _LAYOUT.pack(_VERSION, _mark(grove), place.transaction, place.number, 0)[:-4]
    return base64.urlsafe_b64encode(head + zlib.crc32(head).to_bytes(4, "big")).decode()


def read_cursor(grove: str, cursor: str) -> Place:
    """The place a cursor stands for; refused if it is broken or another grove's."""
    try:
        data = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        version, mark, transaction, number, check = _LAYOUT.unpack(data)
    except (binascii.Error, struct.error, UnicodeEncodeError):
        raise InvalidInputError(_shown(cursor), hint=_HINT) from None
    if check != zlib.crc32(data[:-4]) or number < 0 or transaction < -1:
        raise InvalidInputError(_shown(cursor), hint=_HINT)
    if version != _VERSION:
        raise InvalidInputError("the event cursor was written by another version of Weft", hint=_HINT)
    if mark != _mark(grove):
        raise InvalidInputError("the event cursor is another grove's", hint=_HINT)
    return Place(transaction, number)


def _shown(cursor: str) -> str:
    shown = cursor if len(cursor) <= 40 else cursor[:40] + "…"
    return f"{shown!r} is not an event cursor"


def _mark(grove: str) -> bytes:
    return hashlib.sha256(grove.encode()).digest()[:6]
