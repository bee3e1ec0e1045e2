"""Context items: notes, urls, selections and the like that a turn brings along."""

import hashlib
from dataclasses import dataclass, field

from weft.errors import InvalidInputError
from weft.tree.content import check_text

__all__ = ["ITEM_LIMIT", "Item", "check_item"]

ITEM_LIMIT = 10_000
"""Items on one node."""

_ID_LIMIT = 4_096
_BODY_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One attachment. Its id is stable across turns; its hash says whether it changed."""

    id: str
    type: str
    content: str
    recoverable: bool = True
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(self.content.encode("utf-8", "surrogatepass")).hexdigest()
        object.__setattr__(self, "sha256", digest)


def check_item(item: Item) -> Item:
    if not item.id or not item.type:
        raise InvalidInputError("a context item needs an id and a type")
    check_text(item.id, what="item id", limit=_ID_LIMIT)
    check_text(item.type, what="item type", limit=64)
    check_text(item.content, what=f"item {item.id}", limit=_BODY_LIMIT)
    return item
