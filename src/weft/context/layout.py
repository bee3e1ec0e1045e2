"""Lay out a path: decide what is in which layer, before any text of the path is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from weft.context.items.blocks import READ_URL, clean, is_unread, render_tools
from weft.context.items.inline import Inline
from weft.context.items.item_types import LIBRARY_HEADING, SUMMARY_HEADING, ContextItem
from weft.context.items.library import (
    Attached,
    Given,
    Held,
    ItemReference,
    Preface,
    compact,
    current_items,
    promote,
)
from weft.context.path_fit import fit_path
from weft.context.plan import Plan
from weft.context.request import INPUT, ContextRequest, Layout, Placed, SystemLayers
from weft.context.rows import Candidate, PathOutline, Reason, answers_of
from weft.context.settings import Changed, Placement
from weft.context.shorten import least_tokens
from weft.context.system import standing_layer
from weft.context.tool_pairs import settled

_GRID = 16
_FEW, _BITS = 4, 6
_RECENT = 64
"""Levels from the end among which those are that may have to be shortened."""


def lay_out_layers(plan: Plan, *, turn_is_cut: bool = False) -> None:
    """Decide what is in which layer. Reads the items' texts, and none of the path's.

    Where the turn itself is cut, and a run or tool calls go on from it, its items belong to an earlier turn.
    """
    request = plan.request
    if turn_is_cut:
        layout = _layout_of(request, plan.outline, 0)
    else:
        exchange = 0 if request.run or request.alone else _exchange(request, plan.outline.tail)
        layout = _layout_of(request, plan.outline, request.run, exchange)
    layout = replace(layout, placed=tuple(_placed(layout, request)), system=_system(request, layout))
    plan.layout = layout
    plan.system = layout.system.context(request.estimator)
    if request.settings.library is Placement.INLINE:
        extra = _extras(request, layout)
        plan.inline = Inline(
            layout=layout,
            share=_share(request),
            estimator=request.estimator,
            readers=request.readers,
            extra=extra,
        )
        plan.rows = plan.inline.ruled(layout.outline)
    else:
        plan.prefaces = _turn_preface(request, layout)
        plan.rows = _priced(layout.outline, plan.prefaces, request, None)


def _exchange(request: ContextRequest, rows: Sequence[Candidate]) -> int:
    """How many levels at the path's end are tool calls and their results: the turn before them goes on."""
    if request.pending.text or request.items:
        return 0
    end = len(rows)
    while (start := _skipped(rows, end, answers_of)) < end:
        calls = _skipped(rows, start, lambda row: row.role == "assistant")
        if calls == start:
            break
        end = calls
    spoken = end > 0 and rows[end - 1].role == "user" and not answers_of(rows[end - 1])
    return len(rows) - end if spoken else 0


def _skipped(rows: Sequence[Candidate], end: int, wanted: Callable[[Candidate], bool]) -> int:
    """Where the run of such rows before `end` begins; what is left out interrupts none."""
    start = end
    while end > 0 and (rows[end - 1].left_out is not None or wanted(rows[end - 1])):
        end -= 1
        start = end if rows[end].left_out is None else start
    return start


