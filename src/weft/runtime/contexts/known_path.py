"""A path as it was read before: as long as the tree only grew, the next context reads no more than what is new.

The chain of the tree's events says what holds. A path is known as of one event; if all later ones
are of kinds that keep paths (`Trait.KEEPS_PATHS`), everything on it is as it was.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import bindparam, select

from weft.context.rows import Annotations, Candidate, PathMemory
from weft.context.tokens import Estimator
from weft.runtime.contexts.tree_facts import TreeFacts
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.rows import LightRow
from weft.store.tree_queries import Selections
from weft.tree.event_kinds import PATH_KEEPING_KINDS

_LEVEL_SIZE = 2_000
"""Bytes of one level, roughly."""
_EVENTS = 200
"""So many events are looked through; after more of them the path is read afresh."""
_events = schema.events
_SINCE = (
    select(_events.c.ordinal, _events.c.hash, _events.c.kind)
    .where(_events.c.tree == bindparam("the_tree"), _events.c.ordinal >= bindparam("first"))
    .order_by(_events.c.ordinal)
    .limit(_EVENTS)
)


class Level(NamedTuple):
    """One level of a path: its row, and what planning reads of it."""

    row: LightRow
    candidate: Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPath:
    """The levels before a place, without a gap, and what is known of the path's beginning."""

    events: int
    head: bytes | None
    levels: list[Level]
    beginnings: dict[Hashable, list[Level]] = field(default_factory=dict[Hashable, list[Level]])
    """By how far they reach."""
    between: dict[int, tuple[int, list[LightRow]]] = field(
        default_factory=dict[int, tuple[int, list[LightRow]]]
    )
    """By the position where a beginning ends: to which depth, and the nodes there that matter."""
    seen: dict[str, LightRow] = field(default_factory=dict[str, LightRow])
    """All rows by their ids, those of sources and notes too."""
    memory: PathMemory = field(default_factory=PathMemory)
    words_from: int = 0
    """From this depth on, every level is the words of one node, with nothing beside them."""

    @property
    def size(self) -> int:
        return _LEVEL_SIZE * (len(self.levels) + sum(map(len, self.beginnings.values())))

    def holds(self, opened: Opened, facts: TreeFacts) -> bool:
        """True if nothing on the path can have changed since it was read."""
        if facts.head == self.head:
            return True
        values = {"the_tree": opened.key, "first": self.events}
        (*rows,) = opened.session.rows(_SINCE, values)
        known, *later = rows or [(0, b"", "")]
        return (
            (known[0], known[1]) == (self.events, self.head)
            and len(later) == facts.events - self.events
            and all(kind in PATH_KEEPING_KINDS for _, _, kind in later)
        )


def path_key(
    opened: Opened, estimator: Estimator, annotations: Annotations, selections: Selections
) -> Hashable:
    """All that a level depends on besides its tree: who looks, and how tokens are counted."""
    # A calibrated estimator is made of new functions each time; its name says which it is.
    counts = estimator.name if estimator.name.startswith("calibrated:") else estimator
    return opened.ulid, counts, annotations, tuple(sorted(selections.items()))
