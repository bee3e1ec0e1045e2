"""Search hits that one can act on."""

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from weft.grove.node import NodeHandle
from weft.runtime.search.results import Hit, Hits

if TYPE_CHECKING:
    from weft.grove.grove import Grove


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SearchHit(Hit):
    """One thing that was found, and its node."""

    grove: "Grove" = field(repr=False, compare=False)

    @property
    def value(self) -> Hit:
        """What was found, without its grove."""
        return Hit(**{each.name: getattr(self, each.name) for each in fields(Hit)})

    @property
    def node(self) -> NodeHandle | None:
        """The node that was found, or that the tag is on; None for trees and documents."""
        if self.local_id is None or self.tree_id is None:
            return None
        return self.grove.tree(self.tree_id).node(self.local_id)


def hits_in(grove: "Grove", found: Hits[Hit]) -> Hits[SearchHit]:
    names = [each.name for each in fields(Hit)]
    return Hits(
        found.query,
        tuple(SearchHit(**{name: getattr(hit, name) for name in names}, grove=grove) for hit in found),
        found.offset,
        found.more,
        complete=found.complete,
        trouble=found.trouble,
    )
