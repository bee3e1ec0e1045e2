"""The account of a plan that nobody has rendered: enough to ask what other settings would drop."""

from weft.context.assemble import Plan
from weft.context.dialogue import Part, frame_tokens
from weft.context.manifest import Facts, Manifest
from weft.context.manifest_build import KeptLevel, RenderedSource, account_for, settings_of
from weft.context.render import compose_levels, put_before_turn, speaker_of
from weft.context.rows import Candidate
from weft.tree.content import Block, Text, ToolCall, ToolResult
from weft.tree.node import Role

_WORDS = Text("…")
"""Stands for words that nobody has read: who meets whom does not depend on them."""


def tells_all(plan: Plan) -> bool:
    """Whether the plan knows every size: what is shortened has to be written to be counted."""
    if plan.fit.shortened:
        return False
    capped = plan.prices.capped
    return not any(capped(extra) < extra.tokens for level in plan.kept for extra, _ in plan.allowed(level)[0])


def planned_manifest(plan: Plan) -> Manifest:
    """What a request made of the plan would say of itself."""
    levels = [_planned(plan, number) for number in plan.kept]
    marker = Part(Role.USER, (Text(plan.fit.marker),)) if plan.fit.marker else None
    preface = put_before_turn(plan, levels)
    composed = compose_levels(plan, levels, marker) if plan.request.dialogue else None
    facts = Facts(budget=plan.request.budget, settings=settings_of(plan))
    return Manifest(facts, account_for(plan, levels, composed, marker, preface))


def _planned(plan: Plan, number: int) -> KeptLevel:
    extras, own = plan.allowed(number)
    row = plan.rows.at(number)
    said = number not in plan.reasons
    level = KeptLevel(number, row, tokens=own, shortened=own < row.tokens and said)
    for extra, tokens in extras:
        frame = frame_tokens(extra.local_id, plan.request.estimator)
        part = Part(Role.USER, (_WORDS,))
        level.parts.append(part)
        level.references.append(RenderedSource(extra, part, tokens + frame, tokens < extra.tokens))
    if said:
        heading = plan.request.headings.get(row.id, "")
        level.parts.append(Part(speaker_of(row), _blocks(row), row.author, number, heading))
    return level


def _blocks(row: Candidate) -> tuple[Block, ...]:
    """What pairing and merging look at."""
    tools = row.tools
    if tools is None or not (tools.calls or tools.results):
        return (_WORDS,)
    if tools.content is not None:
        return tools.content.blocks
    calls = tuple(ToolCall(id=call, name="", arguments=None) for call in tools.calls)
    return (*calls, *(ToolResult(call_id=call, content="") for call in tools.results))