def _layout_of(request: ContextRequest, outline: PathOutline, run: int, exchange: int = 0) -> Layout:
    """Find the current turn, add the input to the path, cut off what the strip replaces."""
    follows = run or exchange
    offset = max(0, request.folded - 1)
    count = outline.first + len(outline.tail)
    turn = count if request.alone else _turn(outline, count - follows)
    if request.folded:
        # The row in the place of reduced levels belongs to no turn.
        turn = max(1, turn)
    live = [
        level
        for level in range(max(turn, outline.first), count - follows)
        if outline.at(level).left_out is None
    ]
    if follows and not live:
        # The turn itself is folded: its items belong to an earlier turn now.
        return _layout_of(request, outline, 0)
    attached = [each._replace(level=each.level - offset) for each in request.attached]
    if request.folded:
        # The items of the folded levels are attached to none of those that are left.
        attached = [each._replace(level=-1) if each.level == 0 else each for each in attached]
    needs_input = bool(request.pending.text or request.items)
    needs_place = bool(request.tool_outputs or request.loom_context) and not live
    if needs_input or needs_place:
        attached += [Attached(count, item) for item in request.items]
        outline = _with_input(outline, request)
        live.append(count)
    attached = _readable(attached, request, turn)
    spoken = [level for level in live if outline.at(level).tokens]
    # Of a turn of many messages only the recent ones are always sent: its items must be there.
    spoken = spoken[-max(1, request.preferences.minimum_recent_nodes) :]
    layout = Layout(
        outline=outline,
        offset=offset,
        turn=turn,
        spoken=count - 1 if run else turn,
        # A turn may begin with an empty node, as a tree does; what is said comes after it.
        first_live=next(iter(spoken or live), None),
        exchange=exchange,
        goes_on=follows > 0,
        attached=tuple(attached),
    )
    return _stripped(layout, request)


def _readable(attached: Sequence[Attached], request: ContextRequest, turn: int) -> list[Attached]:
    """Leave out pages that the model cannot read, and what the turn brings if its source is gone."""
    known = {each.item.id for each in attached if each.level < turn and each.left_out is None}

    def why(each: Attached) -> Reason | None:
        name = each.item.id
        if each.left_out is not None:
            return each.left_out
        if is_unread(each.item) and name not in request.fresh and READ_URL not in request.readers:
            return Reason.UNREAD
        return Reason.DELETED if each.level >= turn and name in request.deleted - known else None

    return [each._replace(left_out=why(each)) for each in attached]


def with_start(outline: PathOutline) -> PathOutline:
    """The first level's tokens change with what is before its words; its place does not."""
    if outline.start is not None or outline.between is not None or not outline.tail:
        return outline
    return replace(outline, start=max(0, outline.tail[0].ruler - outline.tail[0].tokens))


def _turn(outline: PathOutline, end: int) -> int:
    """Where the users' words before `end` begin; there, if the last word is not theirs."""
    level = end
    for row in reversed(outline.tail[: end - outline.first]):
        if row.role != "user" or row.kind == "tool_result":
            break
        level -= 1
    return level


def with_input(request: ContextRequest) -> PathOutline:
    """The path of a request without layers: pending input is a level like any other, the newest."""
    text = request.pending.text
    return (
        _with_input(request.outline, request)
        if (text.strip() if request.dialogue else text)
        else request.outline
    )


def _with_input(outline: PathOutline, request: ContextRequest) -> PathOutline:
    rows, text = outline.tail or outline.head, request.pending.text
    tokens = max(1, request.estimator.of_text(text)) if text else 0
    row = Candidate(INPUT, INPUT, "user", tokens, (rows[-1].ruler if rows else 0) + tokens)
    return replace(outline, tail=[*outline.tail, row])


def _stripped(layout: Layout, request: ContextRequest) -> Layout:
    strip, outline = request.strip, layout.outline
    if strip is None:
        return layout
    start = _last_turns(layout, strip.turns)
    if strip.through is not None:
        start = min(start, strip.through + 1 - layout.offset)
    if start <= outline.first or not strip.text_before(layout.offset + start).strip():
        # What is kept was not read, or there is nothing before it to replace.
        return layout
    cut = start - outline.first
    rest = PathOutline(tail=outline.tail[cut:], start=outline.tail[cut - 1].ruler)
    return replace(
        layout,
        # A tool group may have lost its beginning.
        outline=settled(rest, request.estimator),
        offset=layout.offset + start,
        turn=layout.turn - start,
        spoken=layout.spoken - start,
        first_live=None if layout.first_live is None else layout.first_live - start,
        attached=tuple(each._replace(level=each.level - start) for each in layout.attached),
        stripped=(*outline.head, *outline.tail[:cut]),
    )


