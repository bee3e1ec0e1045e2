"""From a place in a tree to what a model will see: first a plan from light rows, then the texts of what is kept."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from weft.context.dialogue import CLOSING, OPENING, frame_tokens, heading_of
from weft.context.fit import Columns, Fit, Marker, Room, Rules, Sketch, Strategy, fit, head_reach, water_level
from weft.context.result import AssembledContext
from weft.context.rows import (
    SPOKEN,
    Candidate,
    ExtraSource,
    PathOutline,
    Prices,
    Reason,
    answers_of,
    bound_of,
    columns_of,
    left_out_of,
)
from weft.context.settings import Preferences
from weft.context.system import Instruction, SystemContext, SystemParts, build_system
from weft.context.tokens import DEFAULT, JOINT, Estimator
from weft.context.tool_pairs import settled
from weft.errors import InvalidInputError
from weft.tree.content import Content
from weft.tree.tree import Mode

INPUT = "input"
"""The id under which a manifest lists text that is not a node yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a provider can do."""

    prefix_cache: bool = False
    prefill: bool = False
    """Whether a request may end with an assistant's message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What comes with a generation that is not a node yet: its text, and its edge's further sources."""

    text: str = ""
    """In buffer mode the working buffer."""
    sources: tuple[ExtraSource, ...] = ()
    instructions: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """A place in a tree, as light rows, and how its context is wanted."""

    mode: Mode
    outline: PathOutline
    budget: int
    window: int | None = None
    """The model's; the budget if not given."""
    system: SystemParts = field(default_factory=SystemParts)
    buffer_system_context: bool = False
    """Whether a document is sent with its system context."""
    preferences: Preferences = field(default_factory=Preferences)
    estimator: Estimator = DEFAULT
    profile: Profile = field(default_factory=Profile)
    pending: Pending = field(default_factory=Pending)
    authors: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names by author id, for `nameAuthors`."""
    headings: Mapping[str, str] = field(default_factory=dict[str, str])
    """By node id, what stands before its words: a loom-aware agent's headings, or boundaries in prose."""
    preface: str = ""
    """What stands before the current turn: a loom-aware agent's context."""
    turn_at: int | None = None
    """The level before whose words the turn's own context stands, where it has any."""
    held_back: int = 0
    """Tokens of the budget that are not used: an exact count of the whole was larger than of its parts."""

    @property
    def dialogue(self) -> bool:
        return self.mode is Mode.DIALOGUE

    @property
    def rules(self) -> Rules:
        preferences = self.preferences
        marker = Marker(preferences.marker(self.mode), self.estimator, joint=JOINT if self.dialogue else "")
        return Rules(
            strategy=preferences.truncation_strategy,
            step=preferences.step(prefix_cache=self.profile.prefix_cache),
            minimum_recent=preferences.minimum_recent_nodes,
            marker=marker,
            dialogue=self.dialogue,
        )

    def system_context(self) -> SystemContext:
        if not self.dialogue and not self.buffer_system_context:
            return SystemContext("", 0, ())
        parts = SystemParts(
            agent=self.system.agent,
            tree=self.system.tree,
            instructions=self.system.instructions + self.pending.instructions,
            memory=self.system.memory,
        )
        return build_system(parts, self.preferences.instructions, self.estimator, budget=self.budget)

    def head_reach(self) -> tuple[int, bool]:
        """How far from the root planning has to read, and whether that is on the ruler or in live tokens."""
        room = Room(budget=self.budget, system=self.system_context().tokens, window=self.window)
        return head_reach(room, self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be kept, before any text was read."""

    request: ContextRequest
    system: SystemContext
    rows: PathOutline
    """The outline with the pending input as its last level, if there is one."""
    prices: Prices
    sketch: Sketch
    fit: Fit
    reasons: Mapping[int, Reason]
    """Why a known level is left out, where it is."""
    beside: Mapping[int, tuple[ExtraSource, ...]]
    """The further sources that stand before a known level's message, where there are any."""

    @property
    def kept(self) -> list[int]:
        """Levels in the order of the path; those that are left out for a reason of their own among them."""
        found = self.fit
        middle = [] if found.anchor is None else [found.anchor]
        return [*range(found.head), *middle, *range(found.tail, found.levels)]

    def extras(self, level: int) -> tuple[ExtraSource, ...]:
        """The further sources that stand before a level's message."""
        return self.beside.get(level, ())

    def allowed(self, level: int) -> tuple[list[tuple[ExtraSource, int]], int]:
        """What each source of a kept level may cost, and its own words: less than they would only if it is shortened."""
        beside = self.beside.get(level, ()) if self.request.dialogue else ()
        extras = [extra for extra in beside if extra.left_out is None and extra.tokens]
        row, prices = self.rows.at(level), self.prices
        own = 0 if level in self.reasons else row.tokens
        sizes = dict(enumerate([*map(prices.capped, extras), own]))
        most = self.fit.shortened.get(level)
        if most is not None:
            least = [*map(prices.least, extras), prices.least(row) if own else 0]
            planned = self.sketch.tail.live(level - self.rows.first)
            height = water_level(sizes, dict(enumerate(least)), most - (planned - sum(sizes.values())))
            sizes = {index: min(size, max(height, least[index])) for index, size in sizes.items()}
        *others, own = sizes.values()
        return list(zip(extras, others, strict=True)), own

    @property
    def wanted(self) -> list[str]:
        """Ids of the nodes whose contents rendering needs."""
        found: dict[str, None] = {}
        for level in self.kept:
            for extra in self.extras(level):
                if extra.left_out is None:
                    found[extra.id] = None
            row = self.rows.at(level)
            if level not in self.reasons and row.id != INPUT:
                found[row.id] = None
        return list(found)


def plan_context(request: ContextRequest) -> Plan:
    """Decide what is kept. Reads no texts but those of the system context and the pending input."""
    system = request.system_context()
    if request.dialogue:
        rows = settled(_with_input(request), request.estimator)
    else:
        rows = _with_input(replace(request, outline=_as_words(request.outline)))
    prices = _prices(request)
    beside = _beside(rows, request.pending.sources)
    sketch, reasons = _sketch(rows, prices, request, beside)
    if request.dialogue and sketch.between is None and not sketch.tail.sums[-1]:
        raise _nothing_left(reasons)
    room = _room(request, system, rows, sketch)
    return Plan(
        request=request,
        system=system,
        rows=rows,
        prices=prices,
        sketch=sketch,
        fit=fit(sketch, room, request.rules),
        reasons=reasons,
        beside=beside,
    )


def _beside(rows: PathOutline, pending: tuple[ExtraSource, ...]) -> dict[int, tuple[ExtraSource, ...]]:
    """The sources of an edge stand before the message that its target answers, notes before their own."""
    found: dict[int, tuple[ExtraSource, ...]] = {}
    for start, known in ((0, rows.head), (rows.first, rows.tail)):
        for index, row in enumerate(known):
            # Of the tail's first level the one before is not known, unless it is the path's root.
            if row.sources and index:
                found[start + index - 1] = found.get(start + index - 1, ()) + row.sources
            if row.notes:
                found[start + index] = row.notes
    last = rows.first + len(rows.tail) - 1
    if pending and last >= 0:
        found[last] = found.get(last, ()) + pending
    return found


def assemble(request: ContextRequest, contents: Mapping[str, Content]) -> AssembledContext:
    """Plan and render at once, where all contents are at hand."""
    from weft.context.render import write_context  # noqa: PLC0415 - rendering stands on the plan

    return write_context(plan_context(request), lambda _: contents)


def _with_input(request: ContextRequest) -> PathOutline:
    """Pending input is a level like any other: the newest."""
    text, outline = request.pending.text, request.outline
    if not (text.strip() if request.dialogue else text):
        return outline
    rows = outline.tail or outline.head
    tokens = max(1, request.estimator.of_text(text))
    row = Candidate(INPUT, INPUT, "user", tokens, (rows[-1].ruler if rows else 0) + tokens)
    return replace(outline, tail=[*outline.tail, row])


def _as_words(outline: PathOutline) -> PathOutline:
    """A document has no tools and no pictures: nothing in it hangs together but by its order."""

    def alone(rows: Sequence[Candidate]) -> list[Candidate]:
        return [
            row._replace(
                asks=False,
                answers=False,
                left_out=row.left_out or (None if row.kind in SPOKEN else Reason.NO_WORDS),
            )
            for row in rows
        ]

    return replace(outline, head=alone(outline.head), tail=alone(outline.tail))


def _prices(request: ContextRequest) -> Prices:
    estimator = request.estimator
    heading = None
    if request.headings:
        heading = partial(_given_tokens, request.headings, estimator)
    elif request.dialogue and request.preferences.name_authors:
        heading = partial(_heading_tokens, request.authors, estimator)
    return Prices(
        estimator=estimator,
        joined=request.dialogue,
        heading=heading,
        frame=lambda source: frame_tokens(source.local_id, estimator),
        # What never cuts does not cut a merge's nodes either.
        share=None
        if request.preferences.truncation_strategy is Strategy.STOP_AT_LIMIT
        else int(request.preferences.merge_share * request.budget),
    )


def _given_tokens(headings: Mapping[str, str], estimator: Estimator, row: Candidate) -> int:
    said = headings.get(row.id, "")
    return estimator.of_text(said) + estimator.seam if said else 0


def _heading_tokens(names: Mapping[str, str], estimator: Estimator, row: Candidate) -> int:
    return estimator.of_text(heading_of(row.author, names)) + estimator.seam if row.author else 0


def _sketch(
    rows: PathOutline,
    prices: Prices,
    request: ContextRequest,
    beside: Mapping[int, tuple[ExtraSource, ...]],
) -> tuple[Sketch, dict[int, Reason]]:
    # A document takes only the words of its nodes; sources are of no use to it.
    pending = request.pending.sources if request.dialogue else ()
    between = rows.between
    reasons = _reasons(rows.tail, rows.first)
    start = rows.start
    if start is None:
        start = rows.tail[0].ruler - rows.tail[0].tokens if rows.tail and between is None else 0
    tail = columns_of(
        rows.tail,
        prices,
        start=max(0, start) if between is None else between.end,
        pending=pending,
        known_before=between is None,
    )
    last_user = _last_user(rows, reasons, tail) if request.dialogue else None

    def floor_of(level: int) -> int:
        row = None if level in reasons else rows.at(level)
        return prices.floor(row, beside.get(level, ()), tail.live(level - rows.first))

    def parts_of(level: int) -> list[tuple[str, int]]:
        extras = beside.get(level, ()) if request.dialogue else ()
        found = [(extra.local_id, prices.of_source(extra)) for extra in extras]
        own = tail.live(level - rows.first) - sum(size for _, size in found)
        return [(rows.at(level).local_id, own), *found]

    if between is None:
        return Sketch(tail=tail, last_user=last_user, floor_of=floor_of, parts_of=parts_of), reasons
    reasons |= _reasons(rows.head, 0)
    head = columns_of(rows.head, prices)
    sketch = Sketch(
        tail=tail, head=head, between=between, last_user=last_user, floor_of=floor_of, parts_of=parts_of
    )
    return sketch, reasons


def _reasons(rows: Sequence[Candidate], first: int) -> dict[int, Reason]:
    found = left_out_of(rows, bound_of(rows))
    return {first + index: reason for index, reason in enumerate(found) if reason is not None}


def _last_user(rows: PathOutline, reasons: Mapping[int, Reason], tail: Columns) -> tuple[int, int] | None:
    for index in range(len(rows.tail) - 1, -1, -1):
        level = rows.first + index
        if rows.tail[index].role == "user" and level not in reasons and not tail.bound[index]:
            return level, tail.live(index)
    return None


def _room(request: ContextRequest, system: SystemContext, rows: PathOutline, sketch: Sketch) -> Room:
    of_text, reserve, opening, joints = request.estimator.of_text, request.held_back, 0, 0
    if request.preface:
        reserve += of_text(request.preface) + 2 * request.estimator.joint
    if request.dialogue:
        if not request.profile.prefill and not _by_user(reversed(rows.tail), reversed(sketch.tail.lives)):
            reserve += of_text(CLOSING)
        # A marker between two users is joined to both.
        joints = 2 * request.estimator.joint
        if _by_user(rows.tail if sketch.between is None else rows.head, sketch.start.lives):
            opening = of_text(OPENING)
        else:
            reserve += of_text(OPENING)
    return Room(
        budget=request.budget,
        system=system.tokens,
        reserve=reserve,
        opening=opening,
        joints=joints,
        window=request.window,
    )


def _by_user(rows: Iterable[Candidate], lives: Iterable[int]) -> bool:
    """Whether the first of these that adds anything is a user's for certain.

    A tool's result may go where its call is, and one without a call goes altogether.
    """
    for row, live in zip(rows, lives, strict=True):
        if live:
            return row.role == "user" and not answers_of(row)
    return False


def _nothing_left(reasons: Mapping[int, Reason]) -> InvalidInputError:
    counted = [(reason, sum(1 for each in reasons.values() if each is reason)) for reason in Reason]
    said = ", ".join(f"{count:,} {reason.value}" for reason, count in counted if count)
    return InvalidInputError(
        f"nothing is left to send ({said or 'the path is empty'})", hint="include a node, or say something"
    )
