"""The account of an assembly in layers: the engine's, with items told apart from the words they stand before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from weft.context.layers.blocks import ItemForm, render_item
from weft.context.layers.envelope import Layer
from weft.context.layers.items import ContextItem, LayerId
from weft.context.layers.library import Held
from weft.context.layers.path import Placed
from weft.context.layers.plan import LayerPlan
from weft.context.layers.turn_items import Given, Preface
from weft.context.manifest import EntryKind, Gap, Outcome, Piece, Run
from weft.context.settings import Placement

_OUTLINED = "over the library's share: {}, an intended change of the prefix"
_REFRESHED = "its current content at its old place; where it changed, the cache is lost from here on"


def account_for(
    plan: LayerPlan,
    pieces: Sequence[Piece],
    layers: Sequence[Layer],
    prefaces: Mapping[int, Preface],
    words: Mapping[int, tuple[int, bool]],
) -> list[Piece]:
    """What became of every candidate. A layer's own tokens are those that none of its members has."""
    account = _Account(plan, prefaces, words)
    return [
        *account.layers(layers),
        *plan.system.standing.pieces,
        *account.library(),
        *account.system_extras(),
        *account.path(pieces),
        *account.turns(),
        *account.left_out(),
    ]


class _Account:
    def __init__(
        self, plan: LayerPlan, prefaces: Mapping[int, Preface], words: Mapping[int, tuple[int, bool]]
    ) -> None:
        self.plan = plan
        self.prefaces = prefaces
        self.words = words
        self.estimator = plan.request.context.estimator
        self.own = {level: row.tokens for level, row in plan.path.rows.items()}
        self.costs = {
            level: preface.costs(self.estimator, asked=self.own[level] > 0)
            for level, preface in prefaces.items()
        }

    def layers(self, layers: Sequence[Layer]) -> Iterator[Piece]:
        frames = sum(costs.frame for level, costs in self.costs.items() if level >= self.plan.path.turn)
        history = sum(costs.frame for level, costs in self.costs.items() if level < self.plan.path.turn)
        own = {LayerId.LIBRARY: self.plan.system.heading, LayerId.TURN: frames, LayerId.HISTORY: history}
        for layer in layers:
            tokens = own.get(layer.id, 0)
            yield Run(
                kind=EntryKind.LAYER,
                outcome=Outcome.KEPT,
                reason=f"{layer.label}: {'stable' if layer.stable else 'changes with every turn'}",
                ids=(layer.id.value,),
                sizes=(max(tokens, layer.tokens),),
                tokens=(tokens,),
            )

    def library(self) -> Iterator[Piece]:
        for held, size in zip(self.plan.system.held, self.plan.system.sizes, strict=True):
            yield self._held(held, size)

    def _held(self, held: Held, size: int) -> Run:
        if held.form is not ItemForm.FULL:
            full = replace(held, form=ItemForm.FULL)
            return _item(
                held.id, Outcome.SHORTENED, _OUTLINED.format(held.form.value), size, self._size(full.render())
            )
        reason = "in the library"
        if held.changed:
            reason = _REFRESHED
        elif held.revision > 1:
            reason = f"in the library, revision {held.revision}"
        elif held.pinned:
            reason = "in the library, pinned"
        return _item(held.id, Outcome.KEPT, reason, size, size)

    def _size(self, text: str) -> int:
        return self.estimator.of_text(text) + self.plan.plan.prices.joint

    def system_extras(self) -> Iterator[Piece]:
        system = self.plan.system
        if system.descriptions:
            yield _system("tool descriptions", self._size(system.descriptions), "fixed for the agent's life")
        if system.memory:
            yield _system("memory block", self._size(system.memory), "after the library, not cached")
        if system.summary:
            yield Run(
                kind=EntryKind.MESSAGE,
                outcome=Outcome.ADDED,
                reason="stands for the turns before the strip",
                ids=("summary",),
                sizes=(self._size(system.summary),),
            )

    def path(self, pieces: Sequence[Piece]) -> Iterator[Piece]:
        """The engine's pieces, on the path's own numbers, each level without what stands before it."""
        path = self.plan.path
        if path.stripped:
            yield Gap(
                kind=EntryKind.NODE,
                outcome=Outcome.COLLAPSED,
                reason="told by the summary",
                position=0,
                count=path.offset,
                first=path.stripped[0].local_id,
                last=path.stripped[-1].local_id,
                measure=path.stripped[-1].ruler,
            )
        for piece in pieces:
            if piece.position is None:
                yield piece
            elif isinstance(piece, Gap):
                yield replace(piece, position=piece.position + path.offset)
            else:
                yield from self._levels(replace(piece, position=piece.position + path.offset))

    def _levels(self, run: Run) -> Iterator[Run]:
        first = run.position or 0
        rows = self.plan.path.rows
        special = [
            index
            for index in range(run.count)
            if first + index in self.prefaces or rows[first + index].id == self.plan.path.input_id
        ]
        start = 0
        for index in [*special, run.count]:
            if start < index:
                yield _part(run, start, index)
            if index < run.count:
                yield self._level(_part(run, index, index + 1), first + index)
            start = index + 1

    def _level(self, run: Run, level: int) -> Run:
        """One level's own words."""
        if run.outcome is Outcome.COLLAPSED:
            # Its words are not there, and what stands before them is told with the placeholder.
            return run
        costs = self.costs.get(level)
        preface = 0 if costs is None else costs.total
        tokens = [] if run.tokens is None else [max(0, each - preface) for each in run.tokens]
        own, cut = self.words.get(level, (0, False))
        size = max(0, run.sizes[0] - preface) + (max(0, self.own[level] - own) if cut else 0)
        outcome, reason = run.outcome, run.reason
        if cut:
            outcome, reason = Outcome.SHORTENED, "recent, and too large for the room"
        pending = self.plan.path.rows[level].id == self.plan.path.input_id
        return Run(
            kind=EntryKind.BUFFER if pending else run.kind,
            outcome=outcome,
            reason=reason,
            ids=run.ids,
            sizes=(size,),
            tokens=tokens or None,
            position=None if pending else run.position,
        )

    def turns(self) -> Iterator[Piece]:
        for level, preface in self.prefaces.items():
            yield from self._preface(level, preface)

    def _preface(self, level: int, preface: Preface) -> Iterator[Piece]:
        costs = self.costs[level]
        if preface.tools:
            names = ", ".join(each.name for each in self.plan.request.tool_outputs)
            yield _item(names, Outcome.KEPT, "tool outputs, in this turn only", costs.tools, costs.tools)
        if preface.loom:
            yield _system("loom context", costs.loom, "before the turn's items")
        where = "given above" if preface.inline else "in the library"
        for each, tokens in zip(preface.references, costs.references, strict=True):
            full = max(tokens, self._size(render_item(each.item, revision=each.revision)))
            yield _item(each.item.id, Outcome.REFERENCED, where, tokens, full)
        for each, tokens in zip(preface.given, costs.given, strict=True):
            yield self._given(level, each, tokens)
        if preface.images:
            yield _item(
                "images", Outcome.KEPT, "of the active note, in this turn only", costs.images, costs.images
            )

    def _given(self, level: int, given: Given, tokens: int) -> Run:
        full = self._size(replace(given, form=ItemForm.FULL, most=None).render())
        if given.most is not None:
            return _item(given.item.id, Outcome.SHORTENED, "too large for the room", tokens, full)
        if given.form is not ItemForm.FULL:
            return _item(given.item.id, Outcome.SHORTENED, _OUTLINED.format(given.form.value), tokens, full)
        reason = given.again
        if not reason and given.revision > 1:
            reason = f"its content changed: revision {given.revision}, in full"
        if not reason:
            new = level >= self.plan.path.turn
            reason = "new on this path" if new else "in the message that introduced it"
        return _item(given.item.id, Outcome.KEPT, reason, tokens, full)

    def left_out(self) -> Iterator[Piece]:
        """Items that are nowhere in the request."""
        there = {each.id for each in self.plan.system.held}
        there |= {each.item.id for preface in self.prefaces.values() for each in preface.given}
        gone: dict[str, Placed] = {}
        for each in self.plan.placed:
            if each.item.id not in there:
                gone[each.item.id] = each
        for each in gone.values():
            yield _item(each.item.id, Outcome.DROPPED, self._why(each), 0, self._full(each.item))

    def _why(self, each: Placed) -> str:
        if each.left_out:
            return f"its turn is left out: {each.left_out}"
        if each.item.images:
            return "bears images, and is never promoted"
        inline = self.plan.request.settings.library is Placement.INLINE
        return "its message was cut" if inline else "its turn is left out"

    def _full(self, item: ContextItem) -> int:
        return self._size(render_item(item))


def _item(name: str, outcome: Outcome, reason: str, tokens: int, size: int) -> Run:
    return Run(
        kind=EntryKind.ITEM, outcome=outcome, reason=reason, ids=(name,), sizes=(size,), tokens=(tokens,)
    )


def _system(name: str, tokens: int, reason: str) -> Run:
    return Run(kind=EntryKind.SYSTEM, outcome=Outcome.KEPT, reason=reason, ids=(name,), sizes=(tokens,))


def _part(run: Run, start: int, stop: int) -> Run:
    return replace(
        run,
        ids=list(run.ids[start:stop]),
        sizes=list(run.sizes[start:stop]),
        tokens=None if run.tokens is None else list(run.tokens[start:stop]),
        position=None if run.position is None else run.position + start,
    )
