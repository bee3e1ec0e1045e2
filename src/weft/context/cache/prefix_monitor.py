"""Find changes of the stable layers that no recorded reason explains."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from weft.context.envelope import Layer, Segment
from weft.context.items.blocks import ItemForm
from weft.context.items.item_types import LayerId
from weft.tree.json import JsonObject

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
