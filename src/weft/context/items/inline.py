"""Items in the messages that introduced them: what each kept level gives, refers to, and costs.

What a level costs depends on what is kept before it, and what is kept on what levels cost.
Going backwards from the newest level this has a fixed answer: a tail needs each item that
it mentions once, wherever it begins. So an item is charged to the last level that mentions
it, and given at the first one that is kept.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from weft.context.items.blocks import ItemForm
from weft.context.items.item_types import ContextItem, ItemType
from weft.context.items.library import Given, Held, ItemReference, Preface, attached_twice, compact
from weft.context.request import Layout, Placed
from weft.context.rows import Candidate, PathOutline
from weft.context.tokens import Estimator
from weft.tree.content import Image

_CUT = "given again: the message that introduced it was cut"
_LEFT_OUT = "given again: the message that introduced it is left out"
_IMAGES = "given again: what bears images is never promoted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inline:
    """The attachments of a path that stand in their messages."""

    layout: Layout
    share: int
    """Tokens over which a single item of an earlier turn is shown as an outline."""
    estimator: Estimator
    readers: Collection[str] = ()
    """The tools that the model has."""
    extra: Mapping[int, Preface] = field(default_factory=dict[int, Preface])
    """What else stands before a level's words."""
    _by_level: dict[int, list[Placed]] = field(init=False)
    _earlier: list[Placed] = field(init=False)
    """What messages of the current turn bring along that are not certain to be sent."""
    _origins: dict[tuple[str, int], Placed] = field(init=False)
    _left_out: dict[str, int] = field(init=False)
    _sizes: dict[tuple[str, str, str], int] = field(init=False)

    def __post_init__(self) -> None:
        by_level: dict[int, dict[str, Placed]] = {}
        origins: dict[tuple[str, int], Placed] = {}
        left_out: dict[str, int] = {}
        for each in self.layout.placed:
            if each.left_out:
                left_out.setdefault(each.item.id, each.level)
            else:
                origins.setdefault((each.item.id, each.revision), each)
            if not each.left_out and (each.level >= self.layout.turn or not each.item.images):
                here = by_level.setdefault(each.level, {})
                before = here.get(each.item.id)
                item = each.item if before is None else attached_twice(before.item, each.item)
                here[each.item.id] = replace(each, item=item)
        object.__setattr__(
            self, "_by_level", {level: list(items.values()) for level, items in by_level.items()}
        )
        first = self.layout.first_live
        unsure = range(self.layout.turn, first) if first is not None else range(0)
        object.__setattr__(
            self, "_earlier", [each for level in unsure for each in self._by_level.get(level, ())]
        )
        object.__setattr__(self, "_origins", origins)
        object.__setattr__(self, "_left_out", left_out)
        object.__setattr__(self, "_sizes", {})

    def _items(self, level: int, kept: Collection[int]) -> list[Placed]:
        """What a level brings along; the turn's first one that is always sent also what others of it would."""
        own = self._by_level.get(level, [])
        if level != self.layout.first_live or not self._earlier:
            return own
        known = {each.item.id for each in own}
        lost = {each.item.id: each for each in self._earlier if each.level not in kept}
        return [*own, *(replace(each, first=False) for name, each in lost.items() if name not in known)]

    def layout_of(self, kept: Iterable[int]) -> dict[int, Preface]:
        """What each kept level says before its words."""
        levels = list(kept)
        there = frozenset(levels)
        above: set[tuple[str, int]] = set()
        pictures: set[Image] = set()
        prefaces: dict[int, Preface] = {}
        for level in levels:
            given: list[Given] = []
            references: list[ItemReference] = []
            items = self._items(level, there)
            for each in items:
                key = (each.item.id, each.revision)
                if key in above:
                    references.append(ItemReference(each.item, each.revision))
                else:
                    given.append(self._given(each))
                    above.add(key)
            preface = self._preface(level, items, references, given)
            # A note that stays open through several messages of a turn shows its pictures once.
            preface = replace(preface, images=tuple(each for each in preface.images if each not in pictures))
            pictures.update(preface.images)
            if preface:
                prefaces[level] = preface
        return prefaces

    def unsure(self) -> dict[int, Preface]:
        """What the turn's first level that is always sent says, if none of the turn's others is."""
        first = self.layout.first_live
        return self.layout_of([first]) if first is not None and self._earlier else {}

    def compacted(self, prefaces: Mapping[int, Preface], shortened: Collection[int]) -> dict[int, Preface]:
        """The same with what earlier turns give brought within the library's share.

        The cut was found for full texts, so that this never moves it; while the cut stays,
        a later turn only adds to what is decided here. Levels that are shortened anyway are
        left alone: an outline may be larger than what there is room for.
        """
        places = [
            (level, number)
            for level, preface in prefaces.items()
            if level < self.layout.turn and level not in shortened
            for number in range(len(preface.given))
        ]
        given = [prefaces[level].given[number] for level, number in places]
        pinned = {each.item.id for each in self.layout.placed if each.pinned}
        held = [
            Held(
                item=each.item,
                level=level,
                revision=each.revision,
                form=each.form,
                pinned=each.item.id in pinned,
                readers=self.readers,
            )
            for each, (level, _) in zip(given, places, strict=True)
        ]
        compacted = dict(prefaces)
        for each, (level, number) in zip(compact(held, self.share, self.estimator), places, strict=True):
            before = compacted[level]
            if each.form is not before.given[number].form:
                changed = list(before.given)
                changed[number] = replace(changed[number], form=each.form)
                compacted[level] = replace(before, given=tuple(changed))
        return compacted

    def _given(self, each: Placed) -> Given:
        return Given(
            item=each.item,
            revision=each.revision,
            form=self._form(each),
            again=self._again(each),
            readers=self.readers,
        )

    def _again(self, each: Placed) -> str:
        """Why an item is given that was given before on this path."""
        if self._left_out.get(each.item.id, each.level) < each.level:
            return _LEFT_OUT
        if each.first:
            return ""
        return _IMAGES if self._origins[each.item.id, each.revision].item.images else _CUT

    def _form(self, each: Placed, *, history: bool = False) -> ItemForm:
        """A single item over the library's share becomes an outline once its turn is history."""
        history = history or each.level < self.layout.turn
        fixed = each.pinned or not each.item.recoverable or each.item.type == ItemType.SELECTION
        if not history or fixed or self._size(each.item, ItemForm.FULL, each.revision) <= self.share:
            return ItemForm.FULL
        return ItemForm.OUTLINE

    def _size(self, item: ContextItem, form: ItemForm, revision: int) -> int:
        key = (item.id, item.sha256, f"{form.value}{revision}{item.type}")
        if key not in self._sizes:
            shown = Given(item=item, form=form, revision=revision, readers=self.readers)
            given = Preface(given=(shown,), inline=True)
            self._sizes[key] = given.costs(self.estimator, asked=False).total
        return self._sizes[key]

    def _preface(
        self,
        level: int,
        items: Sequence[Placed],
        references: Sequence[ItemReference],
        given: Sequence[Given],
    ) -> Preface:
        extra = self.extra.get(level, Preface())
        images = tuple(image for each in items if level >= self.layout.turn for image in each.item.images)
        return Preface(
            tools=extra.tools,
            loom=extra.loom,
            references=tuple(references),
            given=tuple(given),
            images=images,
            inline=True,
        )

    def charged_last(self, head: int) -> dict[int, int]:
        """Tokens of each level's items, if those before `head` are kept and a tail from anywhere after it."""
        levels = sorted(self._levels())
        beginning = self.layout_of(level for level in levels if level < head)
        costs = {level: self._cost(preface) for level, preface in beginning.items()}
        there = {(each.item.id, each.revision) for preface in beginning.values() for each in preface.given}
        charged: set[tuple[str, int]] = set()
        for level in sorted((level for level in levels if level >= head), reverse=True):
            items = self._items(level, ())
            costs[level] = self._most(level, [each for each in items if self._new(each, there, charged)])
        return costs

    @staticmethod
    def _new(each: Placed, there: Collection[tuple[str, int]], charged: set[tuple[str, int]]) -> bool:
        key = (each.item.id, each.revision)
        if key in there or key in charged:
            return False
        charged.add(key)
        return True

    def charged_everywhere(self) -> dict[int, int]:
        """As if every mention were in full: more than any cut can cost."""
        return {level: self._most(level, self._items(level, ())) for level in self._levels()}

    def _levels(self) -> set[int]:
        """Those that may say something before their words."""
        first = self.layout.first_live
        always = {first} if first is not None and self._earlier else set[int]()
        return self._by_level.keys() | self.extra.keys() | always

    def _most(self, level: int, full: Sequence[Placed]) -> int:
        """What a level costs at most: a reference for each of its items, and the full text of these."""
        items = self._items(level, ())
        references = [ItemReference(each.item, each.revision) for each in items]
        frame = self._cost(self._preface(level, items, references, ()))
        return frame + sum(self._size(each.item, self._form(each), each.revision) for each in full)

    def _cost(self, preface: Preface) -> int:
        return preface.costs(self.estimator, asked=True).total

    def ruled(self, outline: PathOutline) -> PathOutline:
        """The outline on a ruler that counts each item where it first stands on the path, cut or not."""
        marks = self._marks()
        levels = sorted(marks)
        sums = [0, *accumulate(marks[level] for level in levels)]

        def before(level: int) -> int:
            return sums[bisect_left(levels, level)]

        def moved(level: int, row: Candidate) -> Candidate:
            return row._replace(ruler=row.ruler + before(level + 1))

        between = outline.between
        if between is not None:
            between = between._replace(
                start=between.start + before(len(outline.head)), end=between.end + before(outline.first)
            )
        start = None if outline.start is None else outline.start + before(0)
        return replace(outline.changed(moved), between=between, start=start)

    def _marks(self) -> dict[int, int]:
        """Level → tokens of what it brings first. Whatever is left out counts too: a ruler does not change."""
        seen: set[tuple[str, int]] = set()
        marks: dict[int, int] = {}
        for each in self.layout.placed:
            key = (each.item.id, each.revision)
            if key not in seen:
                seen.add(key)
                size = self._size(each.item, self._form(each, history=True), each.revision)
                marks[each.level] = marks.get(each.level, 0) + size
        return marks
