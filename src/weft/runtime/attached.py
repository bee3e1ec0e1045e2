"""The items of a path: everything that its turns brought along, each as it was attached, and as it is now."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from weft.context.layers.items import ContextItem, document
from weft.context.layers.library import Attached
from weft.context.layers.names import EXPANDED
from weft.context.select import Annotations, reason_to_leave_out
from weft.errors import NotFoundError, StorageError
from weft.knowledge.notes import Mounted
from weft.runtime.operations.documents import load_document
from weft.runtime.reading import Opened
from weft.runtime.values import metadata_of
from weft.store.attachments import attaching, attachments_on, bodies_of
from weft.store.rows import EDGE_TYPES, Flag, NodeRow
from weft.tree.edge import EdgeType
from weft.tree.item import Item, about_item

__all__ = ["attached_on_path", "fresh_items", "shown_item"]

_ANNOTATION = EDGE_TYPES.index(EdgeType.ANNOTATION)


def shown_item(item: Item) -> ContextItem:
    """An item as layers see it."""
    return ContextItem(
        item=item, title=item.title, created=item.created, modified=item.modified, images=item.images
    )


def attached_on_path(opened: Opened, end: NodeRow, annotations: Annotations) -> list[Attached]:
    """Every item on the path to a node, in the order of the path; a text that came often is read once."""
    session, tree = opened.session, opened.key
    rows = attaching(session, tree, end.position)
    held = attachments_on(session, tree, [row.key for row in rows if row.flags & Flag.HAS_ATTACHMENTS])
    digests = {bytes(item.sha256) for listed in held.values() for item in listed}
    bodies = bodies_of(session, tree, digests)
    known: dict[tuple[Any, ...], ContextItem] = {}
    found: list[Attached] = []
    for row in rows:
        reason = reason_to_leave_out(
            metadata_of(row),
            annotation=row.edge_type == _ANNOTATION,
            node=row.ulid,
            annotations=annotations,
        )
        for item in held.get(row.key, ()):
            if item.type in EXPANDED:
                continue
            key = (item.id, item.type, bytes(item.sha256), item.recoverable, item.about)
            if key not in known:
                known[key] = _item(item, bodies.get(bytes(item.sha256)))
            shown = known[key]
            found.append(Attached(row.depth, shown, pinned=shown.item.pinned, left_out=reason))
    return found


def _item(row: Any, body: bytes | None) -> ContextItem:
    if body is None:
        raise StorageError(
            f"the content of {row.id[:200]!r} is not there any more", hint="weft verify says more"
        )
    item = Item(
        id=row.id,
        type=row.type,
        content=body.decode("utf-8", "surrogatepass"),
        recoverable=row.recoverable,
        **cast("dict[str, Any]", about_item(row.about)),
    )
    return shown_item(item)


def fresh_items(opened: Opened, mounted: Mounted, attached: Iterable[ContextItem]) -> dict[str, ContextItem]:
    """Those whose source can be looked at, as they are now: notes of vaults, documents of the grove."""
    items = list({item.id: item for item in attached}.values())
    now = mounted.fresh(items)
    # Only what it says is looked at again: the note that is open stays the open one.
    found = {
        item.id: replace(
            now[item.id],
            item=replace(now[item.id].item, type=item.type, recoverable=item.recoverable),
            title=item.title,
        )
        for item in items
        if item.id in now
    }
    for item in items:
        if item.type == "document" and item.id.startswith("doc:"):
            name = item.id.removeprefix("doc:")
            try:
                found[item.id] = document(name, load_document(opened.session, name).content, title=item.title)
            except NotFoundError:
                continue
    return found
