"""How much of a request a provider has cached, by comparing it with the recent ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.context.envelope import Envelope, RequestBlock
from weft.tree.cache_profile import CacheKind, CacheProfile
from weft.tree.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Tokens that will be read from the cache."""

    cached: int
    total: int
    blocks: int
    """How many blocks are those of an earlier request."""

    @property
    def share(self) -> float:
        return self.cached / self.total if self.total else 0.0

    def to_wire(self) -> JsonObject:
        return {"cached": self.cached, "total": self.total, "blocks": self.blocks}


def pieces_of(envelope: Envelope, profile: CacheProfile) -> list[RequestBlock]:
    """The request in the pieces that a provider finds again.

    Where marks end what is cached, a block counts whole: a library with one more item is
    another block. Elsewhere it is found again up to its new item.
    """
    return envelope.blocks() if profile.kind is CacheKind.MARKS else envelope.prefix()


def predict(
    blocks: Sequence[RequestBlock], recent: Iterable[Sequence[RequestBlock]], profile: CacheProfile
) -> Prediction:
    """The longest beginning in common with recent requests, as the provider would count it.

    Give it `pieces_of` this request and of the recent ones. Whole pieces are
    compared, by their hashes: what they have in common within the first that differs is
    not promised.
    """
    total = sum(block.tokens for block in blocks)
    if not profile.predictable:
        return Prediction(cached=0, total=total, blocks=0)
    shared = max((_common(blocks, other) for other in recent), default=0)
    tokens = sum(block.tokens for block in blocks[:shared])
    cached = tokens // profile.grain * profile.grain if tokens >= profile.minimum else 0
    return Prediction(cached=cached, total=total, blocks=shared)


_DIGEST = 8

"""Bytes of a hash: enough to tell the pieces of a conversation apart."""


@dataclass(frozen=True, kw_only=True)
class CacheForecast:
    """A request beside the recent ones to its provider, compared when the result is read."""

    envelope: Envelope
    profile: CacheProfile
    recent: tuple[bytes, ...] = ()
    """Their prefixes."""

    @cached_property
    def pieces(self) -> list[RequestBlock]:
        return pieces_of(self.envelope, self.profile)

    @cached_property
    def prefix(self) -> bytes:
        """What it is made of, piece by piece, as later requests are compared with it."""
        return b"".join(bytes.fromhex(each.sha256)[:_DIGEST] for each in self.pieces)

    @cached_property
    def prediction(self) -> Prediction:
        """What the provider has cached of it."""
        blocks = [each._replace(sha256=each.sha256[: 2 * _DIGEST]) for each in self.pieces]
        return predict(blocks, map(_blocks_of, self.recent), self.profile)


def _blocks_of(prefix: bytes) -> list[RequestBlock]:
    return [
        RequestBlock(None, 0, "", prefix[start : start + _DIGEST].hex(), 0)
        for start in range(0, len(prefix), _DIGEST)
    ]


def _common(one: Sequence[RequestBlock], other: Sequence[RequestBlock]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine.sha256 != theirs.sha256:
            break
        count += 1
    return count
