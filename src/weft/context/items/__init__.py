"""What turns attach: items and their types, their blocks, and the library of earlier turns."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # An item loads with the first call that needs it.
    from weft.context.items.blocks import ToolOutput, render_item, render_tools
    from weft.context.items.item_types import (
        ContextItem,
        active_note,
        document,
        node,
        note,
        query,
        selection,
        url,
        with_images,
    )
    from weft.context.items.note_lookup import ListedNote, NoteReference, resolve_notes
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "ContextItem",
    "ListedNote",
    "NoteReference",
    "ToolOutput",
    "active_note",
    "document",
    "node",
    "note",
    "query",
    "render_item",
    "render_tools",
    "resolve_notes",
    "selection",
    "url",
    "with_images",
]
