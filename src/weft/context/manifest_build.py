"""The manifest of an assembly: a walk over the parts of every level, the sources, the items and the additions."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import pairwise

from weft.context.dialogue import CLOSING, OPENING, Joined, frame_tokens
from weft.context.envelope import Layer
from weft.context.items.blocks import ItemForm, render_item
from weft.context.items.item_types import LayerId
from weft.context.items.library import Costs, Given, Held, Preface
from weft.context.kept_levels import KeptLevel, KeptSource
from weft.context.manifest import Facts, Manifest
from weft.context.manifest_entries import (
    ABSENT,
    EntryKind,
    Gap,
    Outcome,
    Piece,
    Run,
    addition,
    in_order,
    removed_range,
)
from weft.context.message_index import Ledger, Numbers
from weft.context.messages import FittedList
from weft.context.plan import Plan
from weft.context.request import INPUT, Layout, Placed
from weft.context.rows import ExtraSource, Reason
from weft.context.settings import Placement
from weft.context.tool_text import tag_tokens
from weft.tree.json import JsonValue, camel
from weft.tree.json_names import to_wire

COLLAPSED = "collapsed"
"""The id of a row that replaces the oldest levels by their summaries."""
_TEXT_ALONE = "a completion endpoint takes the text alone"
_WITHOUT_HALVES = "without a tool's call or result that has no other half"
_OVER = "its message is over the budget"
_MARKED = "stands for what was left out"
_OPENED = "a request starts with a user message"
_NEVER_CUT = "system context is never cut"
_TOO_LARGE = "recent, and too large for the room"
_OUTLINED = "over the library's share: {}, an intended change of the prefix"
_REFRESHED = "its current content at its old place; where it changed, the cache is lost from here on"


def account_for(plan: Plan, layers: Sequence[Layer] = ()) -> list[Piece]:
    """What became of every candidate."""
    return _Account(plan).pieces(layers)


def list_manifest(listed: FittedList) -> Manifest:
    """What became of every message of a list: runs of its places, measured when they are read."""
    settings, rules, measurer = listed.settings, listed.settings.rules, listed.settings.measurer
    values: dict[str, JsonValue] = {
        "strategy": rules.strategy.value,
        "step": rules.step,
        "window": settings.window,
        "minimumRecentNodes": rules.minimum_recent,
        "marker": rules.marker.template,
        "estimator": measurer.estimator.name,
        "mediaTokens": measurer.media_tokens,
    }
    if settings.masks is not None:
        values |= {"maskToolResults": settings.masks.newest, "maskAbove": settings.masks.above}
    return Manifest(Facts(budget=settings.limit, settings=values), lambda: _list_pieces(listed))


def _list_pieces(listed: FittedList) -> list[Piece]:
    cut, ledger, settings = listed.cut, listed.ledger, listed.settings
    fields = (("system", settings.system_tokens), ("tools", settings.tool_tokens))
    system = [_system(name, tokens, _NEVER_CUT) for name, tokens in fields if tokens]
    spans = [(0, listed.levels)]
    if cut.truncated:
        recent = max(cut.tail, cut.recent)
        inside = [level for level in ledger.systems if cut.head <= level < cut.tail]
        inside += [] if cut.anchor is None else [cut.anchor]
        spans = [(0, cut.head), (cut.tail, recent), (recent, listed.levels)]
        spans += [(level, level + 1) for level in inside]
    pieces = [piece for start, stop in spans for piece in _list_runs(listed, start, stop)]
    for start, stop in listed.removed():
        ids, measure = (str(start), str(stop - 1)), partial(_size_of, ledger, start, stop)
        pieces.append((start, removed_range(EntryKind.MESSAGE, ids, start, stop, measure)))
    added = [addition("marker", cut.marker_tokens, _MARKED)] if cut.marker else []
    added += [addition("opening", listed.opening, _OPENED)] if listed.opening else []
    return [*system, *in_order(pieces), *added]


def _size_of(ledger: Ledger, start: int, stop: int) -> int:
    return sum(ledger.sizes(start, stop))


def _list_runs(listed: FittedList, start: int, stop: int) -> Iterator[tuple[int, Piece]]:
    """Runs of kept messages, broken where a system message, a shortened or a masked one is."""
    ledger, hidden, message = listed.ledger, listed.ledger.hidden(listed.hidden), EntryKind.MESSAGE
    special = sorted(level for level in {*ledger.systems, *listed.replaced, *hidden} if start <= level < stop)
    for before, level in pairwise([start - 1, *special, stop]):
        first, name = before + 1, str(level)
        if first < level:
            ids, sizes = Numbers(first, level), ledger.sizes(first, level)
            why = listed.cut.why(first)
            yield (
                first,
                Run(kind=message, outcome=Outcome.KEPT, reason=why, ids=ids, sizes=sizes, position=first),
            )
        if level == stop:
            return
        size = ledger.tokens(level)
        if level in listed.replaced:
            outcome, reason, tokens = Outcome.SHORTENED, _TOO_LARGE, listed.replaced[level].tokens
        elif level in hidden and ledger.results is not None:
            outcome, reason, tokens = Outcome.MASKED, ledger.results.rule.reason, size - hidden[level]
        else:
            outcome, reason, tokens = Outcome.KEPT, _NEVER_CUT, None
            ((_, size),) = ledger.system_tokens((level,))
        yield level, Run.one(message, name, outcome, reason, size=size, tokens=tokens, position=level)


def settings_of(plan: Plan) -> dict[str, JsonValue]:
    """All that a context was made with, so that it can be made again."""
    request = plan.request
    stored = {
        camel(each.name): to_wire(getattr(request.preferences, each.name))
        for each in fields(request.preferences)
    }
    stored |= {"window": request.window, "mode": request.mode.value, "estimator": request.estimator.name}
    stored["truncationStep"] = request.rules.step
    if request.masks is None:
        del stored["maskToolResults"], stored["maskAbove"]
    stored["prefill"] = request.profile.prefill
    if plan.layout is not None:
        settings = request.settings
        stored |= {
            "library": settings.library.value,
            "changed": settings.changed.value,
            "libraryShare": settings.library_share,
        }
    return stored


class _Account:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.request = plan.request
        self.written = plan.written
        self.levels = plan.written.levels
        self.composed = plan.written.composed
        self.estimator = plan.request.estimator
        joined = () if self.composed is None else self.composed.joined
        self.by_level = {each.part.level: each for each in joined if each.part.level is not None}
        self.by_part = {id(each.part): each for each in joined}
        self.costs = {
            level.number: level.preface.costs(self.estimator, asked=level.row.tokens > 0)
            for level in self.levels
            if level.preface is not None
        }

    def pieces(self, layers: Sequence[Layer]) -> list[Piece]:
        """In the order of the request: the system, the path, its sources and additions, the turn's items."""
        layout = self.plan.layout
        path = self._path()
        pruned = list(self.plan.pruned)
        pieces: list[Piece] = [*self.plan.system.pieces]
        if layout is not None:
            pieces += [*self._layers(layers, layout), *layout.system.standing.pieces, *self._library(layout)]
            pieces += [*self._system_extras(layout), *_stripped(layout)]
        pieces += [*pruned, *path] if self.request.folded else path
        if layout is not None:
            pieces += [*self._items(layout), *self._left_out_items(layout)]
        pieces += [] if self.request.folded else pruned
        return [*pieces, *self._after_document()]

    def _path(self) -> list[Piece]:
        runs, pieces = _Runs(self.plan.offset), self._gaps()
        sources: list[Piece] = []
        added: list[Piece] = []
        for level in self.levels:
            entry = self._entry(level)
            sources += [self._reference(each) for each in level.sources]
            if level.row.id == COLLAPSED:
                reason = "stands for what was pruned"
                row = addition(level.row.local_id, entry[3], reason, tokens=entry[2])
                pieces.append((level.number, row))
                continue
            if level.row.instead is not None and entry[0] not in ABSENT:
                added.append(self._stand_in(level, entry))
                entry = Outcome.COLLAPSED, Reason.COLLAPSED.value, 0, level.row.instead.tokens
            runs.add(level, *entry)
        runs.close()
        sources += self._sources_left_out({level.number for level in self.levels})
        return [*in_order([*runs.pieces, *pieces]), *sources, *added, *self._additions()]

    def _stand_in(self, level: KeptLevel, entry: tuple[Outcome, str, int, int]) -> Run:
        """The placeholder of a folded range: an addition, and the node in whose place it is counts as folded."""
        name = "" if level.row.instead is None else level.row.instead.group
        _, _, tokens, size = entry
        reason, position = f"stands for the folded range {name}", level.number + self.plan.offset
        return addition(name, size, reason, tokens=tokens, position=position)

    def _sources_left_out(self, kept: set[int]) -> Iterator[Piece]:
        """Sources that were known and are not there, each with its reason."""
        for number, beside in self.plan.beside.items():
            for each in beside:
                if each.left_out is not None or not each.tokens:
                    yield _source(each, (each.left_out or Reason.EMPTY).value)
                elif not self.request.refers:
                    yield _source(each, _TEXT_ALONE)
                elif number not in kept:
                    yield _source(each, _OVER, Outcome.CUT)

    def _entry(self, level: KeptLevel) -> tuple[Outcome, str, int, int]:
        """Outcome, reason, tokens in the request, tokens in full."""
        reason = self.plan.reasons.get(level.number)
        if reason is Reason.IN_SYSTEM:
            return Outcome.MERGED, reason.value, 0, 0
        if reason is not None:
            gone = Outcome.COLLAPSED if reason is Reason.COLLAPSED else Outcome.EXCLUDED
            return gone, reason.value, 0, level.row.tokens
        joined = self.by_level.get(level.number)
        if self.composed is not None and joined is None:
            return Outcome.EXCLUDED, Reason.UNPAIRED.value, 0, level.row.tokens
        added = level.heading + (self._joint(joined) if self.composed is not None else self._boundary(level))
        if not self.request.profile.tools:
            added += tag_tokens(level.row)
        tokens = level.tokens + added
        size = level.row.tokens + level.row.unpaired + level.row.hidden + added
        if level.shortened:
            return Outcome.SHORTENED, _TOO_LARGE, tokens, size
        if level.row.hidden and self.request.masks is not None:
            return Outcome.MASKED, self.request.masks.reason, tokens, size
        why = self.plan.cut.why(level.number)
        if level.row.unpaired:
            why = f"{why}, {_WITHOUT_HALVES}"
        if joined is not None and joined.merged:
            return Outcome.MERGED, f"{why}, in one message with its neighbour", tokens, size
        return Outcome.KEPT, why, tokens, size

    def _boundary(self, level: KeptLevel) -> int:
        said = self.request.headings.get(level.row.id, "")
        seam = self.estimator.seam
        return self.plan.prices.seam + (self.estimator.of_text(said) + seam if said else 0)

    def _joint(self, joined: Joined | None) -> int:
        """What a blank line and a heading add to a part."""
        if joined is None:
            return 0
        heading = self.estimator.of_text(joined.heading) + self.estimator.seam if joined.heading else 0
        return heading + (self.plan.prices.joint if joined.joint else 0)

    def _reference(self, each: KeptSource) -> Run:
        added = self._joint(self.by_part.get(id(each.part)))
        if self.composed is None:
            added = self.estimator.joint
        frame = frame_tokens(each.extra, self.estimator)
        place = "its message" if self.request.dialogue else "the text"
        reason = f"{'attached' if each.extra.item else f'{each.extra.role.value} source'}, before {place}"
        if each.shortened and self.plan.prices.capped(each.extra) < each.extra.tokens:
            reason = "over its share of the budget"
        elif each.shortened:
            reason = "beside a recent node, and too large for the room"
        return Run.one(
            _kind_of(each.extra),
            each.extra.local_id,
            Outcome.SHORTENED if each.shortened else Outcome.KEPT,
            reason,
            size=max(each.tokens, each.extra.tokens + frame) + added,
            tokens=each.tokens + added,
        )

    def _additions(self) -> Iterator[Piece]:
        of_text, cut, marker = self.estimator.of_text, self.plan.cut, self.written.marker
        if marker is not None:
            tokens = cut.marker_tokens
            if self.request.dialogue:
                tokens = of_text(cut.marker) + self._joint(self.by_part.get(id(marker)))
            yield addition("marker", tokens, _MARKED)
        if self.written.preface is not None:
            tokens = of_text(self.request.preface) + self._joint(self.by_part.get(id(self.written.preface)))
            yield addition("loom context", tokens, "before the current turn")
        if self.composed is not None and self.composed.opened:
            yield addition("opening", of_text(OPENING), _OPENED)
        if self.composed is not None and self.composed.closed:
            yield addition("closing", of_text(CLOSING), "a request ends with a user message")

    def _after_document(self) -> Iterator[Piece]:
        """What a loom-aware agent is told after a document."""
        of_text, request = self.estimator.of_text, self.request
        if not request.dialogue and request.preface:
            yield addition("loom context", of_text(f"\n\n{request.preface}"), "after the document")
            if request.after:
                tokens = sum(of_text(each.text) for each in request.after)
                yield addition("run", tokens, "what was said and answered in this run")

    def _gaps(self) -> list[tuple[int, Piece]]:
        """The removed ranges and what is left out among them, each with the level before which it is."""
        plan, sketch, offset = self.plan, self.plan.sketch, self.plan.offset
        pieces: list[tuple[int, Piece]] = []
        for start, stop in plan.removed:
            ids = sketch.id_at(start), sketch.id_at(stop - 1)
            measure = sketch.ruler_at(stop) - sketch.ruler_at(start)
            gap = removed_range(EntryKind.NODE, ids, start + offset, stop + offset, measure)
            pieces.append((start, gap))
        for level in plan.reasons:
            if plan.cut.head <= level < plan.cut.tail and level != plan.cut.anchor:
                row = plan.rows.at(level)
                outcome, reason, _, size = self._entry(KeptLevel(level, row))
                pieces.append((level, _left_out(row.local_id, outcome, reason, size, level + offset)))
        for each in sketch.between.left_out if sketch.between is not None else ():
            system = each.reason == Reason.IN_SYSTEM
            outcome, size = (Outcome.MERGED, 0) if system else (Outcome.EXCLUDED, each.end - each.start)
            run = _left_out(each.id, outcome, str(each.reason), size, each.level + offset)
            pieces.append((each.level, run))
        return pieces

    def _layers(self, layers: Sequence[Layer], layout: Layout) -> Iterator[Piece]:
        """A layer's own tokens are those that none of its members has."""
        frames = {LayerId.LIBRARY: layout.system.heading}
        for number, costs in self.costs.items():
            layer = LayerId.TURN if number >= layout.turn else LayerId.HISTORY
            frames[layer] = frames.get(layer, 0) + costs.frame
        for layer in layers:
            tokens = frames.get(layer.id, 0)
            reason = f"{layer.label}: {'stable' if layer.stable else 'changes with every turn'}"
            size = max(tokens, layer.tokens)
            yield Run.one(EntryKind.LAYER, layer.id.value, Outcome.KEPT, reason, size=size, tokens=tokens)

    def _library(self, layout: Layout) -> Iterator[Piece]:
        for held, size in zip(layout.system.held, layout.system.sizes, strict=True):
            full = size
            if held.form is not ItemForm.FULL:
                full = self._size(replace(held, form=ItemForm.FULL).render())
            outcome, reason = _library_reason(held)
            yield _item(held.id, outcome, reason, size, full)

    def _size(self, text: str) -> int:
        return self.estimator.of_text(text) + self.plan.prices.joint

    def _system_extras(self, layout: Layout) -> Iterator[Piece]:
        system = layout.system
        if system.tools:
            yield _system("tools", system.tools, "before the system message, fixed for the agent's life")
        if system.descriptions:
            yield _system("tool descriptions", self._size(system.descriptions), "fixed for the agent's life")
        if system.memory:
            yield _system("memory block", self._size(system.memory), "after the library, not cached")
        if system.summary:
            yield addition("summary", self._size(system.summary), "stands for the turns before the strip")

    def _items(self, layout: Layout) -> Iterator[Piece]:
        for level in self.levels:
            if level.preface is not None:
                yield from self._preface(level.number, level.preface, self.costs[level.number], layout)

    def _preface(self, number: int, preface: Preface, costs: Costs, layout: Layout) -> Iterator[Piece]:
        if preface.tools:
            names = ", ".join(each.name for each in self.request.tool_outputs)
            yield _item(names, Outcome.KEPT, "tool outputs, in this turn only", costs.tools, costs.tools)
        if preface.loom:
            yield _system("loom context", costs.loom, "before the turn's items")
        where = "given above" if preface.inline else "in the library"
        for each, tokens in zip(preface.references, costs.references, strict=True):
            full = max(tokens, self._size(render_item(each.item, revision=each.revision)))
            yield _item(each.item.id, Outcome.REFERENCED, where, tokens, full)
        for each, tokens in zip(preface.given, costs.given, strict=True):
            full = self._size(replace(each, form=ItemForm.FULL, shown=None).render())
            outcome, reason = _given_reason(each, new=number >= layout.turn)
            yield _item(each.item.id, outcome, reason, tokens, full)
        if preface.images:
            reason = "of the active note, in this turn only"
            yield _item("images", Outcome.KEPT, reason, costs.images, costs.images)

    def _left_out_items(self, layout: Layout) -> Iterator[Piece]:
        """Items that are nowhere in the request."""
        there = {each.id for each in layout.system.held}
        there |= {each.item.id for level in self.levels if level.preface for each in level.preface.given}
        gone = {each.item.id: each for each in layout.placed if each.item.id not in there}
        for each in gone.values():
            yield _item(each.item.id, *self._why_gone(each), 0, self._size(render_item(each.item)))

    def _why_gone(self, each: Placed) -> tuple[Outcome, str]:
        if each.left_out:
            own = each.left_out in {Reason.DELETED, Reason.UNREAD}
            return Outcome.EXCLUDED, each.left_out if own else f"its turn is left out: {each.left_out}"
        if each.item.images:
            return Outcome.EXCLUDED, "bears images, and is never promoted"
        inline = self.request.settings.library is Placement.INLINE
        return Outcome.CUT, "its message was cut" if inline else "its turn is left out"


