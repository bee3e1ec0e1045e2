"""Search hits with their nodes."""

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from weft.grove.node import NodeHandle
from weft.runtime.search.results import Hit, Hits

if TYPE_CHECKING:
    from weft.grove.grove import Grove


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SearchHit(Hit):
    """One result, and its node."""

    grove: "Grove" = field(repr=False, compare=False)

    @property
    def value(self) -> Hit:
        """The result without its grove."""
        return Hit(**{each.name: getattr(self, each.name) for each in fields(Hit)})

    @property
    def node(self) -> NodeHandle | None:
        """The node, or the node that the tag is on; None for trees and documents."""
        if self.local_id is None or self.tree_id is None:
            return None
        return self.grove.tree(self.tree_id).node(self.local_id)


def hits_in(grove: "Grove", hits: Hits[Hit]) -> Hits[SearchHit]:
    names = [each.name for each in fields(Hit)]
    return Hits(
        hits.query,
        tuple(SearchHit(**{name: getattr(hit, name) for name in names}, grove=grove) for hit in hits),
        hits.offset,
        hits.more,
        complete=hits.complete,
        trouble=hits.trouble,
    )
