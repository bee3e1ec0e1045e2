"""Context items: notes, urls, selections and the like that a turn brings along."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from weft.errors import InvalidInputError, LimitExceededError
from weft.tree.content import Image, check_text, content_from_wire, content_to_wire
from weft.tree.json import JsonValue

ITEM_LIMIT = 10_000
"""Items on one node."""

_ID_LIMIT = 4_096
_BODY_LIMIT = 64 * 1024 * 1024
_ABOUT = ("title", "created", "modified")
_ABOUT_LIMIT = 10_000
_IMAGE_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One attachment. Its id is stable across turns; its hash says whether it changed."""

    id: str
    type: str
    content: str
    recoverable: bool = True
    title: str | None = None
    """None: the name that follows from its id."""
    created: str | None = None
    modified: str | None = None
    """ISO 8601, as it is to be shown."""
    images: tuple[Image, ...] = ()
    """Of the active note only."""
    pinned: bool = False
    """Put into the library by hand: there from its own turn on, and never compacted."""
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(self.content.encode("utf-8", "surrogatepass")).hexdigest()
        object.__setattr__(self, "sha256", digest)


def check_item(item: Item) -> Item:
    if not item.id or not item.type:
        raise InvalidInputError("a context item needs an id and a type")
    check_text(item.id, what="item id", limit=_ID_LIMIT)
    check_text(item.type, what="item type", limit=64)
    # Bodies are bytes: a NUL in a note is kept, and shown as a sign wherever a model reads it.
    check_text(item.content.replace("\x00", " "), what=f"item {item.id}", limit=_BODY_LIMIT)
    for name in _ABOUT:
        check_text(getattr(item, name) or "", what=f"{name} of {item.id}", limit=_ABOUT_LIMIT)
    if len(item.images) > _IMAGE_LIMIT:
        raise LimitExceededError(f"an item takes at most {_IMAGE_LIMIT} images")
    return item


def item_about(item: Item) -> str | None:
    """What is shown of an item besides its content, as it is kept; None if there is nothing."""
    about: dict[str, JsonValue] = {
        name: value for name in _ABOUT if (value := getattr(item, name)) is not None
    }
    if item.pinned:
        about["pinned"] = True
    if item.images:
        about["images"] = [content_to_wire(image) for image in item.images]
    return json.dumps(about, ensure_ascii=False, sort_keys=True, separators=(",", ":")) if about else None


def about_item(stored: str | None) -> dict[str, object]:
    """The same as fields of an item; an `InvalidInputError` if it cannot be read."""
    if stored is None:
        return {}
    try:
        value = json.loads(stored)
    except ValueError:
        value = None
    if not isinstance(value, Mapping):
        raise InvalidInputError("the stored details of an item cannot be read")
    about = cast("Mapping[str, JsonValue]", value)
    images: list[Image] = []
    listed = about.get("images", ())
    for each in listed if isinstance(listed, Sequence) and not isinstance(listed, str) else (None,):
        image = content_from_wire(each, path="images")
        if not isinstance(image, Image):
            raise InvalidInputError("an item's images are images")
        images.append(image)
    texts = {name: about[name] for name in _ABOUT if name in about}
    pinned = about.get("pinned", False)
    known = about.keys() <= {*_ABOUT, "images", "pinned"} and isinstance(pinned, bool)
    if not known or not all(isinstance(text, str) for text in texts.values()):
        raise InvalidInputError("the stored details of an item cannot be read")
    return {**texts, "images": tuple(images), "pinned": pinned}
