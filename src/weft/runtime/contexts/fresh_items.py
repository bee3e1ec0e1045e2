"""The items of a path as they are now: notes and documents are read again, deleted ones as they were last read."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from sqlalchemy import func, select

from weft.context.items.item_types import ContextItem, document
from weft.context.items.library import Attached
from weft.context.stored_envelope import REFRESHED
from weft.errors import NotFoundError
from weft.ids import is_ulid
from weft.knowledge.notes import FreshItems, Mounted
from weft.runtime.contexts.prefix_reasons import last_on_path
from weft.runtime.operations.documents import load_document
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.packed_bodies import snapshots_of
from weft.store.path_queries import attaching
from weft.store.request_records import record_of
from weft.store.rows import NodeRow
from weft.store.transaction import GROVE

_events, _vaults = schema.events, schema.vaults
_DOCUMENT = "doc:"


def fresh_items(opened: Opened, end: NodeRow, mounted: Mounted, attached: Sequence[Attached]) -> FreshItems:
    """Those whose source can be read, as they are now: notes of vaults, documents of the grove."""
    items = list({each.item.id: each.item for each in attached if each.left_out is None}.values())
    now, gone = mounted.fresh(items)
    # Only the text is read again: the note that is open stays the open one.
    fresh = {
        item.id: replace(
            now[item.id],
            item=replace(now[item.id].item, type=item.type, recoverable=item.recoverable),
            title=item.title,
        )
        for item in items
        if item.id in now
    }
    deleted = {*_documents(opened, items, fresh), *_surely(opened, end, attached, gone)}
    return FreshItems({**_last_read(opened, end, attached, deleted), **fresh}, frozenset(deleted))


def _documents(opened: Opened, items: Iterable[ContextItem], read: dict[str, ContextItem]) -> Iterable[str]:
    """Add the documents as they are; the ids of those that were deleted."""
    for item in items:
        if item.type == "document" and item.id.startswith(_DOCUMENT):
            name = item.id.removeprefix(_DOCUMENT)
            try:
                read[item.id] = document(name, load_document(opened.session, name).content, title=item.title)
            except NotFoundError:
                if is_ulid(name):
                    yield item.id


def _surely(opened: Opened, end: NodeRow, attached: Sequence[Attached], gone: frozenset[str]) -> set[str]:
    """The notes that were deleted. One that is older than an unmount may be in that vault: it stays as attached."""
    if not gone:
        return set()
    unmounted = select(func.max(_vaults.c.removed)).scalar_subquery()
    last = select(_events.c.created_at).where(_events.c.tree == GROVE, _events.c.ordinal == unmounted)
    moment = opened.session.execute(last).scalar_one_or_none()
    if moment is None:
        return set(gone)
    made = {row.depth: row.created_at for row in attaching(opened.session, opened.key, end.position)}
    return {each.item.id for each in attached if each.item.id in gone and made[each.level] >= moment}


def _last_read(
    opened: Opened, end: NodeRow, attached: Sequence[Attached], deleted: set[str]
) -> dict[str, ContextItem]:
    """Deleted items as the last request on the path had them; the others are as they were attached."""
    sent = last_on_path(opened, end) if deleted else None
    if sent is None:
        return {}
    record = record_of(sent)
    read = cast("dict[str, dict[str, str]]", record.get(REFRESHED, {}))
    items = {each.item.id: each.item for each in attached if each.item.id in deleted & read.keys()}
    texts = snapshots_of(opened.session, opened.key, [read[name]["content"] for name in items])
    return {
        name: replace(
            item,
            item=replace(item.item, content=texts[read[name]["content"]]),
            created=read[name]["created"],
            modified=read[name]["modified"],
        )
        for name, item in items.items()
    }
