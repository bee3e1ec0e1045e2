"""Kept bytes: any tool can open them, and no byte of them can change unseen."""

import gzip
import os
import zlib

import pytest

from weft.errors import LimitExceededError
from weft.store.packed_bodies import PackingError, pack, unpack

BODIES = [b"", b"x", b"words " * 100, os.urandom(3_000)]


@pytest.mark.parametrize("body", BODIES, ids=len)
def test_every_byte_of_a_packed_body_is_accounted_for(body: bytes) -> None:
    packed = pack(body)
    assert gzip.decompress(packed) == unpack(packed) == body
    for at in range(len(packed)):
        for mask in (1, 0x80, 0xFF):
            changed = bytearray(packed)
            changed[at] ^= mask
            with pytest.raises(PackingError):
                unpack(bytes(changed))
    for changed in (packed + b"\0", packed[:-1], packed + packed, b""):
        with pytest.raises(PackingError):
            unpack(changed)


def test_plain_gzip_from_before_is_read_too() -> None:
    assert unpack(zlib.compress(b"old", level=6, wbits=31)) == b"old"


def test_a_bomb_is_refused_before_it_unfolds() -> None:
    packed = pack(bytes(10_000_000))
    assert len(packed) < 20_000
    with pytest.raises(LimitExceededError):
        unpack(packed, 1_000_000)
