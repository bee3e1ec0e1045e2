"""The provider's cache: what a provider offers, prediction, the recorder, and a monitor of the stable layers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Protocol

from weft.context.layers.blocks import ItemForm
from weft.context.layers.envelope import Envelope, Layer, RequestBlock, Segment, sha256_of
from weft.context.layers.items import LayerId
from weft.context.manifest_entries import NO_LIMIT
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
        if block.message is not None and envelope.messages[block.message].role is Role.USER
    ]
    if spoken and last - spoken[-1] >= profile.look_back:
        return spoken[-1]
    return last


def _markable(blocks: Sequence[RequestBlock], place: int) -> int | None:
    """The block itself, or one before it: thinking and empty blocks take no mark."""
    while place >= 0 and (blocks[place].kind == "thinking" or not blocks[place].tokens):
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


_EMPTY = "(empty)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """One request, as it will be sent."""

    envelope: Envelope
    provider: str = ""
    controls: CacheControls | None = None
    prediction: Prediction | None = None

    @property
    def text(self) -> str:
        """The layers one after the other, each under its name, its size and its hash."""
        envelope = self.envelope
        lines = [f"# {envelope.conversation_id or '-'} · {envelope.message_id or '-'}"]
        limit = f" of {envelope.budget:,}" if envelope.budget < NO_LIMIT else ""
        lines.append(f"{envelope.tokens:,}{limit} tokens · {envelope.combined_hash[:12]}")
        if self.prediction is not None:
            lines.append(f"about {self.prediction.cached:,} from the cache")
        lines += [f"warning: {warning}" for warning in envelope.warnings]
        extras = (
            ("tool descriptions", "\n\n".join(envelope.descriptions)),
            ("memory block", envelope.memory_block),
            ("before L3", envelope.additional),
        )
        for name, text in extras:
            lines += ["", f"## {name}", text] if text else []
        for layer in envelope.layers:
            stable = "stable" if layer.stable else "volatile"
            lines += [
                "",
                f"## {layer.id.value} · {layer.label} · {layer.tokens:,} tokens · {stable} · {layer.hash[:12]}",
            ]
            lines.append(layer.text or _EMPTY)
        if self.controls is not None and self.controls.marks:
            lines += ["", "## cache marks"]
            lines += [
                f"{'system' if mark.message is None else f'message {mark.message}'}, block {mark.block}"
                for mark in self.controls.marks
            ]
        return "\n".join(lines) + "\n"

    def to_wire(self) -> JsonObject:
        found: dict[str, JsonValue] = {"provider": self.provider, "envelope": self.envelope.to_wire()}
        if self.controls is not None:
            found["cacheControls"] = self.controls.to_wire()
        if self.prediction is not None:
            found["prediction"] = self.prediction.to_wire()
        return found


def record_payload(
    envelope: Envelope,
    *,
    provider: str = "",
    controls: CacheControls | None = None,
    prediction: Prediction | None = None,
) -> Payload:
    return Payload(envelope=envelope, provider=provider, controls=controls, prediction=prediction)


DESCRIPTIONS = "tool descriptions"
"""What stands behind the library where an agent needs it."""


class Trigger(StrEnum):
    """A recorded reason for the prefix to change."""

    SETTINGS = "settings"
    MEMORY = "memory"
    INSTRUCTION = "instruction"
    AGENT = "agent"
    NEW_ITEM = "new item"
    COMPACTION = "compaction"
    PROJECT = "project"
    """Its prompt or what its context names: settings of the trees that belong to it."""
    EXCLUSION = "exclusion"
    """A turn was left out, or taken back in, and its items with it."""


class HasLayers(Protocol):
    """An envelope, or as much of one as there is to compare."""

    def layer(self, name: LayerId, /) -> Layer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Instability:
    """A stable layer that changed, and where it first did."""

    layer: LayerId
    segment: str
    before: str
    after: str
    """The layer's hashes."""

    @property
    def message(self) -> str:
        if self.segment == DESCRIPTIONS:
            return (
                "the descriptions of tools changed in mid-conversation without a recorded reason: they are fixed "
                "for an agent's life, and the provider's cache is lost from there"
            )
        return (
            f"{self.layer.value} changed in mid-conversation without a recorded reason, from {self.segment} on: "
            "the provider's cache is lost from there"
        )

    def to_wire(self) -> JsonObject:
        return {
            "layer": self.layer.value,
            "segment": self.segment,
            "before": self.before,
            "after": self.after,
            "message": self.message,
        }


