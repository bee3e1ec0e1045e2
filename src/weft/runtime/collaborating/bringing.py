"""What turns have attached and a tree's project brings along, for an agent that is shown no layers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from weft.context.assemble import ContextRequest
from weft.context.layers.blocks import render_item
from weft.context.layers.library import Attached
from weft.context.layers.settings import resolve_layer_settings
from weft.context.marker import JOINT
from weft.context.select import Candidate, ExtraSource
from weft.errors import PermissionDeniedError
from weft.knowledge.notes import Mounted
from weft.runtime.actor import Actor, require_access
from weft.runtime.attached import attached_on_path
from weft.runtime.operations.vaults import load_vaults
from weft.runtime.outlines import PathReader
from weft.runtime.standing import preferences_of, standing_of
from weft.tree.access import MemberRole
from weft.tree.content import Content, Text
from weft.tree.edge import SourceRole
from weft.tree.json import JsonValue

__all__ = ["with_brought"]

_NAME = 60


def with_brought(
    request: ContextRequest, reader: PathReader, actor: Actor
) -> tuple[ContextRequest, dict[str, Content]]:
    """The request with items before the turns that brought them, and with the project's words.

    An item stands there once, where it came first. With it, the texts of the items by their ids.
    """
    if not request.dialogue:
        return request, {}
    request = _with_project(request, reader, actor)
    attached = attached_on_path(reader.tree, reader.end, reader.annotations)
    if not attached:
        return request, {}
    texts: dict[str, Content] = {}
    by_level: dict[int, list[ExtraSource]] = {}
    for each in attached:
        name = f"item:{each.item.item.sha256}"
        if each.left_out is not None or name in texts:
            continue
        text = render_item(each.item)
        texts[name] = Text(text)
        source = ExtraSource(name, _shown(each), SourceRole.CONTEXT, request.estimator.of_text(text))
        by_level.setdefault(each.level, []).append(source)
    outline = request.outline
    outline = replace(
        outline,
        head=_with_items(outline.head, 0, by_level),
        tail=_with_items(outline.tail, outline.first, by_level),
    )
    return replace(request, outline=outline), texts


def _with_items(
    rows: Sequence[Candidate], first: int, by_level: dict[int, list[ExtraSource]]
) -> list[Candidate]:
    return [
        row._replace(notes=(*by_level.get(level, ()), *row.notes)) if level in by_level else row
        for level, row in enumerate(rows, first)
    ]


def _shown(each: Attached) -> str:
    name = " ".join((each.item.title or each.item.id).replace('"', "'").split())
    return name[:_NAME]


def _with_project(request: ContextRequest, reader: PathReader, actor: Actor) -> ContextRequest:
    opened = reader.tree
    grove, tree = preferences_of(opened)
    settings = resolve_layer_settings(cast("dict[str, JsonValue]", grove), cast("dict[str, JsonValue]", tree))
    try:
        require_access(opened.session, actor, MemberRole.READER)
    except PermissionDeniedError:
        # Whoever may enter one tree alone does not see what the grove holds.
        return request
    standing = standing_of(opened, actor, settings, Mounted(load_vaults(opened.session)), None).standing
    words = [request.system.tree.strip(), standing.project_prompt or "", standing.project_context or ""]
    return replace(request, system=replace(request.system, tree=JOINT.join(filter(None, words))))
