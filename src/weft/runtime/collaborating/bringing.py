"""What turns have attached and every request begins with, for an agent that is shown no layers."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from weft.context.assemble import ContextRequest
from weft.context.layers.blocks import render_item
from weft.context.layers.items import ContextItem
from weft.context.layers.library import Attached
from weft.context.layers.settings import Changed, resolve_layer_settings
from weft.context.layers.standing import standing_blocks
from weft.context.marker import JOINT
from weft.context.select import Candidate, ExtraSource, Outline
from weft.errors import PermissionDeniedError
from weft.knowledge.notes import Mounted
from weft.runtime.actor import Actor, require_access
from weft.runtime.attached import attached_on_path, fresh_items
from weft.runtime.operations.vaults import load_vaults
from weft.runtime.outlines import PathReader
from weft.runtime.standing import preferences_of, standing_of
from weft.tree.access import MemberRole
from weft.tree.content import Content, Text
from weft.tree.edge import SourceRole
from weft.tree.json import JsonValue

__all__ = ["Brought", "bring"]

_NAME = 60


class _Item(NamedTuple):
    """An item as it is shown, on every turn that brought it."""

    item: ContextItem
    revision: int
    levels: list[int]

    @property
    def name(self) -> str:
        return f"item:{self.item.sha256}:{self.item.id}"

    @property
    def text(self) -> str:
        return render_item(self.item, revision=self.revision)

    @property
    def shown(self) -> str:
        """What it is called where it stands."""
        name = " ".join((self.item.title or self.item.id).replace('"', "'").split())
        return name[:_NAME]


@dataclass(frozen=True, slots=True)
class Brought:
    """A request with the words of memory and project, and the items that belong into it."""

    request: ContextRequest
    items: Sequence[_Item] = ()

    @property
    def texts(self) -> dict[str, Content]:
        """Of the items, by the names that they have in the request."""
        return {each.name: Text(each.text) for each in self.items}

    def placed(self, kept: Collection[str] | None = None) -> ContextRequest:
        """The request with each item once, before the turn that brought it first.

        `kept` are the nodes that are sent: an item whose first turn is not among them stands before the
        first one that is.
        """
        outline, of_text = self.request.outline, self.request.estimator.of_text
        by_level: dict[int, list[ExtraSource]] = {}
        for each in self.items:
            level = self._level(each, outline, kept)
            source = ExtraSource(each.name, each.shown, SourceRole.CONTEXT, of_text(each.text))
            by_level.setdefault(level, []).append(source)
        outline = replace(
            outline,
            head=_with_items(outline.head, 0, by_level),
            tail=_with_items(outline.tail, outline.first, by_level),
        )
        return replace(self.request, outline=outline)

    def _level(self, item: _Item, outline: Outline, kept: Collection[str] | None) -> int:
        if kept is None:
            return item.levels[0]
        sent = {level for level, row in _rows(outline) if row.id in kept}
        return next((level for level in item.levels if level in sent), item.levels[0])

    def lost(self, kept: Collection[str]) -> bool:
        """Whether an item is not sent although a turn is that brought it."""
        sent = {level for level, row in _rows(self.request.outline) if row.id in kept}
        return any(each.name not in kept and sent.intersection(each.levels) for each in self.items)


def bring(request: ContextRequest, reader: PathReader, actor: Actor) -> Brought:
    """The request with what stands in every request's beginning, and all that its turns attached."""
    if not request.dialogue:
        return Brought(request)
    opened = reader.tree
    grove, tree = preferences_of(opened)
    settings = resolve_layer_settings(cast("dict[str, JsonValue]", grove), cast("dict[str, JsonValue]", tree))
    attached = [
        each for each in attached_on_path(opened, reader.end, reader.annotations) if each.left_out is None
    ]
    fresh: dict[str, ContextItem] = {}
    try:
        require_access(opened.session, actor, MemberRole.READER)
    except PermissionDeniedError:
        # Whoever may enter one tree alone does not see what the grove holds.
        pass
    else:
        mounted = Mounted(load_vaults(opened.session))
        standing = standing_of(opened, actor, settings, mounted, None).standing
        words = [request.system.tree.strip(), *(text for _, text in standing_blocks(standing))]
        request = replace(request, system=replace(request.system, tree=JOINT.join(filter(None, words))))
        if settings.changed is Changed.REFRESH:
            fresh = fresh_items(opened, mounted, (each.item for each in attached))
    return Brought(request, _items(attached, settings.changed, fresh))


def _items(attached: Iterable[Attached], changed: Changed, fresh: Mapping[str, ContextItem]) -> list[_Item]:
    """Each item once as it is now; where changes are appended, each revision once."""
    rows = list(attached)
    newest = {each.item.id: each.item for each in rows} | dict(fresh)
    found: dict[str, list[_Item]] = {}
    order: list[_Item] = []
    for each in rows:
        item = newest[each.item.id] if changed is Changed.REFRESH else each.item
        before = found.setdefault(item.id, [])
        if before and before[-1].item.sha256 == item.sha256:
            before[-1].levels.append(each.level)
        else:
            before.append(_Item(item, len(before) + 1, [each.level]))
            order.append(before[-1])
    return order


def _rows(outline: Outline) -> Iterator[tuple[int, Candidate]]:
    yield from enumerate(outline.head)
    yield from enumerate(outline.tail, outline.first)


def _with_items(
    rows: Sequence[Candidate], first: int, by_level: dict[int, list[ExtraSource]]
) -> list[Candidate]:
    return [
        row._replace(notes=(*by_level.get(level, ()), *row.notes)) if level in by_level else row
        for level, row in enumerate(rows, first)
    ]
