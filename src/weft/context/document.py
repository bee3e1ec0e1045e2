"""A document in buffer mode: one text, and the reference blocks that a chat model is sent before it."""

from collections.abc import Iterable
from dataclasses import replace

from weft.context.dialogue import Part, compose
from weft.context.items.blocks import shown_content
from weft.context.items.item_types import ContextItem
from weft.context.items.library import Attached, current_items
from weft.context.request import ContextRequest
from weft.context.rows import SPOKEN, Candidate, ExtraSource, Reason, least_of_content, tokens_of_content
from weft.context.tokens import Estimator
from weft.tree.content import Content, Mixed, Text, kind_of
from weft.tree.edge import SourceRole
from weft.tree.message import Message

_ITEM = "item:"


def document_of(parts: Iterable[Part]) -> str:
    return "".join(
        part.heading + "".join(block.text for block in part.blocks if isinstance(block, Text))
        for part in parts
    )


def references_of(parts: Iterable[Part]) -> tuple[Message, ...]:
    """The references as one message, in their order; nothing where there are none."""
    return compose(list(parts), names=None, prefill=False).messages


def words_alone(_level: int, row: Candidate) -> Candidate:
    """A document has no tools and no pictures: only order connects its levels."""
    if row.kind == "text" and row.role != "tool":
        return row
    left_out = row.left_out or (None if row.kind in SPOKEN else Reason.NO_WORDS)
    return row._replace(asks=False, answers=False, left_out=left_out)


def with_item_sources(request: ContextRequest) -> ContextRequest:
    """The request with the attachments of its path as sources, each id once, with its newest content.

    They belong to the end of the document: what is cut away from its beginning leaves them where they are.
    """
    attached = [*request.attached, *(Attached(0, item) for item in request.items)]
    if not attached:
        return request
    items = current_items(attached, turn=0, fresh=request.fresh)
    contents = {_ITEM + item.id: _content(item) for item in items}
    sources = [_source(item.id, contents[_ITEM + item.id], request.estimator) for item in items]
    gone = {
        each.item.id: each
        for each in attached
        if each.left_out is not None and _ITEM + each.item.id not in contents
    }
    sources += [
        _source(name, _content(each.item), request.estimator, each.left_out) for name, each in gone.items()
    ]
    pending = replace(request.pending, sources=(*request.pending.sources, *sources))
    return replace(request, pending=pending, attached=(), items=(), own={**request.own, **contents})


def _content(item: ContextItem) -> Content:
    text = Text(shown_content(item))
    return Mixed((text, *item.images)) if item.images else text


def _source(name: str, content: Content, estimator: Estimator, left_out: Reason | None = None) -> ExtraSource:
    return ExtraSource(
        _ITEM + name,
        name,
        SourceRole.CONTEXT,
        tokens_of_content(content, estimator),
        kind_of(content),
        left_out,
        least_of_content(content, estimator) if isinstance(content, Mixed) else None,
        item=True,
    )
