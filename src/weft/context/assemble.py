"""From a place in a tree to what a model will see: first a plan from light rows, then the texts of what is kept."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from weft.context.dialogue import CLOSING, OPENING, frame_tokens, heading_of
from weft.context.document import with_item_sources
from weft.context.fit import Columns, Room, Sketch, Strategy, fit
from weft.context.request import INPUT, ContextRequest, Plan
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
    sources_beside,
)
from weft.context.system import SystemContext
from weft.context.tokens import Estimator
from weft.context.tool_pairs import masked_outline, settled
from weft.context.tool_text import tag_tokens
from weft.errors import InvalidInputError


def plan_context(request: ContextRequest) -> Plan:
    """Decide what is kept. Reads no texts but those of the system context and the pending input."""
    system = request.system_context
    if request.dialogue:
        rows = _paired(request, _with_input(request))
    else:
        request = with_item_sources(request)
        rows = _with_input(replace(request, outline=request.outline.changed(_as_words)))
    prices = _prices(request)
    head = sources_beside(rows.head, dialogue=request.dialogue)
    tail = sources_beside(rows.tail, request.pending.sources, dialogue=request.dialogue)
    beside = head | {rows.first + index: extras for index, extras in tail.items()}
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
        room=room,
        fit=fit(sketch, room, request.rules),
        reasons=reasons,
        beside=beside,
    )


def mask_results(request: ContextRequest) -> ContextRequest:
    """The request with its old tool results masked already, for what comes before the fit."""
    masked = request.dialogue and request.masks is not None
    return replace(request, outline=_paired(request, request.outline)) if masked else request


def _paired(request: ContextRequest, outline: PathOutline) -> PathOutline:
    """The path with calls and results that have their other half, old results as one line."""
    outline = settled(outline, request.estimator)
    return outline if request.masks is None else masked_outline(outline, request.masks, request.estimator)


def _with_input(request: ContextRequest) -> PathOutline:
    """Pending input is a level like any other: the newest."""
    text, outline = request.pending.text, request.outline
    if not (text.strip() if request.dialogue else text):
        return outline
    rows = outline.tail or outline.head
    tokens = max(1, request.estimator.of_text(text))
    row = Candidate(INPUT, INPUT, "user", tokens, (rows[-1].ruler if rows else 0) + tokens)
    return replace(outline, tail=[*outline.tail, row])


def _as_words(_level: int, row: Candidate) -> Candidate:
    """A document has no tools and no pictures: only order connects its levels."""
    if row.kind == "text" and row.role != "tool":
        return row
    left_out = row.left_out or (None if row.kind in SPOKEN else Reason.NO_WORDS)
    return row._replace(asks=False, answers=False, left_out=left_out)


def _prices(request: ContextRequest) -> Prices:
    estimator = request.estimator
    heading = None
    if request.headings:
        heading = partial(_given_tokens, request.headings, estimator)
    elif request.dialogue and request.preferences.name_authors:
        heading = partial(_heading_tokens, request.authors, estimator)
    if request.dialogue and not request.profile.tools:
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
    said = headings.get(row.id, "")
    return estimator.of_text(said) + estimator.seam if said else 0


def _heading_tokens(names: Mapping[str, str], estimator: Estimator, row: Candidate) -> int:
    return estimator.of_text(heading_of(row.author, names)) + estimator.seam if row.author else 0


def _tagged_tokens(heading: Callable[[Candidate], int] | None, row: Candidate) -> int:
    return tag_tokens(row) + (heading(row) if heading is not None else 0)


def _sketch(
    rows: PathOutline,
    prices: Prices,
    request: ContextRequest,
    beside: Mapping[int, tuple[ExtraSource, ...]],
) -> tuple[Sketch, dict[int, Reason]]:
    beside = beside if request.refers else {}
    between, masks = rows.between, request.masks
    own = left_out_of(rows.tail, bound_of(rows.tail))
    reasons = _reasons(own, rows.first)
    tail = columns_of(
        rows.tail,
        prices,
        beside,
        first=rows.first,
        start=rows.tail_start,
        known_before=between is None,
        masks=masks,
        reasons=own,
    )
    last_user = _last_user(rows, reasons, tail) if request.dialogue else None

    def floor_of(level: int) -> int:
        row = None if level in reasons else rows.at(level)
        return prices.floor(row, beside.get(level, ()), tail.live(level - rows.first))

    def parts_of(level: int) -> list[tuple[str, int]]:
        found = [(extra.local_id, prices.of_source(extra)) for extra in beside.get(level, ())]
        own = tail.live(level - rows.first) - sum(size for _, size in found)
        return [(rows.at(level).local_id, own), *found]

    if between is None:
        return Sketch(tail=tail, last_user=last_user, floor_of=floor_of, parts_of=parts_of), reasons
    own = left_out_of(rows.head, bound_of(rows.head))
    reasons |= _reasons(own, 0)
    head = columns_of(rows.head, prices, beside, masks=masks, reasons=own)
    sketch = Sketch(
        tail=tail, head=head, between=between, last_user=last_user, floor_of=floor_of, parts_of=parts_of
    )
    return sketch, reasons


def _reasons(own: Sequence[Reason | None], first: int) -> dict[int, Reason]:
    return {first + index: reason for index, reason in enumerate(own) if reason is not None}


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
        system=system.tokens,
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
    said = ", ".join(f"{count:,} {reason.value}" for reason, count in counted if count)
    return InvalidInputError(
        f"nothing is left to send ({said or 'the path is empty'})", hint="include a node, or say something"
    )