def watch(before: HasLayers, after: HasLayers, triggers: Collection[Trigger] = ()) -> list[Instability]:
    """What changed in L1 and L2 since the last turn of the path that no trigger explains.

    A trigger explains what it can bring about: a new item one that is added at the end, a
    compaction items that became shorter, a changed memory the memory.
    """
    found: list[Instability] = []
    for layer in (LayerId.SYSTEM, LayerId.LIBRARY):
        old, new = before.layer(layer), after.layer(layer)
        if old.hash == new.hash or Trigger.SETTINGS in triggers:
            continue
        where = _unexplained(old, new, frozenset(triggers))
        if where is not None:
            found.append(Instability(layer=layer, segment=where, before=old.hash, after=new.hash))
    return found


def watch_descriptions(
    before: Sequence[str], after: Sequence[str], triggers: Collection[Trigger] = ()
) -> list[Instability]:
    """Whether descriptions of tools, by their hashes, are what they were: only another agent has others."""
    if list(before) == list(after) or {Trigger.AGENT, Trigger.SETTINGS} & set(triggers):
        return []
    one, other = ("+".join(each) for each in (before, after))
    return [Instability(layer=LayerId.LIBRARY, segment=DESCRIPTIONS, before=one, after=other)]


def expected_triggers(before: HasLayers, after: HasLayers) -> frozenset[Trigger]:
    """What follows from the path itself: items that earlier turns brought, and a compaction."""
    old, new = (each.layer(LayerId.LIBRARY).segments for each in (before, after))
    found: set[Trigger] = set()
    if len(new) > len(old):
        found.add(Trigger.NEW_ITEM)
    if any(_compacted(mine, theirs) for mine, theirs in zip(old, new, strict=False)):
        found.add(Trigger.COMPACTION)
    return frozenset(found)


def _unexplained(old: Layer, new: Layer, triggers: frozenset[Trigger]) -> str | None:
    """The first segment whose change has no reason."""
    if new.id is LayerId.LIBRARY:
        return _in_library(old.segments, new.segments, triggers)
    mine = {segment.id: segment.content for segment in old.segments}
    theirs = {segment.id: segment.content for segment in new.segments}
    for name in dict.fromkeys([*mine, *theirs]):
        if mine.get(name) != theirs.get(name) and not _triggers_of(name) & triggers:
            return name
    moved = [name for name in mine if name in theirs] != [name for name in theirs if name in mine]
    return next(iter(theirs), next(iter(mine), "")) if moved else None


def _triggers_of(segment: str) -> set[Trigger]:
    """What can bring about that a segment of L1 changes; settings can bring about anything."""
    if segment == "memory":
        return {Trigger.MEMORY}
    if segment.startswith("["):
        return {Trigger.INSTRUCTION, Trigger.EXCLUSION}
    if segment.startswith("project_"):
        return {Trigger.PROJECT}
    return {Trigger.AGENT} if segment in {"agent", "addendum"} else set()


def _in_library(
    old: tuple[Segment, ...], new: tuple[Segment, ...], triggers: frozenset[Trigger]
) -> str | None:
    if Trigger.EXCLUSION in triggers:
        return None
    for mine, theirs in zip(old, new, strict=False):
        if mine.id != theirs.id:
            return theirs.id
        if mine.content != theirs.content and not (
            _compacted(mine, theirs) and Trigger.COMPACTION in triggers
        ):
            return theirs.id
    if len(new) < len(old):
        return old[len(new)].id
    if len(new) > len(old) and Trigger.NEW_ITEM not in triggers:
        return new[len(old)].id
    return None


def _compacted(mine: Segment, theirs: Segment) -> bool:
    forms = [ItemForm.FULL.value, ItemForm.OUTLINE.value, ItemForm.STUB.value]
    one, other = str(mine.metadata.get("form")), str(theirs.metadata.get("form"))
    return one in forms and other in forms and forms.index(other) > forms.index(one)