def _last_turns(layout: Layout, wanted: int) -> int:
    """The level at which the last turns before the current one begin."""
    outline = layout.outline
    level = layout.turn
    while wanted > 0 and level > outline.first:
        index = level - 1 - outline.first
        while index > 0 and not _begins(outline.tail, index):
            index -= 1
        level = outline.first + index
        wanted -= 1
    return level


def _begins(rows: Sequence[Candidate], index: int) -> bool:
    spoken = rows[index].role == "user" and rows[index].kind != "tool_result"
    return spoken and rows[index - 1].role != "user"


def _placed(layout: Layout, request: ContextRequest) -> list[Placed]:
    """Every attachment as it is shown: with `refresh` the newest content, with `append` its own."""
    changed, fresh = request.settings.changed, request.fresh
    rows = [
        each._replace(item=_as_attached(fresh[each.item.id], each.item))
        if each.level >= layout.turn and each.item.id in fresh
        else each
        for each in layout.attached
    ]
    newest = {each.item.id: each.item for each in rows if each.left_out is None} | dict(fresh)
    first: dict[str, ContextItem] = {}
    last: dict[str, tuple[str, int]] = {}
    placed: list[Placed] = []
    for each in rows:
        name, item = each.item.id, each.item
        if changed is Changed.REFRESH:
            current = newest.get(name, item)
            before = first.setdefault(name, item)
            item = _as_attached(before if current.sha256 == before.sha256 else current, each.item)
        sha, revision = last.get(name, ("", 0))
        new = sha != item.sha256
        if each.left_out is None:
            last[name] = (item.sha256, revision + new)
        left_out = "" if each.left_out is None else each.left_out.value
        placed.append(
            Placed(
                level=each.level,
                item=item,
                revision=revision + new,
                pinned=each.pinned,
                left_out=left_out,
                first=new,
            )
        )
    return placed


def _as_attached(shown: ContextItem, attached: ContextItem) -> ContextItem:
    """The content that is shown, with the type and the pictures with which it was attached."""
    if shown.type != attached.type:
        shown = replace(shown, item=replace(shown.item, type=attached.type))
    return replace(shown, images=attached.images)


def _system(request: ContextRequest, layout: Layout) -> SystemLayers:
    estimator = request.estimator
    standing = standing_layer(request.parts, request.standing, request.preferences.instructions, estimator)
    held: tuple[Held, ...] = ()
    if request.settings.library is Placement.SYSTEM:
        held = promote(
            layout.attached,
            turn=layout.turn,
            changed=request.settings.changed,
            fresh=request.fresh,
            readers=request.readers,
        )
        held = compact(held, _share(request), estimator)
    joint = estimator.joint
    texts = tuple(each.render() for each in held)
    strip = request.strip if layout.stripped else None
    summary = "" if strip is None else clean(strip.text_before(layout.offset)).strip()
    return SystemLayers(
        standing=standing,
        held=held,
        texts=texts,
        sizes=tuple(estimator.of_text(text) + joint for text in texts),
        heading=estimator.of_text(LIBRARY_HEADING) + joint if held else 0,
        descriptions=clean(request.tool_descriptions).strip(),
        memory=clean(request.memory_block).strip(),
        summary=f"{SUMMARY_HEADING}\n{summary}" if summary else "",
        tools=sum(estimator.of_text(tool.json) + joint for tool in request.tools),
    )


