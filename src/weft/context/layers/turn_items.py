"""What stands before the words of a turn: tool outputs, the loom's context, references, items, a separator."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from weft.context.fit import water_level
from weft.context.layers.blocks import ItemForm, one_line, render_item, shown_content
from weft.context.layers.items import FIND_ABOVE, FIND_IN_LIBRARY, REFERENCES, SEPARATOR, ContextItem
from weft.context.layers.library import reference_of
from weft.context.shorten import ELLIPSIS, least_tokens, shorten_text
from weft.context.tokens import JOINT, Estimator
from weft.tree.content import Block, Content, Image, Mixed, Text, blocks_of
from weft.tree.measure import MEDIA_TOKENS


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

    def render(self) -> str:
        return render_item(self.item, form=self.form, revision=self.revision, shown=self.shown)

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
        """A level's content with this before it; the question stays last, images stand before it."""
        blocks = () if content is None else blocks_of(content)
        blocks = tuple(block for block in blocks if not (isinstance(block, Text) and not block.text))
        text = self.text()
        lead = f"{text}{JOINT}{SEPARATOR}" if text and blocks else text
        found: list[Block] = [Text(lead)] if lead else []
        found += [*self.images, *blocks]
        if len(found) > 1 and isinstance(found[0], Text) and isinstance(found[1], Text):
            found[:2] = [Text(found[0].text + found[1].text)]
        return found[0] if len(found) == 1 else Mixed(tuple(found))

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
    found = replace(given, shown=shorten_text(content, max(0, room), estimator))
    # An exact count is not quite additive.
    while room > 0 and estimator.of_text(found.render()) > most:
        room -= 1 + room // 64
        found = replace(given, shown=shorten_text(content, max(0, room), estimator))
    return found


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
