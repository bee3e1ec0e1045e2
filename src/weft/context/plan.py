"""What the engine decides about one request, stage by stage. No text of the path is in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from weft.context.columns import Sketch
from weft.context.fit import Fit, Room, water_level
from weft.context.items.library import Preface
from weft.context.manifest_entries import Piece
from weft.context.request import INPUT, ContextRequest, Layout
from weft.context.rows import ExtraSource, PathOutline, Prices, Reason
from weft.context.system import SystemContext
from weft.tree.content import Content

if TYPE_CHECKING:
    from weft.context.items.inline import Inline
    from weft.context.kept_levels import KeptLevel, WrittenLevels
    from weft.context.result import Context


@dataclass(eq=False)
class Plan:
    """One request on its way through the stages. Each stage sets what its name says."""

    asked: ContextRequest
    """The request as it was given."""
    request: ContextRequest = field(init=False)
    """The same with what the stages add to it: an agent's headings, a document's attachments as sources."""
    outline: PathOutline = field(init=False)
    """Set by `read`, then paired."""
    rows: PathOutline = field(init=False)
    """The levels as they are laid out, masked and priced."""
    system: SystemContext = field(init=False)
    prices: Prices = field(init=False)
    layout: Layout | None = None
    """The layers, where the request is made in layers."""
    inline: "Inline | None" = None
    """The items, where they are in the messages that introduced them."""
    prefaces: Mapping[int, Preface] = field(default_factory=dict[int, Preface])
    """What is said before the words of a level: items, references, outputs of tools."""
    reasons: Mapping[int, Reason] = field(init=False)
    """Why a known level is left out, where it is."""
    beside: Mapping[int, tuple[ExtraSource, ...]] = field(init=False)
    """The further sources before a known level's message, where there are any."""
    sketch: Sketch = field(init=False)
    room: Room = field(init=False)
    fit: Fit | None = None
    kept: list[int] = field(default_factory=list[int])
    """Levels in the order of the path; those that are left out for a reason of their own among them."""
    pruned: tuple[Piece, ...] = ()
    """What reducing the history did."""
    unsummarised: tuple[str, ...] = ()
    """Ids of the nodes that are shown by an extract, because no summary of them is stored."""
    contents: Mapping[str, Content] = field(default_factory=dict[str, Content])
    """The texts of `wanted`, by the ids of their nodes."""
    written: "WrittenLevels" = field(init=False)
    """The kept levels with their texts, and the messages that they become."""
    context: "Context" = field(init=False)
    excess: int = 0
    """Tokens by which an exact count of the whole exceeds the budget."""

    def __post_init__(self) -> None:
        self.request = self.asked

    @property
    def cut(self) -> Fit:
        """What `fit` decided."""
        if self.fit is None:
            raise RuntimeError("the path was not fitted yet")
        return self.fit

    @property
    def whole(self) -> bool:
        """True if nothing was cut or shortened."""
        return not self.cut.truncated and not self.cut.shortened

    @property
    def offset(self) -> int:
        """Levels of the path before the first row: what a summary replaces."""
        return self.request.offset if self.layout is None else self.layout.offset

    @property
    def turn_at(self) -> int | None:
        """The level whose words follow the turn's own context, where it has any."""
        first = None if self.layout is None else self.layout.first_live
        return first if first in self.prefaces else None

    @property
    def removed(self) -> list[tuple[int, int]]:
        """The ranges of levels that the cut removed; those with a reason of their own are in none."""
        cut, between = self.cut, self.sketch.between
        stays = {level for level in self.reasons if cut.head <= level < cut.tail}
        stays |= {each.level for each in between.left_out} if between is not None else set()
        # The row that replaces reduced levels is no level itself.
        stays |= {0} if self.request.folded and cut.head == 0 < cut.tail else set()
        return cut.removed(stays)

    @property
    def removed_nodes(self) -> int:
        return sum(stop - start for start, stop in self.removed)

    @property
    def sent(self) -> list[int]:
        """The kept levels whose own words are sent."""
        return [level for level in self.kept if level not in self.reasons]

    def allowed(self, level: int) -> tuple[list[tuple[ExtraSource, int]], int]:
        """What each source of a kept level may cost, and its own words: less than they would only if it is shortened."""
        beside = self.beside.get(level, ()) if self.request.refers else ()
        extras = [extra for extra in beside if extra.left_out is None and extra.tokens]
        row, prices = self.rows.at(level), self.prices
        own = 0 if level in self.reasons else row.tokens + row.before
        sizes = dict(enumerate([*map(prices.capped, extras), own]))
        most = self.cut.shortened.get(level)
        planned = 0 if most is None else self.sketch.tail.live(level - self.rows.first)
        if most is not None and row.before:
            # Its items are shortened before its sources are.
            sizes[len(extras)] = most - (planned - own)
        elif most is not None:
            least = [*map(prices.least, extras), prices.least(row) if own else 0]
            height = water_level(sizes, dict(enumerate(least)), most - (planned - sum(sizes.values())))
            sizes = {index: min(size, max(height, least[index])) for index, size in sizes.items()}
        *others, own = sizes.values()
        return list(zip(extras, others, strict=True)), own

    @cached_property
    def is_reusable(self) -> bool:
        """Whether its levels are written as in every other context of the path, but those that are special."""
        request = self.request
        return not (request.headings or request.preface or request.shown or request.own.keys() - {INPUT})

    @cached_property
    def special(self) -> set[int]:
        """Levels with anything beside or before their words, and those that are not sent whole."""
        return {*self.beside, *self.prefaces, *self.cut.shortened, *self.reasons}

    @cached_property
    def known(self) -> "dict[int, KeptLevel]":
        """The kept levels that an earlier context wrote as this one would."""
        rendered, rows, special = self.rows.memory.levels, self.rows, self.special
        if not rendered or not self.is_reusable:
            return {}
        head, tail, first = rows.head, rows.tail, rows.first
        return {
            level: each
            for level in self.kept
            if (each := rendered.get(level)) is not None
            and each.row is (tail[level - first] if level >= first else head[level])
            and level not in special
        }

    @property
    def wanted(self) -> list[str]:
        """Ids of the nodes whose contents rendering needs."""
        ids: dict[str, None] = {}
        beside, reasons, at, known = self.beside, self.reasons, self.rows.at, self.known
        for level in [level for level in self.kept if level not in known]:
            if level in beside and self.request.refers:
                ids |= {extra.id: None for extra in beside[level] if extra.left_out is None}
            if level not in reasons:
                ids[at(level).id] = None
        if self.layout is not None:
            ids |= {row.id: None for _, row in self.layout.input_rows}
        return [name for name in ids if name != INPUT and name not in self.request.own]

    @property
    def masked(self) -> tuple[str, ...]:
        """Ids of the nodes whose tool results are sent as lines."""
        if self.request.masks is None:
            return ()
        hidden = {level: row.local_id for level, row in self.rows.known() if row.hidden}
        return tuple(hidden[level] for level in self.sent if level in hidden) if hidden else ()

    @property
    def turn(self) -> tuple[str, ...]:
        """Ids of the nodes whose words are the input."""
        rows = [] if self.layout is None else self.layout.input_rows
        return tuple(row.id for _, row in rows if row.tokens and row.id != INPUT)
