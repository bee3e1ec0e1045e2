"""Decide what stands in which layer, before any text of the path is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from weft.context.assemble import ContextRequest, Pending, Plan, plan_context
from weft.context.checks import system_over
from weft.context.layers.blocks import clean, has_nul, render_tools
from weft.context.layers.inline import Inline
from weft.context.layers.items import LIBRARY_HEADING, SUMMARY_HEADING, LayerId
from weft.context.layers.library import Held, compact, current_items, promote
from weft.context.layers.path import LayeredPath, Placed, read_path
from weft.context.layers.request import LayeredRequest
from weft.context.layers.system_blocks import StandingLayer, standing_layer
from weft.context.layers.turn_items import Given, ItemReference, Preface
from weft.context.rows import Candidate, PathOutline, least_of
from weft.context.settings import Changed, Placement
from weft.context.shorten import least_tokens
from weft.context.system import SystemContext
from weft.context.tokens import JOINT
from weft.errors import InvalidInputError
from weft.tree.tree import Mode

_GRID = 16
_FEW, _BITS = 4, 6
_RECENT = 64
"""Levels from the end among which those lie that may have to be shortened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared(ContextRequest):
    """A request whose system context is made already."""

    prepared: SystemContext

    def system_context(self) -> SystemContext:
        return self.prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemLayers:
    """The system message in its parts."""

    standing: StandingLayer
    held: tuple[Held, ...]
    texts: tuple[str, ...]
    """Of the held items."""
    sizes: tuple[int, ...]
    """Their tokens."""
    heading: int
    """Tokens of the library's heading."""
    descriptions: str
    memory: str
    summary: str

    @property
    def library(self) -> str:
        return JOINT.join([LIBRARY_HEADING, *self.texts]) if self.held else ""

    @property
    def text(self) -> str:
        """L1 and L2; descriptions of tools follow where an agent needs them."""
        return JOINT.join(filter(None, [self.standing.text, self.library, self.descriptions]))


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPlan:
    """What will be kept, and what stands before which words."""

    request: LayeredRequest
    path: LayeredPath
    system: SystemLayers
    placed: tuple[Placed, ...]
    plan: Plan
    """The engine's, in which levels are counted without what the strip stands for."""
    prefaces: Mapping[int, Preface]
    """By level of the path; of kept levels only."""
    shortened: Mapping[int, int]
    """Level → the most tokens that it may have, its preface included."""
    warnings: tuple[str, ...]

    @property
    def wanted(self) -> list[str]:
        """Ids of the nodes whose contents rendering needs."""
        return [each for each in self.plan.wanted if each != self.path.input_id]

    @property
    def turn(self) -> list[str]:
        """Ids of the nodes whose words are the input, sent or not."""
        path = self.path
        return [
            row.id
            for level, row in path.rows.items()
            if level >= path.spoken and row.left_out is None and row.id != path.input_id
        ]


def plan_layers(request: LayeredRequest) -> LayerPlan:
    """Build the layers of a turn. Reads the items' texts, and none of the path's."""
    if request.context.mode is not Mode.DIALOGUE:
        raise InvalidInputError("layers are made of dialogues", hint="a text in buffer mode has no turns")
    plan = _planned(request)
    if request.run and plan.path.first_live not in _kept(plan.path, plan.plan):
        # The turn is cut, and a run goes on from it: what it brought along is an earlier turn's now.
        return _planned(replace(request, run=0))
    return plan


def _planned(request: LayeredRequest) -> LayerPlan:
    path = read_path(request)
    placed = path.placed(request.settings.changed, request.fresh)
    inline = request.settings.library is Placement.INLINE
    system = _system(request, path)
    prepared = _prepared(request, path, system)
    if inline:
        plan, prefaces = _plan_inline(request, path, placed, prepared)
    else:
        plan, prefaces = _plan_system(request, path, system, prepared)
    if path.first_live is not None and path.first_live in prefaces:
        plan = replace(plan, request=replace(plan.request, turn_at=path.first_live - path.offset))
    shortened = {
        path.offset + level: most
        for level, most in plan.fit.shortened.items()
        if path.offset + level in prefaces
    }
    return LayerPlan(
        request=request,
        path=path,
        system=system,
        placed=tuple(placed),
        plan=plan,
        prefaces=prefaces,
        shortened=shortened,
        warnings=tuple(_warnings(request, path)),
    )


