"""What a picture is and how large, from its first bytes; nothing of it is decoded."""

import struct
from typing import NamedTuple

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG's markers of a frame, which has the size."""
_LONE = frozenset({0x01, *range(0xD0, 0xD8)})


class Measured(NamedTuple):
    mime_type: str
    width: int
    height: int


def measure_picture(data: bytes) -> Measured | None:
    """PNG, JPEG, GIF and WebP, which models take; None for anything else."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return Measured("image/png", *struct.unpack(">II", data[16:24]))
        if data.startswith((b"GIF87a", b"GIF89a")):
            return Measured("image/gif", *struct.unpack("<HH", data[6:10]))
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
    except (struct.error, IndexError):
        pass
    return None


def _jpeg(data: bytes) -> Measured | None:
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _LONE:
            at += 2
        elif marker in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Measured("image/jpeg", width, height)
        else:
            at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def _webp(data: bytes) -> Measured | None:
    kind = data[12:16]
    if kind == b"VP8X":
        wide, high = data[24:27] + b"\0", data[27:30] + b"\0"
        return Measured("image/webp", struct.unpack("<I", wide)[0] + 1, struct.unpack("<I", high)[0] + 1)
    if kind == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        return Measured("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return Measured("image/webp", width & 0x3FFF, height & 0x3FFF)
    return None