def _left_out(name: str, outcome: Outcome, reason: str, size: int, position: int) -> Run:
    return Run.one(EntryKind.NODE, name, outcome, reason, size=size, tokens=0, position=position)


class _Runs:
    """Entries gathered into runs of one outcome and one reason."""

    def __init__(self, offset: int) -> None:
        self.pieces: list[tuple[int, Piece]] = []
        self._offset = offset
        self._open: list[tuple[KeptLevel, int, int]] = []
        self._key: tuple[Outcome, str] | None = None

    def add(self, level: KeptLevel, outcome: Outcome, reason: str, tokens: int, size: int) -> None:
        last = self._open[-1][0].number if self._open else -1
        alone = level.row.id == INPUT or level.preface is not None
        if (outcome, reason) != self._key or level.number != last + 1 or alone:
            self.close()
        self._key = (outcome, reason)
        self._open.append((level, tokens, size))
        if alone:
            self.close()

    def close(self) -> None:
        """End the run that is open."""
        if self._open and self._key is not None:
            first = self._open[0][0]
            pending = first.row.id == INPUT
            run = Run(
                kind=EntryKind.BUFFER if pending else EntryKind.NODE,
                outcome=self._key[0],
                reason=self._key[1],
                ids=[level.row.local_id for level, _, _ in self._open],
                sizes=[size for _, _, size in self._open],
                tokens=[tokens for _, tokens, _ in self._open],
                position=None if pending else first.number + self._offset,
            )
            self.pieces.append((first.number, run))
        self._open, self._key = [], None


