"""The library: every item of the earlier turns of a path, as a function of that path alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from weft.context.layers.blocks import ItemForm, render_item
from weft.context.layers.items import ContextItem, ItemType
from weft.context.rows import Reason
from weft.context.settings import Changed
from weft.context.tokens import Estimator


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

    @property
    def id(self) -> str:
        return self.item.id

    @property
    def compactable(self) -> bool:
        return self.item.recoverable and not self.pinned and self.item.type != ItemType.SELECTION

    def render(self) -> str:
        return render_item(self.item, form=self.form, revision=self.revision, promoted=True)


def reference_of(item_id: str, revision: int) -> str:
    """How a turn names an item that is given elsewhere; plain but for later revisions."""
    return item_id if revision == 1 else f"{item_id} (revision {revision})"


def promote(
    attached: Iterable[Attached],
    *,
    turn: int,
    changed: Changed = Changed.REFRESH,
    fresh: Mapping[str, ContextItem] | None = None,
) -> tuple[Held, ...]:
    """The library of the turn that begins at level `turn`.

    In order of first appearance, each id once (with `append` each revision once). It does
    not matter what the turn itself attaches, except that `refresh` shows the newest
    content there is: `fresh` if it has the id, else the one attached last.
    """
    rows = [each for each in attached if each.left_out is None]
    earlier = [each for each in rows if not each.item.images and (each.level < turn or each.pinned)]
    if changed is Changed.APPEND:
        return tuple(_revisions(earlier))
    newest = {each.item.id: each.item for each in rows} | dict(fresh or {})
    held: dict[str, Held] = {}
    for each in earlier:
        first = held.get(each.item.id)
        if first is None:
            held[each.item.id] = _current(each, newest[each.item.id])
        elif each.pinned and not first.pinned:
            held[each.item.id] = replace(first, pinned=True)
    return tuple(held.values())


def _current(first: Attached, newest: ContextItem) -> Held:
    """Times and title stay as they were first shown while the content does: touching a file costs nothing."""
    changed = newest.sha256 != first.item.sha256
    item = replace(newest, images=()) if changed else first.item
    return Held(item=item, level=first.level, pinned=first.pinned, changed=changed)


def _revisions(earlier: Sequence[Attached]) -> list[Held]:
    found: list[Held] = []
    last: dict[str, Held] = {}
    for each in earlier:
        before = last.get(each.item.id)
        if before is not None and before.item.sha256 == each.item.sha256:
            continue
        revision = 1 if before is None else before.revision + 1
        held = Held(item=each.item, level=each.level, revision=revision, pinned=each.pinned)
        found.append(held)
        last[each.item.id] = held
    return found


def current_items(
    attached: Iterable[Attached], *, turn: int, fresh: Mapping[str, ContextItem] | None = None
) -> tuple[ContextItem, ...]:
    """What the turn itself attaches, each id once; images that came with any of it are kept."""
    found: dict[str, ContextItem] = {}
    for each in attached:
        if each.level < turn or each.left_out is not None:
            continue
        item = (fresh or {}).get(each.item.id, each.item)
        if item.type != each.item.type:
            # What it says is looked at again, not as what it was attached.
            item = replace(item, item=replace(item.item, type=each.item.type))
        before = found.get(item.id)
        found[item.id] = replace(item, images=item.images or each.item.images)
        if before is not None:
            found[item.id] = attached_twice(before, found[item.id])
    return tuple(found.values())


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
