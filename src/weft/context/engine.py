"""The one engine: from a place in a tree to exactly what a model will see, in ten stages.

    read → select → pair → lay out → mask → reduce history → fit → repair → render → check

The first seven plan, from light rows: they read no text of the path. The last three write, from the texts of
what is kept. Every request goes through all of them; what a stage does depends on the request. A plain dialogue
is laid out as it is. A layered one adds the items of its turns and a library. A loom-aware agent's adds headings,
its memory and the tree around it, and may have its history reduced. A document is rendered as one text.

`fit_messages` goes through the same stages with a list of messages: see `weft.context.messages`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from weft.context.agent_view.agent_context import with_run, with_surroundings
from weft.context.agent_view.history_reduction import pins_over_budget, reduce
from weft.context.checks import recent_over
from weft.context.document import with_item_sources, words_alone
from weft.context.fit import Strategy
from weft.context.kept_levels import join_levels, write_levels
from weft.context.layout import fit_inline, lay_out_layers, with_input, with_start
from weft.context.path_fit import fit_path, prices_of
from weft.context.plan import Plan
from weft.context.render import render_layers, render_plain, tokens_sent
from weft.context.request import ContextRequest
from weft.context.result import Context
from weft.context.tool_pairs import masked_outline, settled
from weft.errors import ContextLimitError
from weft.tree.content import Content

Contents: TypeAlias = Mapping[str, Content]
"""Contents of nodes by their ids."""


def assemble(request: ContextRequest, contents: Contents | Callable[[Plan], Contents]) -> Context:
    """Exactly what a model will see. `contents` has those of `plan.wanted`, or reads them.

    An exact count of the whole may exceed the sum of its parts by more than the seams allow for: then a little
    less is planned.
    """
    while True:
        plan = plan_context(request)
        context = write_context(plan, contents(plan) if callable(contents) else contents)
        if plan.excess <= 0:
            return context
        request = replace(request, held_back=request.held_back + plan.excess)


def plan_context(request: ContextRequest) -> Plan:
    """Decide what is kept, before any text of the path is read."""
    try:
        return _run(PLANNING, request)
    except ContextLimitError as error:
        raise pins_over_budget(request, plan_context) or error from None


def write_context(plan: Plan, contents: Contents) -> Context:
    """Write the request that was planned."""
    plan.contents = contents
    for stage in WRITING:
        plan = stage(plan)
    return plan.context


def read(plan: Plan) -> Plan:
    """The path as light rows: with the turns of a run that is going on, and the input as its newest level."""
    if plan.request.loom is not None:
        plan.request = with_run(plan.request, plan.request.loom)
    plan.outline = plan.request.outline
    if is_layered(plan.request):
        plan.outline = with_start(plan.outline)
    else:
        plan.outline = with_input(plan.request)
    return plan


def select(plan: Plan) -> Plan:
    """What may be sent at all. Exclusion is the reader's; a document has words alone, and its items are sources."""
    if not plan.request.dialogue:
        plan.request = with_item_sources(plan.request)
        plan.outline = plan.outline.changed(words_alone)
    return plan


def pair(plan: Plan) -> Plan:
    """Leave out tool calls and results that lost their other half."""
    if plan.request.dialogue:
        plan.outline = settled(plan.outline, plan.request.estimator)
    return plan


def lay_out(plan: Plan) -> Plan:
    """The system context, and what is before the words of each level."""
    if plan.request.loom is not None:
        plan.request = with_surroundings(plan.request, plan.request.loom, plan.outline)
    plan.prices = prices_of(plan.request, plan.outline)
    if is_layered(plan.request):
        lay_out_layers(plan)
    else:
        plan.system = plan.request.system_context
        plan.rows = plan.outline
    return plan


def mask(plan: Plan) -> Plan:
    """Old tool results become one line each."""
    if plan.request.masks is not None:
        plan.rows = masked_outline(plan.rows, plan.request.masks, plan.request.estimator)
    return plan


def reduce_history(plan: Plan) -> Plan:
    """What is too long for a loom-aware agent is reduced before anything is cut: older nodes to summaries."""
    asked, loom = plan.asked, plan.asked.loom
    if loom is None or asked.preferences.truncation_strategy is Strategy.STOP_AT_LIMIT:
        return plan
    if asked.masks is not None:
        # What is reduced is reduced from the masked path.
        outline = settled(asked.outline, asked.estimator)
        asked = replace(asked, outline=masked_outline(outline, asked.masks, asked.estimator))
    try:
        plan = fit(plan) if asked is plan.asked else _run(UNREDUCED, asked)
        if plan.whole:
            return plan
    except ContextLimitError:
        pass
    return reduce(asked, loom, lambda request: _run(UNREDUCED, request))


def fit(plan: Plan) -> Plan:
    """Cut what does not fit by the strategy; where the recent nodes do not fit, shorten them."""
    if plan.fit is not None:
        # Reducing the history fitted it already.
        return plan
    if plan.inline is None:
        fit_path(plan, plan.rows)
    else:
        fit_inline(plan, plan.inline)
    layout = plan.layout
    if layout is not None and layout.goes_on and layout.first_live not in plan.sent:
        plan.fit = None
        lay_out_layers(plan, turn_is_cut=True)
        return fit(mask(plan))
    return plan


def repair(plan: Plan) -> Plan:
    """The kept levels as messages that the strictest provider accepts."""
    plan.written = join_levels(plan, write_levels(plan, plan.contents))
    return plan


def render(plan: Plan) -> Plan:
    """The request itself, with its manifest."""
    if plan.layout is None:
        plan.context = render_plain(plan)
    else:
        plan.context = render_layers(plan, plan.layout, plan.contents)
    return plan


def check(plan: Plan) -> Plan:
    """The budget holds. Only an exact count of the whole may exceed it, and then less is planned."""
    context, estimator = plan.context, plan.request.estimator
    # Only where something had to be shortened can the last tokens of items and sources be in doubt.
    if plan.layout is not None and plan.cut.shortened and context.tokens > context.budget:
        raise recent_over(len(plan.kept), context.tokens, context.budget)
    plan.excess = tokens_sent(context) - plan.asked.budget if estimator.seam else 0
    return plan


Stage: TypeAlias = Callable[[Plan], Plan]
UNREDUCED: tuple[Stage, ...] = (read, select, pair, lay_out, mask, fit)
PLANNING: tuple[Stage, ...] = (read, select, pair, lay_out, mask, reduce_history, fit)
WRITING: tuple[Stage, ...] = (repair, render, check)


def is_layered(request: ContextRequest) -> bool:
    return request.dialogue and (request.layered or request.loom is not None)


def _run(stages: tuple[Stage, ...], request: ContextRequest) -> Plan:
    plan = Plan(request)
    for stage in stages:
        plan = stage(plan)
    return plan