def _system(request: LayeredRequest, path: LayeredPath) -> SystemLayers:
    context, estimator = request.context, request.context.estimator
    parts = replace(context.system, instructions=context.system.instructions + context.pending.instructions)
    standing = standing_layer(
        parts, request.standing, context.preferences.instructions, estimator, budget=context.budget
    )
    held: tuple[Held, ...] = ()
    if request.settings.library is Placement.SYSTEM:
        held = promote(path.attached, turn=path.turn, changed=request.settings.changed, fresh=request.fresh)
        held = compact(held, _share(request), estimator)
    joint = estimator.joint
    texts = tuple(each.render() for each in held)
    summary = clean(request.strip.summary).strip() if request.strip is not None and path.stripped else ""
    return SystemLayers(
        standing=standing,
        held=held,
        texts=texts,
        sizes=tuple(estimator.of_text(text) + joint for text in texts),
        heading=estimator.of_text(LIBRARY_HEADING) + joint if held else 0,
        descriptions=clean(request.tool_descriptions).strip(),
        memory=clean(request.memory_block).strip(),
        summary=f"{SUMMARY_HEADING}\n{summary}" if summary else "",
    )


def _share(request: LayeredRequest) -> int:
    """The library's tokens. On a grid of the window, because a budget changes with what responses need.

    Where there is a limit far below the window, or the share is small, a step of that grid would be most of it.
    """
    context = request.context
    most = int(request.settings.library_share * context.budget)
    unit = max(1, context.window // _GRID) if context.window else 1
    if most < _FEW * unit:
        unit = min(unit, 1 << max(0, most.bit_length() - _BITS))
    return most // unit * unit


def _prepared(request: LayeredRequest, path: LayeredPath, system: SystemLayers) -> _Prepared:
    context, estimator = request.context, request.context.estimator
    joint = estimator.joint
    sizes = list(system.standing.sizes)
    library = system.heading + sum(system.sizes)
    if system.held:
        sizes.append((LayerId.LIBRARY.value, library))
    extra = (
        ("tool descriptions", system.descriptions),
        ("memory block", system.memory),
        ("summary", system.summary),
    )
    sizes += [(name, estimator.of_text(text) + joint) for name, text in extra if text]
    total = sum(size for _, size in sizes)
    if total > context.budget:
        raise system_over(total, context.budget, sizes, library=library)
    given = {each.name: getattr(context, each.name) for each in fields(ContextRequest)}
    given |= {
        "outline": path.outline,
        "pending": Pending(sources=context.pending.sources),
        "prepared": SystemContext(system.text, total, ()),
    }
    return _Prepared(**given)


def _extras(request: LayeredRequest, path: LayeredPath) -> dict[int, Preface]:
    tools = render_tools(request.tool_outputs)
    loom = clean(request.loom_context).strip()
    if path.first_live is None or not (tools or loom):
        return {}
    return {path.first_live: Preface(tools=tools, loom=loom)}


def _plan_system(
    request: LayeredRequest, path: LayeredPath, system: SystemLayers, prepared: _Prepared
) -> tuple[Plan, dict[int, Preface]]:
    """The library is in the system message; only the current turn has something before its words."""
    prefaces = _extras(request, path)
    if path.first_live is not None:
        items = current_items(path.attached, turn=path.turn, fresh=request.fresh)
        latest = {each.id: each for each in system.held}
        appended = request.settings.changed is Changed.APPEND
        references: list[ItemReference] = []
        given: list[Given] = []
        for item in items:
            held = latest.get(item.id)
            if held is not None and (not appended or held.item.sha256 == item.sha256):
                references.append(ItemReference(item, held.revision))
            else:
                given.append(Given(item=item, revision=1 if held is None else held.revision + 1))
        before = prefaces.get(path.first_live, Preface())
        prefaces[path.first_live] = replace(
            before,
            references=tuple(references),
            given=tuple(given),
            images=tuple(image for item in items for image in item.images),
        )
    prefaces = {level: preface for level, preface in prefaces.items() if preface}
    rows = _priced(path, prefaces, prepared, None)
    return plan_context(replace(prepared, outline=rows)), prefaces


def _plan_inline(
    request: LayeredRequest, path: LayeredPath, placed: Sequence[Placed], prepared: _Prepared
) -> tuple[Plan, dict[int, Preface]]:
    """Everything as it was sent if it fits; else the cut that fits with what it makes us give again."""
    inline = Inline(
        path=path,
        placed=placed,
        share=_share(request),
        estimator=request.context.estimator,
        extra=_extras(request, path),
    )
    ruled = replace(path, outline=inline.ruled(path.outline))
    levels = [level for level, row in path.rows.items() if row.left_out is None]
    whole = inline.layout(levels)

    def planned(prefaces: Mapping[int, Preface], costs: Mapping[int, int] | None = None) -> Plan:
        return plan_context(replace(prepared, outline=_priced(ruled, prefaces, prepared, costs)))

    plan = planned(whole)
    if not plan.fit.truncated and not plan.fit.shortened:
        return plan, inline.compacted(whole, ())
    bearing = whole | inline.unsure()
    tries: list[Callable[[], Plan]] = [
        lambda: planned(bearing, inline.charged_last(path.offset + plan.fit.head)),
        # The head may have grown or shrunk with other prices.
        lambda: planned(bearing, inline.charged_last(path.offset + plan.fit.head)),
        lambda: planned(inline.layout(_kept(path, plan))),
        lambda: planned(bearing, inline.charged_everywhere()),
    ]
    found = whole
    for again in tries:
        plan = again()
        found = inline.layout(_kept(path, plan))
        if _holds(path, plan, found, prepared):
            break
    return plan, inline.compacted(found, {path.offset + level for level in plan.fit.shortened})


def _kept(path: LayeredPath, plan: Plan) -> list[int]:
    return [path.offset + level for level in plan.kept if level not in plan.reasons]


def _holds(path: LayeredPath, plan: Plan, prefaces: Mapping[int, Preface], prepared: _Prepared) -> bool:
    """Whether what will be said is no more than what was counted on."""
    estimator = prepared.estimator
    over = 0
    for level in _kept(path, plan):
        preface = prefaces.get(level)
        if preface is None:
            continue
        words = path.rows[level].tokens
        actual = words + preface.costs(estimator, asked=words > 0).total
        most = plan.fit.shortened.get(level - path.offset)
        if most is None:
            over += actual - plan.rows.at(level - path.offset).tokens
        else:
            least = preface.floor(estimator, asked=words > 0) + min(words, least_tokens(estimator))
            room = most - beside_words(plan, level - path.offset)
            over += min(actual, max(room, least)) - room
    return over <= 0


def beside_words(plan: Plan, level: int) -> int:
    """What a level of the engine's costs besides its own content: a blank line, a heading, sources."""
    return plan.sketch.tail.live(level - plan.rows.first) - plan.rows.at(level).tokens


def _priced(
    path: LayeredPath,
    prefaces: Mapping[int, Preface],
    prepared: _Prepared,
    costs: Mapping[int, int] | None,
) -> PathOutline:
    """The rows as they cost with what stands before their words."""
    estimator = prepared.estimator
    recent = max(path.rows, default=0) - max(_RECENT, 2 * prepared.preferences.minimum_recent_nodes)

    def row_of(level: int, row: Candidate) -> Candidate:
        preface = prefaces.get(level)
        if preface is None or row.left_out is not None:
            return row
        asked = row.tokens > 0
        cost = preface.costs(estimator, asked=asked).total if costs is None else costs.get(level, 0)
        # Only what is recent is ever shortened, and finding out how far takes time.
        floor = cost if level < recent else min(cost, preface.floor(estimator, asked=asked))
        return row._replace(tokens=row.tokens + cost, least=least_of(row, estimator) + floor)

    outline, offset = path.outline, path.offset
    return replace(
        outline,
        head=[row_of(offset + index, row) for index, row in enumerate(outline.head)],
        tail=[row_of(offset + outline.first + index, row) for index, row in enumerate(outline.tail)],
    )


def _warnings(request: LayeredRequest, path: LayeredPath) -> list[str]:
    found = [
        f"{each.item.id} contains NUL characters, which are shown as �"
        for each in {each.item.id: each for each in path.attached}.values()
        if has_nul(each.item.content)
    ]
    if has_nul(path.input_text):
        found.append("the input contains NUL characters, which are sent as they are")
    if request.strip is not None and request.strip.summary.strip() and not path.stripped:
        found.append("there is nothing for the summary to stand for, so all turns are sent")
    return found
