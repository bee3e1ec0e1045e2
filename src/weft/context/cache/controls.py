"""What a request tells its provider's cache: marks on blocks, a key, or what to put into an explicit cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.context.envelope import TOOLS, Envelope, RequestBlock, canonical, sha256_of
from weft.context.items.item_types import LayerId
from weft.errors import InvalidInputError
from weft.tree.cache_profile import CacheKind, CacheProfile
from weft.tree.json import JsonObject, JsonValue
from weft.tree.message import message_to_wire
from weft.tree.node import Role

_KEY_LENGTH = 32

_END = "end"

_GROWTH = 2
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
        wire: dict[str, JsonValue] = {}
        if self.marks:
            wire["marks"] = [mark.to_wire() for mark in self.marks]
        if self.fields:
            wire["fields"] = dict(self.fields)
        if self.cached_content is not None:
            wire["cachedContent"] = self.cached_content
        return wire


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCache:
    """An explicit cache that the provider has of a conversation."""

    name: str
    prefix: str
    """The SHA-256 of what it holds."""
    messages: int
    tokens: int


def cache_controls(
    envelope: Envelope,
    profile: CacheProfile,
    *,
    lifetime: str | None = None,
    key: str | None = None,
    explicit: bool = False,
    held: Sequence[HeldCache] = (),
    model: str = "",
    end: bool = True,
) -> CacheControls:
    """What this request tells its provider; nothing where there is nothing to tell.

    `lifetime` is one of the profile's; of a cache that is created also seconds, such as `300s`.
    `explicit` asks for such a cache, for what is stable; `held` are those that the provider has of
    this conversation. `end` says whether the last message will be sent again as it is.
    """
    match profile.kind:
        case CacheKind.MARKS:
            fields: dict[str, JsonValue] = (
                {"prompt_cache_key": key or _key(envelope)} if profile.keyed else {}
            )
            marks = _marks(envelope, profile, lifetime, end=end)
            return CacheControls(marks=marks, fields=fields | dict(profile.fields))
        case CacheKind.KEY:
            return CacheControls(fields={"prompt_cache_key": key or _key(envelope)})
        case CacheKind.CONTENT:
            wanted = _content(envelope, profile, lifetime, model, held) if explicit else None
            return CacheControls(cached_content=wanted)
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
    control = profile.control
    if lifetime is not None and lifetime != profile.lifetimes[0]:
        control = {**control, "ttl": lifetime}
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
    levels: dict[int, None] = {}
    for place in places.values():
        marked = _markable(envelope, blocks, place, profile)
        if marked is not None and sums[marked + 1] >= profile.minimum:
            levels[marked] = None
    return tuple(
        PrefixMark(message=blocks[place].message, block=blocks[place].number, control=control)
        for place in sorted(levels)[-profile.marks :]
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


def _markable(
    envelope: Envelope, blocks: Sequence[RequestBlock], place: int, profile: CacheProfile
) -> int | None:
    """The block itself, or one before it: thinking, tools and empty blocks take no mark."""

    def takes_none(block: RequestBlock) -> bool:
        said = block.message is not None and envelope.messages[block.message].role is Role.ASSISTANT
        return block.kind in {"thinking", TOOLS} or not block.tokens or (said and not profile.marks_answers)

    while place >= 0 and takes_none(blocks[place]):
        place -= 1
    return place if place >= 0 else None


def _key(envelope: Envelope) -> str:
    """Requests of one conversation, siblings among them, go where its prefix was cached."""
    name = envelope.conversation_id or envelope.layer(LayerId.SYSTEM).hash
    return f"weft-{sha256_of(name)[:_KEY_LENGTH]}"


def _content(
    envelope: Envelope, profile: CacheProfile, lifetime: str | None, model: str, held: Sequence[HeldCache]
) -> JsonObject | None:
    """The cache that a request uses: one that is held, else one that is created, of what stays.

    What stays is the system and the history up to its last stable point. A cache serves all later turns
    that begin as it does; only when what stays is twice as large, a larger one replaces it: each is paid
    for whole, and so all of them together cost at most twice the last.
    """
    if envelope.memory_block:
        # A system message is cached whole or not at all, and this one changes.
        return None
    ttl = _TTL.get(lifetime or "5m", lifetime or "")
    fitting = [each for each in held if each.prefix == content_prefix(envelope, model, each.messages)]
    largest = max(fitting, key=lambda each: each.tokens, default=None)
    stable = [each for each in envelope.breakpoints if each.after != _END and each.tokens >= profile.minimum]
    last = stable[-1] if stable else None
    if largest is not None and (last is None or last.tokens < _GROWTH * largest.tokens):
        kept: JsonObject = {"name": largest.name, "messages": largest.messages, "tokens": largest.tokens}
        return {**kept, "ttl": ttl}
    if last is None:
        return None
    block = envelope.blocks()[last.block]
    count = 0 if block.message is None else block.message + 1
    return {
        "after": last.after,
        "messages": count,
        "tokens": last.tokens,
        "ttl": ttl,
        "prefix": content_prefix(envelope, model, count),
        "replaces": [each.name for each in fitting],
    }


def content_prefix(envelope: Envelope, model: str, count: int) -> str:
    """The SHA-256 of what a cache holds: the tools, the system, and so many messages."""
    messages = [message_to_wire(message) for message in envelope.messages[:count]]
    if len(messages) < count:
        return ""
    return sha256_of(canonical([model, envelope.tools_text, envelope.system, messages]))
