"""What a request tells its provider's cache: marks on blocks, a key, or what to put into an explicit cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.context.envelope import TOOLS, Envelope, RequestBlock, sha256_of
from weft.context.items.item_types import LayerId
from weft.errors import InvalidInputError
from weft.tree.cache_profile import CacheKind, CacheProfile
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Role

_KEY_LENGTH = 32

_END = "end"

_TTL = {"5m": "300s", "1h": "3600s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixMark:
    """A block that ends a prefix to be cached."""

    message: int | None
    """None: a block of the system."""
    block: int
    control: JsonObject

    def to_wire(self) -> JsonObject:
        return {"message": self.message, "block": self.block, "cache_control": self.control}


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheControls:
    """Marks on blocks, fields of the request, and what is to be put into an explicit cache."""

    marks: tuple[PrefixMark, ...] = ()
    fields: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    cached_content: JsonObject | None = None

    def to_wire(self) -> JsonObject:
        found: dict[str, JsonValue] = {}
        if self.marks:
            found["marks"] = [mark.to_wire() for mark in self.marks]
        if self.fields:
            found["fields"] = dict(self.fields)
        if self.cached_content is not None:
            found["cachedContent"] = self.cached_content
        return found


def cache_controls(
    envelope: Envelope,
    profile: CacheProfile,
    *,
    lifetime: str | None = None,
    key: str | None = None,
    explicit: bool = False,
    end: bool = True,
) -> CacheControls:
    """What this request tells its provider; nothing where there is nothing to tell.

    `lifetime` is one of the profile's; of a cache that is created also seconds, such as `300s`.
    `explicit` asks for such a cache, for what is stable. `end` says whether the last message
    will be sent again as it is.
    """
    match profile.kind:
        case CacheKind.MARKS:
            return CacheControls(marks=_marks(envelope, profile, lifetime, end=end))
        case CacheKind.KEY:
            return CacheControls(fields={"prompt_cache_key": key or _key(envelope)})
        case CacheKind.CONTENT:
            return CacheControls(cached_content=_content(envelope, profile, lifetime) if explicit else None)
        case CacheKind.PREFIX | CacheKind.NONE:
            return CacheControls()


def _marks(
    envelope: Envelope, profile: CacheProfile, lifetime: str | None, *, end: bool
) -> tuple[PrefixMark, ...]:
    if lifetime is not None and lifetime not in profile.lifetimes:
        raise InvalidInputError(
            f"the provider has no cache lifetime {lifetime!r}",
            hint=f"use one of {', '.join(profile.lifetimes)}",
        )
    control: JsonObject = {"type": "ephemeral"}
    if lifetime is not None and lifetime != profile.lifetimes[0]:
        control = {"type": "ephemeral", "ttl": lifetime}
    blocks = envelope.blocks()
    sums = [0]
    for block in blocks:
        sums.append(sums[-1] + block.tokens)
    places = {each.after: each.block for each in envelope.breakpoints if end or each.after != _END}
    if LayerId.HISTORY in places:
        places[LayerId.HISTORY] = _reachable(envelope, blocks, places[LayerId.HISTORY], profile)
    before = _before_answer(envelope, blocks)
    if before is not None and len(blocks) - 1 - before >= profile.look_back:
        # Many calls at once: from the end, the mark of the request before is out of reach.
        places[LayerId.HISTORY] = before
    found: dict[int, None] = {}
    for place in places.values():
        marked = _markable(blocks, place)
        if marked is not None and sums[marked + 1] >= profile.minimum:
            found[marked] = None
    return tuple(
        PrefixMark(message=blocks[place].message, block=blocks[place].number, control=control)
        for place in sorted(found)[-profile.marks :]
    )


def _reachable(envelope: Envelope, blocks: Sequence[RequestBlock], last: int, profile: CacheProfile) -> int:
    """The end of L4, unless a long answer put it out of reach of the mark that the turn before left behind.

    That one stands at the end of the last user message; looking back from the end of L4
    would not find it beyond so many blocks, so the mark is put there again.
    """
    spoken = [
        index
        for index, block in enumerate(blocks[: last + 1])
        if block.message is not None and envelope.messages[block.message].role is not Role.ASSISTANT
    ]
    if spoken and last - spoken[-1] >= profile.look_back:
        return spoken[-1]
    return last


def _before_answer(envelope: Envelope, blocks: Sequence[RequestBlock]) -> int | None:
    """Within an exchange with tools, where the request before this one ended."""
    if not envelope.exchange:
        return None
    ends = [
        index
        for index, block in enumerate(blocks)
        if block.message is not None and envelope.messages[block.message].role is not Role.ASSISTANT
    ]
    answer = max(index for index, message in enumerate(envelope.messages) if message.role is Role.ASSISTANT)
    return max((index for index in ends if (blocks[index].message or 0) < answer), default=None)


def _markable(blocks: Sequence[RequestBlock], place: int) -> int | None:
    """The block itself, or one before it: thinking, tools and empty blocks take no mark."""
    while place >= 0 and (blocks[place].kind in {"thinking", TOOLS} or not blocks[place].tokens):
        place -= 1
    return place if place >= 0 else None


def _key(envelope: Envelope) -> str:
    """Requests of one conversation, siblings among them, go where its prefix was cached."""
    name = envelope.conversation_id or envelope.layer(LayerId.SYSTEM).hash
    return f"weft-{sha256_of(name)[:_KEY_LENGTH]}"


def _content(envelope: Envelope, profile: CacheProfile, lifetime: str | None) -> JsonObject | None:
    """The system and the history, up to the last stable point, where that is large enough."""
    stable = [each for each in envelope.breakpoints if each.after != _END and each.tokens >= profile.minimum]
    if not stable:
        return None
    last = stable[-1]
    block = envelope.blocks()[last.block]
    return {
        "after": last.after,
        "messages": 0 if block.message is None else block.message + 1,
        "tokens": last.tokens,
        "ttl": _TTL.get(lifetime or "5m", lifetime or ""),
    }
