"""How much of a request a provider has cached, by comparing it with the recent ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from weft.context.cache.controls import CacheControls
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
    """What a provider has cached of a request, by its own rule.

    Give it `pieces_of` this request and of those whose caches are still alive. Where marks end what is
    cached: up to the last mark that one of them wrote, if a mark of this request finds it. Elsewhere: up
    to the first piece that differs, in whole steps. Pieces are compared by their hashes: what they have
    in common within the first that differs is not promised.
    """
    total = sum(block.tokens for block in blocks)
    if not profile.predictable:
        return Prediction(cached=0, total=total, blocks=0)
    shared_with = _common
    if profile.kind is CacheKind.MARKS and any(block.marked for block in blocks):
        shared_with = partial(_written, look_back=profile.look_back)
    shared = max((shared_with(blocks, other) for other in recent), default=0)
    tokens = sum(block.tokens for block in blocks[:shared])
    cached = tokens // profile.grain * profile.grain if tokens >= profile.minimum else 0
    return Prediction(cached=cached, total=total, blocks=shared)


_DIGEST = 8
"""Bytes of a hash: enough to tell the pieces of a conversation apart. The last bit says whether it is marked."""


@dataclass(frozen=True, kw_only=True)
class CacheForecast:
    """A request beside the recent ones to its provider, compared when the result is read."""

    envelope: Envelope
    profile: CacheProfile
    controls: CacheControls = field(default_factory=CacheControls)
    recent: tuple[bytes, ...] = ()
    """Their prefixes."""

    @cached_property
    def pieces(self) -> list[RequestBlock]:
        marked = {(mark.message, mark.block) for mark in self.controls.marks}
        pieces = pieces_of(self.envelope, self.profile)
        return [each._replace(marked=(each.message, each.number) in marked) for each in pieces]

    @cached_property
    def prefix(self) -> bytes:
        """What it is made of, piece by piece, as later requests are compared with it."""
        return b"".join(_digest(each) for each in self.pieces)

    @cached_property
    def prediction(self) -> Prediction:
        """What the provider has cached of it; an explicit cache is read as far as it goes."""
        prediction = predict(_blocks_of(self.prefix, self.pieces), map(_blocks_of, self.recent), self.profile)
        explicit = (self.controls.cached_content or {}).get("tokens")
        held = explicit if isinstance(explicit, int) else 0
        return replace(prediction, cached=max(prediction.cached, held))


def _digest(block: RequestBlock) -> bytes:
    *start, last = bytes.fromhex(block.sha256)[:_DIGEST]
    return bytes([*start, last & ~1 | block.marked])


def _blocks_of(prefix: bytes, pieces: Sequence[RequestBlock] | None = None) -> list[RequestBlock]:
    """The pieces that a stored prefix is made of; their tokens are known of this request alone."""
    blocks: list[RequestBlock] = []
    for index, start in enumerate(range(0, len(prefix), _DIGEST)):
        *first, last = prefix[start : start + _DIGEST]
        tokens = 0 if pieces is None else pieces[index].tokens
        name = bytes([*first, last & ~1]).hex()
        blocks.append(RequestBlock(None, index, "", name, tokens, marked=bool(last & 1)))
    return blocks


def _common(one: Sequence[RequestBlock], other: Sequence[RequestBlock]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine.sha256 != theirs.sha256:
            break
        count += 1
    return count


def _written(one: Sequence[RequestBlock], other: Sequence[RequestBlock], *, look_back: int) -> int:
    """How many blocks end at the last mark that the other request wrote and a mark of this one finds."""
    marks = [index for index, block in enumerate(one) if block.marked]
    for index in reversed(range(_common(one, other))):
        if other[index].marked and any(index <= mark < index + look_back for mark in marks):
            return index + 1
    return 0