def _share(request: ContextRequest) -> int:
    """The library's tokens. On a grid of the window, because a budget changes with what responses need.

    Where there is a limit far below the window, or the share is small, a step of that grid would be most of it.
    """
    most = int(request.settings.library_share * request.budget)
    unit = max(1, request.window // _GRID) if request.window else 1
    if most < _FEW * unit:
        unit = min(unit, 1 << max(0, most.bit_length() - _BITS))
    return most // unit * unit


def _extras(request: ContextRequest, layout: Layout) -> dict[int, Preface]:
    tools = render_tools(request.tool_outputs)
    loom = clean(request.loom_context).strip()
    if layout.first_live is None or not (tools or loom):
        return {}
    return {layout.first_live: Preface(tools=tools, loom=loom)}


def _turn_preface(request: ContextRequest, layout: Layout) -> dict[int, Preface]:
    """Where the library is in the system message, only the current turn has something before its words."""
    prefaces = _extras(request, layout)
    if layout.first_live is not None and layout.attached:
        items = current_items(layout.attached, turn=layout.turn, fresh=request.fresh)
        latest = {each.id: each for each in layout.system.held}
        appended = request.settings.changed is Changed.APPEND
        references: list[ItemReference] = []
        given: list[Given] = []
        for item in items:
            held = latest.get(item.id)
            if held is not None and (not appended or held.item.sha256 == item.sha256):
                references.append(ItemReference(item, held.revision))
            else:
                revision = 1 if held is None else held.revision + 1
                given.append(Given(item=item, revision=revision, readers=request.readers))
        prefaces[layout.first_live] = replace(
            prefaces.get(layout.first_live, Preface()),
            references=tuple(references),
            given=tuple(given),
            images=tuple(image for item in items for image in item.images),
        )
    return {level: preface for level, preface in prefaces.items() if preface}


def fit_inline(plan: Plan, inline: Inline) -> None:
    """Everything as it was sent if it fits; else the cut that fits with the items that it makes us give again."""
    rows, request = plan.rows, plan.request
    whole = inline.layout_of([level for level, row in rows.known() if row.left_out is None])

    def fit_with(prefaces: Mapping[int, Preface], costs: Mapping[int, int] | None = None) -> None:
        fit_path(plan, _priced(rows, prefaces, request, costs))

    fit_with(whole)
    if plan.whole:
        plan.prefaces = inline.compacted(whole, ())
        return
    bearing = whole | inline.unsure()
    tries: list[Callable[[], None]] = [
        lambda: fit_with(bearing, inline.charged_last(plan.cut.head)),
        # The head may have grown or shrunk with other prices.
        lambda: fit_with(bearing, inline.charged_last(plan.cut.head)),
        lambda: fit_with(inline.layout_of(plan.sent)),
        lambda: fit_with(bearing, inline.charged_everywhere()),
    ]
    prefaces = whole
    for again in tries:
        again()
        prefaces = inline.layout_of(plan.sent)
        if _holds(plan, prefaces):
            break
    plan.prefaces = inline.compacted(prefaces, set(plan.cut.shortened))


def _holds(plan: Plan, prefaces: Mapping[int, Preface]) -> bool:
    """Whether what will be said is no more than what was counted on."""
    estimator = plan.request.estimator
    over = 0
    for level in plan.sent:
        preface, row = prefaces.get(level), plan.rows.at(level)
        if preface is None:
            continue
        cost = preface.costs(estimator, asked=row.tokens > 0).total
        if level not in plan.cut.shortened:
            over += cost - row.before
        else:
            _, room = plan.allowed(level)
            least = preface.floor(estimator, asked=row.tokens > 0) + min(row.tokens, least_tokens(estimator))
            over += min(row.tokens + cost, max(room, least)) - room
    return over <= 0


def _priced(
    outline: PathOutline,
    prefaces: Mapping[int, Preface],
    request: ContextRequest,
    costs: Mapping[int, int] | None,
) -> PathOutline:
    """The rows with what is before their words, at its own price or at a given one."""
    if not prefaces:
        return outline
    estimator = request.estimator
    last = outline.first + len(outline.tail) - 1
    recent = last - max(_RECENT, 2 * request.preferences.minimum_recent_nodes)

    def row_of(level: int, row: Candidate) -> Candidate:
        preface = prefaces.get(level)
        if preface is None or row.left_out is not None:
            return row
        asked = row.tokens > 0
        cost = preface.costs(estimator, asked=asked).total if costs is None else costs.get(level, 0)
        # Only recent levels are ever shortened, and finding out how far takes time.
        floor = cost if level < recent else min(cost, preface.floor(estimator, asked=asked))
        return row._replace(before=cost, before_least=floor)

    return outline.changed(row_of)
