"""Fit a path: what each of its levels costs, what room there is for them, and what is kept."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from weft.context.checks import system_over
from weft.context.columns import Columns, Sketch
from weft.context.dialogue import CLOSING, OPENING, frame_tokens, heading_of
from weft.context.fit import Room, Strategy, fit
from weft.context.plan import Plan
from weft.context.request import ContextRequest
from weft.context.rows import (
    Candidate,
    ExtraSource,
    PathOutline,
    Prices,
    Reason,
    answers_of,
    columns_of,
    sources_beside,
)
from weft.context.tokens import Estimator
from weft.context.tool_text import tag_tokens
from weft.errors import InvalidInputError


def fit_path(plan: Plan, rows: PathOutline) -> None:
    """Decide what is kept of these rows."""
    request = plan.request
    require_room(plan)
    head = sources_beside(rows.head, dialogue=request.dialogue)
    tail = sources_beside(rows.tail, request.pending.sources, dialogue=request.dialogue)
    plan.rows = rows
    plan.beside = head | {rows.first + index: extras for index, extras in tail.items()}
    plan.sketch, plan.reasons = _sketch(plan)
    if request.dialogue and plan.sketch.between is None and not plan.sketch.tail.sums[-1]:
        raise _nothing_left(plan.reasons)
    plan.room = _room(plan)
    plan.fit = cut = fit(plan.sketch, plan.room, request.rules)
    plan.kept = [
        *range(cut.head),
        *([] if cut.anchor is None else [cut.anchor]),
        *range(cut.tail, cut.levels),
    ]


def require_room(plan: Plan) -> None:
    """The system context is never cut, so too much of it is an error."""
    system, layout = plan.system, plan.layout
    if system.tokens > plan.request.budget:
        library = 0 if layout is None else layout.system.library_tokens
        raise system_over(system.tokens, plan.request.budget, system.sizes, library=library)


def prices_of(request: ContextRequest, rows: PathOutline) -> Prices:
    """What assembly adds to each level of a request."""
    estimator = request.estimator
    heading = None
    if request.headings:
        heading = partial(_given_tokens, request.headings, estimator)
    elif request.dialogue and request.preferences.name_authors:
        heading = partial(_heading_tokens, request.authors, estimator)
    if request.dialogue and not request.profile.tools and rows.has_tools:
        heading = partial(_tagged_tokens, heading)
    return Prices(
        estimator=estimator,
        joined=request.dialogue,
        heading=heading,
        frame=lambda source: frame_tokens(source, estimator),
        # What never cuts does not cut a merge's nodes either.
        share=None
        if request.preferences.truncation_strategy is Strategy.STOP_AT_LIMIT
        else int(request.preferences.merge_share * request.budget),
    )


def _given_tokens(headings: Mapping[str, str], estimator: Estimator, row: Candidate) -> int:
    heading = headings.get(row.id, "")
    return estimator.of_text(heading) + estimator.seam if heading else 0


def _heading_tokens(names: Mapping[str, str], estimator: Estimator, row: Candidate) -> int:
    return estimator.of_text(heading_of(row.author, names)) + estimator.seam if row.author else 0


def _tagged_tokens(heading: Callable[[Candidate], int] | None, row: Candidate) -> int:
    return tag_tokens(row) + (heading(row) if heading is not None else 0)


def _sketch(plan: Plan) -> tuple[Sketch, dict[int, Reason]]:
    """The columns that fitting reads, and why levels are left out."""
    request, rows, prices = plan.request, plan.rows, plan.prices
    beside: Mapping[int, tuple[ExtraSource, ...]] = plan.beside if request.refers else {}
    between, masks = rows.between, request.masks
    tail, own = columns_of(
        rows.tail,
        prices,
        beside,
        first=rows.first,
        start=rows.tail_start,
        known_before=between is None,
        masks=masks,
        memory=rows.memory,
    )
    reasons = _reasons(own, rows.first)
    last_user = _last_user(rows, reasons, tail) if request.dialogue else None

    def floor_of(level: int) -> int:
        row = None if level in reasons else rows.at(level)
        return prices.floor(row, beside.get(level, ()), tail.live(level - rows.first))

    def parts_of(level: int) -> list[tuple[str, int]]:
        sources = [(extra.local_id, prices.of_source(extra)) for extra in beside.get(level, ())]
        own = tail.live(level - rows.first) - sum(size for _, size in sources)
        return [(rows.at(level).local_id, own), *sources]

    if between is None:
        return Sketch(tail=tail, last_user=last_user, floor_of=floor_of, parts_of=parts_of), reasons
    head, own = columns_of(rows.head, prices, beside, masks=masks)
    reasons |= _reasons(own, 0)
    sketch = Sketch(
        tail=tail, head=head, between=between, last_user=last_user, floor_of=floor_of, parts_of=parts_of
    )
    return sketch, reasons


def _reasons(own: Sequence[Reason | None], first: int) -> dict[int, Reason]:
    return (
        {first + index: reason for index, reason in enumerate(own) if reason is not None} if any(own) else {}
    )


def _last_user(rows: PathOutline, reasons: Mapping[int, Reason], tail: Columns) -> tuple[int, int] | None:
    for index in range(len(rows.tail) - 1, -1, -1):
        level = rows.first + index
        if rows.tail[index].role == "user" and level not in reasons and not tail.bound[index]:
            return level, tail.live(index)
    return None


def _room(plan: Plan) -> Room:
    request, rows, sketch = plan.request, plan.rows, plan.sketch
    of_text, reserve, opening, joints = request.estimator.of_text, request.held_back, 0, 0
    if request.preface:
        reserve += of_text(request.preface) + 2 * request.estimator.joint
    if request.dialogue:
        tail = sketch.tail
        if not request.profile.prefill and not _by_user(rows.tail, tail, reversed(range(len(tail)))):
            reserve += of_text(CLOSING)
        # A marker between two users is joined to both.
        joints = 2 * request.estimator.joint
        first, start = rows.tail if sketch.between is None else rows.head, sketch.start
        if _by_user(first, start, range(len(start))):
            opening = of_text(OPENING)
        else:
            reserve += of_text(OPENING)
    return Room(
        budget=request.budget,
        system=plan.system.tokens,
        reserve=reserve,
        opening=opening,
        joints=joints,
        window=request.window,
    )


def _by_user(rows: Sequence[Candidate], columns: Columns, order: Iterable[int]) -> bool:
    """Whether the first of these, in this order, that adds anything is a user's for certain.

    A tool's result may go where its call is, and one without a call goes altogether.
    """
    for index in order:
        if columns.live(index):
            return rows[index].role == "user" and not answers_of(rows[index])
    return False


def _nothing_left(reasons: Mapping[int, Reason]) -> InvalidInputError:
    counted = [(reason, sum(1 for each in reasons.values() if each is reason)) for reason in Reason]
    left_out = ", ".join(f"{count:,} {reason.value}" for reason, count in counted if count)
    return InvalidInputError(
        f"nothing is left to send ({left_out or 'the path is empty'})",
        hint="include a node, or say something",
    )