def _stripped(layout: Layout) -> Iterator[Piece]:
    rows = layout.stripped
    if rows:
        yield Gap(
            kind=EntryKind.NODE,
            outcome=Outcome.COLLAPSED,
            reason="told by the summary",
            position=0,
            count=layout.offset,
            first=rows[0].local_id,
            last=rows[-1].local_id,
            measure=rows[-1].ruler,
        )


def _library_reason(held: Held) -> tuple[Outcome, str]:
    if held.form is not ItemForm.FULL:
        return Outcome.SHORTENED, _OUTLINED.format(held.form.value)
    if held.changed:
        return Outcome.KEPT, _REFRESHED
    if held.revision > 1:
        return Outcome.KEPT, f"in the library, revision {held.revision}"
    return Outcome.KEPT, "in the library, pinned" if held.pinned else "in the library"


def _given_reason(given: Given, *, new: bool) -> tuple[Outcome, str]:
    if given.shown is not None:
        return Outcome.SHORTENED, "too large for the room"
    if given.form is not ItemForm.FULL:
        return Outcome.SHORTENED, _OUTLINED.format(given.form.value)
    if given.again:
        return Outcome.KEPT, given.again
    if given.revision > 1:
        return Outcome.KEPT, f"its content changed: revision {given.revision}, in full"
    return Outcome.KEPT, "new on this path" if new else "in the message that introduced it"


def _item(name: str, outcome: Outcome, reason: str, tokens: int, size: int) -> Run:
    return Run.one(EntryKind.ITEM, name, outcome, reason, size=size, tokens=tokens)


def _system(name: str, tokens: int, reason: str) -> Run:
    return Run.one(EntryKind.SYSTEM, name, Outcome.KEPT, reason, size=tokens)


def _source(source: ExtraSource, reason: str, outcome: Outcome = Outcome.EXCLUDED) -> Run:
    return Run.one(_kind_of(source), source.local_id, outcome, reason, size=source.tokens)


def _kind_of(source: ExtraSource) -> EntryKind:
    return EntryKind.ITEM if source.item else EntryKind.SOURCE
