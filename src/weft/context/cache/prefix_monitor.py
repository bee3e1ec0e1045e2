"""Find changes of the stable layers that no recorded reason explains."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from weft.context.envelope import TOOLS, Layer, Segment
from weft.context.items.blocks import ItemForm
from weft.context.items.item_types import LayerId
from weft.tree.json import JsonObject, JsonValue

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


Reasons: TypeAlias = Mapping[Trigger, Collection[str]]
"""The ids of the segments that each recorded trigger explains: it explains no other."""
NO_REASONS: Reasons = {}


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
        if self.segment in {TOOLS, DESCRIPTIONS}:
            what = "tools" if self.segment == TOOLS else "descriptions of tools"
            return (
                f"the {what} changed in mid-conversation without a recorded reason: they are fixed "
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


def watch(before: HasLayers, after: HasLayers, reasons: Reasons = NO_REASONS) -> list[Instability]:
    """What changed in L1 and L2 since the last turn of the path that no trigger explains."""
    instabilities: list[Instability] = []
    for layer in (LayerId.SYSTEM, LayerId.LIBRARY):
        old, new = before.layer(layer), after.layer(layer)
        if old.hash == new.hash:
            continue
        unexplained = _in_library if layer is LayerId.LIBRARY else _in_system
        where = unexplained(old.segments, new.segments, reasons)
        if where is not None:
            instabilities.append(Instability(layer=layer, segment=where, before=old.hash, after=new.hash))
    return instabilities


def watch_tools(
    before: Sequence[str], after: Sequence[str], reasons: Reasons = NO_REASONS, *, segment: str = TOOLS
) -> list[Instability]:
    """Whether tools or their descriptions, by their hashes, are what they were: only another agent has others."""
    if list(before) == list(after) or segment in _explained(reasons):
        return []
    one, other = ("+".join(each) for each in (before, after))
    return [Instability(layer=LayerId.LIBRARY, segment=segment, before=one, after=other)]


def expected_reasons(before: HasLayers, after: HasLayers, reasons: Reasons = NO_REASONS) -> Reasons:
    """What follows from the path itself: items that earlier turns brought, and a compaction.

    An item is shown in full again only if the library became smaller, or its share larger.
    """
    old, new = (
        {_key(each): each for each in every.layer(LayerId.LIBRARY).segments} for every in (before, after)
    )
    room = Trigger.EXCLUSION in reasons
    expected = {
        Trigger.NEW_ITEM: {each.id for key, each in new.items() if key not in old},
        Trigger.COMPACTION: {
            *reasons.get(Trigger.COMPACTION, ()),
            *(old[key].id for key in old if key in new and (room or _is_shorter(old[key], new[key]))),
        },
    }
    return {trigger: ids for trigger, ids in expected.items() if ids}


def _explained(reasons: Reasons) -> set[str]:
    return {segment for segments in reasons.values() for segment in segments}


def _in_system(old: Sequence[Segment], new: Sequence[Segment], reasons: Reasons) -> str | None:
    """The first segment whose change has no reason."""
    explained = _explained(reasons)
    mine = {segment.id: segment.content for segment in old}
    theirs = {segment.id: segment.content for segment in new}
    for name in dict.fromkeys([*mine, *theirs]):
        if mine.get(name) != theirs.get(name) and name not in explained:
            return name
    moved = [name for name in mine if name in theirs] != [name for name in theirs if name in mine]
    return next(iter(theirs), next(iter(mine), "")) if moved else None


def _in_library(old: Sequence[Segment], new: Sequence[Segment], reasons: Reasons) -> str | None:
    """The same of items: those that were left out or taken back may be anywhere, new ones are at the end."""
    free = {*reasons.get(Trigger.EXCLUSION, ()), *reasons.get(Trigger.SETTINGS, ())}
    mine, theirs = ([each for each in every if each.id not in free] for every in (old, new))
    compacted, added = reasons.get(Trigger.COMPACTION, ()), reasons.get(Trigger.NEW_ITEM, ())
    for one, other in zip(mine, theirs, strict=False):
        if _key(one) != _key(other):
            return other.id
        if one.content != other.content and not (one.id in compacted and _is_reshaped(one, other)):
            return other.id
    if len(theirs) < len(mine):
        return mine[len(theirs)].id
    return next((each.id for each in theirs[len(mine) :] if each.id not in added), None)


def _key(segment: Segment) -> tuple[str, JsonValue]:
    return segment.id, segment.metadata.get("revision")


def _is_reshaped(one: Segment, other: Segment) -> bool:
    """True if only the form differs in which the same content is shown."""
    return one.metadata.get("sha256") == other.metadata.get("sha256") and (
        one.metadata.get("form") != other.metadata.get("form")
    )


def _is_shorter(one: Segment, other: Segment) -> bool:
    forms = [form.value for form in ItemForm]
    first, second = str(one.metadata.get("form")), str(other.metadata.get("form"))
    return first in forms and second in forms and forms.index(second) > forms.index(first)
