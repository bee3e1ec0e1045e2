"""Items on a path: the library of earlier turns, and what is before the words of a turn."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from weft.context.fit import water_level
from weft.context.items.blocks import ItemForm, one_line, render_item, shown_content
from weft.context.items.item_types import (
    FIND_ABOVE,
    FIND_IN_LIBRARY,
    REFERENCES,
    SEPARATOR,
    ContextItem,
    ItemType,
)
from weft.context.rows import Reason
from weft.context.settings import Changed
from weft.context.shorten import ELLIPSIS, least_tokens, shorten_text
from weft.context.tokens import JOINT, Estimator
from weft.tree.content import Block, Content, Image, Mixed, Text, blocks_of
from weft.tree.measure import MEDIA_TOKENS


class Attached(NamedTuple):
    """An item on the turn that brought it along."""

    level: int
    """Of the node on the path."""
    item: ContextItem
    """As it was attached."""
    pinned: bool = False
    """Put into the library by hand: there from its own turn on, and never compacted."""
    left_out: Reason | None = None
    """Why its node is left out, where it is; its items are then left out with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An item in the library."""

    item: ContextItem
    level: int
    """Of the turn that brought it first."""
    revision: int = 1
    pinned: bool = False
    changed: bool = False
    """Whether its content is not what was first sent in this place."""
    form: ItemForm = ItemForm.FULL
    readers: Collection[str] = ()
    """The tools that the model has."""

    @property
    def id(self) -> str:
        return self.item.id

    @property
    def compactable(self) -> bool:
        return self.item.recoverable and not self.pinned and self.item.type != ItemType.SELECTION

    def render(self) -> str:
        return render_item(
            self.item, form=self.form, revision=self.revision, promoted=True, readers=self.readers
        )


def reference_of(item_id: str, revision: int) -> str:
    """How a turn names an item that is given elsewhere; plain but for later revisions."""
    return item_id if revision == 1 else f"{item_id} (revision {revision})"


def promote(
    attached: Iterable[Attached],
    *,
    turn: int,
    changed: Changed = Changed.REFRESH,
    fresh: Mapping[str, ContextItem] | None = None,
    readers: Collection[str] = (),
) -> tuple[Held, ...]:
    """The library of the turn that begins at level `turn`.

    In order of first appearance, each id once (with `append` each revision once). It does
    not matter what the turn itself attaches, except that `refresh` shows the newest
    content there is: `fresh` if it has the id, else the one attached last.
    """
    rows = [each for each in attached if each.left_out is None]
    earlier = [each for each in rows if not each.item.images and (each.level < turn or each.pinned)]
    if changed is Changed.APPEND:
        return tuple(_revisions(earlier, readers))
    newest = {each.item.id: each.item for each in rows} | dict(fresh or {})
    held: dict[str, Held] = {}
    for each in earlier:
        first = held.get(each.item.id)
        if first is None:
            held[each.item.id] = replace(_current(each, newest[each.item.id]), readers=readers)
        elif each.pinned and not first.pinned:
            held[each.item.id] = replace(first, pinned=True)
    return tuple(held.values())


def _current(first: Attached, newest: ContextItem) -> Held:
    """Times and title stay as they were first shown while the content does: touching a file costs nothing."""
    changed = newest.sha256 != first.item.sha256
    item = replace(newest, images=()) if changed else first.item
    return Held(item=item, level=first.level, pinned=first.pinned, changed=changed)


def _revisions(earlier: Sequence[Attached], readers: Collection[str]) -> list[Held]:
    revisions: list[Held] = []
    last: dict[str, Held] = {}
    for each in earlier:
        before = last.get(each.item.id)
        if before is not None and before.item.sha256 == each.item.sha256:
            continue
        revision = 1 if before is None else before.revision + 1
        held = Held(item=each.item, level=each.level, revision=revision, pinned=each.pinned, readers=readers)
        revisions.append(held)
        last[each.item.id] = held
    return revisions


def current_items(
    attached: Iterable[Attached], *, turn: int, fresh: Mapping[str, ContextItem] | None = None
) -> tuple[ContextItem, ...]:
    """What the turn itself attaches, each id once; images that came with any of it are kept."""
    items: dict[str, ContextItem] = {}
    for each in attached:
        if each.level < turn or each.left_out is not None:
            continue
        item = (fresh or {}).get(each.item.id, each.item)
        if item.type != each.item.type:
            # What it says is looked at again, not as what it was attached.
            item = replace(item, item=replace(item.item, type=each.item.type))
        before = items.get(item.id)
        items[item.id] = replace(item, images=item.images or each.item.images)
        if before is not None:
            items[item.id] = attached_twice(before, items[item.id])
    return tuple(items.values())


def attached_twice(before: ContextItem, item: ContextItem) -> ContextItem:
    """One item that a turn brings as two: the content of the later, and the active note if either is."""
    images = item.images or before.images
    if ItemType.ACTIVE_NOTE in {before.type, item.type} and item.type != ItemType.ACTIVE_NOTE:
        item = replace(item, item=replace(item.item, type=ItemType.ACTIVE_NOTE.value))
    return replace(item, images=images)


def compact(held: Sequence[Held], most: int, estimator: Estimator) -> tuple[Held, ...]:
    """The library within its share, as far as its items can be had again.

    Decided turn by turn along the path, so that a later turn never takes back what an
    earlier one decided: over the share the largest items become outlines, all in one step
    that makes room for many turns; where outlines alone are too much, the largest of them
    become stubs.
    """
    fold = _Fold(held, most, estimator)
    for index, each in enumerate(held):
        fold.add(index)
        last_of_turn = index + 1 == len(held) or held[index + 1].level != each.level
        if last_of_turn and fold.total > most:
            fold.step(index + 1)
    return tuple(fold.held)


class _Fold:
    def __init__(self, held: Sequence[Held], most: int, estimator: Estimator) -> None:
        self.held = list(held)
        self.most = most
        self.estimator = estimator
        self.joint = estimator.joint
        self.sizes = [self._size(each) for each in held]
        self.total = 0

    def _size(self, held: Held) -> int:
        return self.estimator.of_text(held.render()) + self.joint

    def add(self, index: int) -> None:
        self.total += self.sizes[index]

    def step(self, count: int) -> None:
        """Down to half the share: the next step is then far away."""
        for form, target in ((ItemForm.OUTLINE, self.most // 2), (ItemForm.STUB, self.most // 2)):
            if form is ItemForm.STUB and self.total <= self.most:
                break
            smaller = [index for index in range(count) if self._can_be(index, form)]
            for index in sorted(smaller, key=lambda index: (-self.sizes[index], index)):
                if self.total <= target:
                    break
                self._make(index, form)

    def _can_be(self, index: int, form: ItemForm) -> bool:
        held = self.held[index]
        if not held.compactable or held.form is ItemForm.STUB:
            return False
        return form is ItemForm.STUB or held.form is ItemForm.FULL

    def _make(self, index: int, form: ItemForm) -> None:
        smaller = replace(self.held[index], form=form)
        size = self._size(smaller)
        if size < self.sizes[index]:
            self.total -= self.sizes[index] - size
            self.held[index], self.sizes[index] = smaller, size


class ItemReference(NamedTuple):
    """An item that is given elsewhere in the request."""

    item: ContextItem
    revision: int = 1

    @property
    def line(self) -> str:
        return f"- {one_line(reference_of(self.item.id, self.revision))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An item whose text stands here."""

    item: ContextItem
    revision: int = 1
    form: ItemForm = ItemForm.FULL
    again: str = ""
    """Why it is given a second time on the path, where it is."""
    shown: str | None = None
    """What is shown of its content, where there is no room for all."""
    readers: Collection[str] = ()

    def render(self) -> str:
        return render_item(
            self.item, form=self.form, revision=self.revision, shown=self.shown, readers=self.readers
        )

    @property
    def least(self) -> "Given":
        return replace(self, shown=ELLIPSIS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preface:
    """Everything before one level's own words, in this order."""

    tools: str = ""
    loom: str = ""
    references: tuple[ItemReference, ...] = ()
    given: tuple[Given, ...] = ()
    images: tuple[Image, ...] = ()
    inline: bool = False

    def __bool__(self) -> bool:
        return bool(self.tools or self.loom or self.references or self.given or self.images)

    def reference_text(self) -> str:
        if not self.references:
            return ""
        find = FIND_ABOVE if self.inline else FIND_IN_LIBRARY
        return "\n".join([REFERENCES, *(each.line for each in self.references), find])

    def layer_text(self) -> str:
        """L3: references, then what is new in full."""
        return JOINT.join(filter(None, [self.reference_text(), *(each.render() for each in self.given)]))

    def text(self) -> str:
        return JOINT.join(filter(None, [self.tools, self.loom, self.layer_text()]))

    def before(self, content: Content | None) -> Content:
        """A level's content with this before it: texts, images, then the heading of the question and the question."""
        blocks = () if content is None else blocks_of(content)
        own = [block for block in blocks if not (isinstance(block, Text) and not block.text)]
        images: list[Block] = [*self.images, *takewhile(lambda block: isinstance(block, Image), own)]
        question = own[len(images) - len(self.images) :]
        text = self.text()
        written: list[Block] = [*images, *question]
        if text and question:
            first, rest = (
                (question[0].text, question[1:]) if isinstance(question[0], Text) else ("", question)
            )
            lead, headed = f"{text}{JOINT}", f"{SEPARATOR}{first}"
            written = [Text(lead), *images, Text(headed), *rest] if images else [Text(lead + headed), *rest]
        elif text:
            written = [Text(text), *images]
        return written[0] if len(written) == 1 else Mixed(tuple(written))

    def costs(self, estimator: Estimator, *, asked: bool) -> "Costs":
        of_text, joint = estimator.of_text, estimator.joint
        lines = of_text(f"{REFERENCES}\n") + of_text(FIND_ABOVE if self.inline else FIND_IN_LIBRARY)
        frame = (lines + joint if self.references else 0) + (
            of_text(SEPARATOR) if asked and self.text_needed() else 0
        )
        return Costs(
            tools=of_text(self.tools) + joint if self.tools else 0,
            loom=of_text(self.loom) + joint if self.loom else 0,
            references=tuple(of_text(f"{each.line}\n") for each in self.references),
            given=tuple(of_text(each.render()) + joint for each in self.given),
            images=len(self.images) * MEDIA_TOKENS,
            frame=frame,
        )

    def text_needed(self) -> bool:
        return bool(self.tools or self.loom or self.references or self.given)

    def floor(self, estimator: Estimator, *, asked: bool) -> int:
        """The fewest tokens it can be brought down to: every item still there, with nothing of its content."""
        return (
            replace(self, given=tuple(each.least for each in self.given)).costs(estimator, asked=asked).total
        )

    def fitted(self, most: int, estimator: Estimator, *, asked: bool) -> "Preface":
        """The same with the longest contents cut, so that it takes at most so many tokens."""
        costs = self.costs(estimator, asked=asked)
        if costs.total <= most:
            return self
        sizes = dict(enumerate(costs.given))
        joint = estimator.joint
        floors = {
            index: min(sizes[index], estimator.of_text(each.least.render()) + joint)
            for index, each in enumerate(self.given)
        }
        level = water_level(sizes, floors, most - (costs.total - sum(costs.given)))
        given = [
            each
            if sizes[index] <= max(level, floors[index])
            else _cut(each, max(level, floors[index]) - joint, estimator)
            for index, each in enumerate(self.given)
        ]
        return replace(self, given=tuple(given))


def _cut(given: Given, most: int, estimator: Estimator) -> Given:
    """As much of the content as there is room for."""
    content = shown_content(given.item)
    room = most - estimator.of_text(given.least.render()) + least_tokens(estimator)
    shortened = replace(given, shown=shorten_text(content, max(0, room), estimator))
    # An exact count is not quite additive.
    while room > 0 and estimator.of_text(shortened.render()) > most:
        room -= 1 + room // 64
        shortened = replace(given, shown=shorten_text(content, max(0, room), estimator))
    return shortened


class Costs(NamedTuple):
    """Tokens of a preface, by what they are for."""

    tools: int
    loom: int
    references: Sequence[int]
    given: Sequence[int]
    images: int
    frame: int

    @property
    def total(self) -> int:
        return self.tools + self.loom + sum(self.references) + sum(self.given) + self.images + self.frame
