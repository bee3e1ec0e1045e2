"""The whole of what a loom-aware agent is sent, in its order.

System prompt with addendum, and the library · memory · conversation with headings · loom
context · current turn. A dialogue's is laid out in layers, as any other agent's is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from weft.context.agent_view.loom_block import (
    LoomPlace,
    addendum,
    boundary,
    loom_context,
    tail_block,
    unmarked,
)
from weft.context.agent_view.loom_plan import LoomPlan, added_piece, with_pruned
from weft.context.agent_view.memory_block import MemoryContents, Showing, memory_block
from weft.context.agent_view.node_headings import (
    HeadingFacts,
    absolute_heading,
    escape_content,
    escape_look_alikes,
    heading,
)
from weft.context.assemble import INPUT, ContextRequest, Pending, plan_context
from weft.context.layers.blocks import render_tools
from weft.context.layers.envelope import Envelope
from weft.context.layers.items import ContextItem
from weft.context.layers.layered_context import context_of
from weft.context.layers.plan import plan_layers
from weft.context.layers.render import render_layers
from weft.context.layers.request import LayeredRequest
from weft.context.manifest import Manifest
from weft.context.render import digest_of, render_context
from weft.context.result import AssembledContext
from weft.context.rows import Candidate
from weft.context.settings import LoomLayout
from weft.context.tokens import JOINT
from weft.tree.agent import Permission
from weft.tree.content import Content, Text, spoken_text
from weft.tree.message import Message
from weft.tree.node import Role

_SAID, _ANSWERED = "said:", "answered:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One turn of a run that is going on: what the model said, and what its commands came to."""

    said: str
    """The model's text up to the cut, commands and all."""
    results: str
    numbers: tuple[int, ...] = ()
    """The handles of those results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoomAware:
    """What a loom-aware agent is told beside the conversation. Time is an argument."""

    permissions: frozenset[Permission]
    place: LoomPlace
    now: datetime
    facts: Mapping[str, HeadingFacts]
    """By node id, for every node of the outline."""
    memory: MemoryContents = field(default_factory=MemoryContents)
    exchanges: tuple[Exchange, ...] = ()
    """Of this run, so far."""
    asked: str = ""
    """What is asked of it in a document's tree, where that is no part of the text."""
    summaries: Mapping[str, str] = field(default_factory=dict[str, str])
    """By node id, for pruning."""
    showing: Showing = field(default_factory=Showing)
    notice: str = ""
    """What was pruned, and how to get it back."""


def loom_request(layered: LayeredRequest, loom: LoomAware) -> tuple[LayeredRequest, dict[str, Content]]:
    """The request of a loom-aware agent, and the contents of what in it is no node."""
    request = layered.context
    cached = request.preferences.loom_layout is LoomLayout.CACHE
    memory = memory_block(loom.memory, loom.showing)
    request, own = _with_run(request, loom.exchanges)
    rows = [*request.outline.head, *request.outline.tail]
    if cached:
        shown = [row for row in rows if row.left_out is None and row.tokens]
        facts = [loom.facts[row.id] for row in shown if row.id in loom.facts]
        tail = tail_block(loom.place, loom.permissions, memory=memory, facts=facts, now=loom.now)
    else:
        tail = loom_context(loom.place, loom.permissions)
    tail = f"{tail}\n{loom.notice}" if loom.notice else tail
    request = replace(
        request,
        preface=tail,
        headings=_headings(request, loom, rows, cached=cached),
        # A collaborator is a chat model: it is told where it is, in a document's tree too.
        buffer_system_context=True,
    )
    if not request.dialogue:
        changed = _behind_a_document(request, loom, memory="" if cached else memory)
        return replace(layered, context=changed), own
    tools = escape_look_alikes(render_tools(layered.tool_outputs))
    changed = replace(
        layered,
        context=replace(request, preface=JOINT.join(filter(None, [tools, tail]))),
        standing=replace(layered.standing, addendum=addendum(loom.permissions)),
        memory_block="" if cached else memory,
        run=len(own),
        unsettled=not cached,
        attached=[each._replace(item=_quiet(each.item)) for each in layered.attached],
        items=[_quiet(each) for each in layered.items],
        fresh={name: _quiet(each) for name, each in layered.fresh.items()},
        # They stand before the loom context, which stands before everything else of the turn.
        tool_outputs=(),
    )
    return changed, own


def _behind_a_document(request: ContextRequest, loom: LoomAware, *, memory: str) -> ContextRequest:
    """A document has no layers: all that is told of the tree stands behind it, with what is asked."""
    prompt = JOINT.join(filter(None, [request.system.agent.strip(), addendum(loom.permissions)]))
    return replace(
        request,
        system=replace(request.system, agent=prompt, memory=memory),
        preface=JOINT.join(filter(None, [request.preface, loom.asked.strip()])),
        budget=max(0, request.budget - _cost_after(request, loom.exchanges)),
    )


def _quiet(item: ContextItem) -> ContextItem:
    """An item whose text cannot pass for a heading or a block."""
    content = escape_look_alikes(item.content)
    return item if content == item.content else replace(item, item=replace(item.item, content=content))


def _cost_after(request: ContextRequest, exchanges: Sequence[Exchange]) -> int:
    """What the turns of a run cost that stand after a document."""
    of_text = request.estimator.of_text
    return sum(of_text(each.said) + of_text(each.results) for each in exchanges)


def _headings(
    request: ContextRequest, loom: LoomAware, rows: Sequence[Candidate], *, cached: bool
) -> dict[str, str]:
    known = [row for row in rows if row.id in loom.facts]
    if not request.dialogue:
        # An empty root is no text that a boundary could end.
        first = next((row.id for row in rows if row.left_out is None and row.tokens), None)
        return {row.id: boundary(first=row.id == first, model=loom.facts[row.id].model) for row in known}
    if cached:
        return {row.id: f"{absolute_heading(loom.facts[row.id])}\n" for row in known}
    return {row.id: f"{heading(loom.facts[row.id], loom.now)}\n" for row in known}


def _with_run(
    request: ContextRequest, exchanges: Sequence[Exchange]
) -> tuple[ContextRequest, dict[str, Content]]:
    """The turns of this run as levels after the path: the newest results are the current turn's input."""
    if not exchanges or not request.dialogue:
        return request, {}
    own: dict[str, Content] = {}
    rows = list(request.outline.tail)
    texts: list[tuple[str, str, str]] = []
    if request.pending.text.strip():
        texts.append((f"{_ANSWERED}0", "user", request.pending.text))
    for number, each in enumerate(exchanges, 1):
        texts += [
            (f"{_SAID}{number}", "assistant", each.said),
            (f"{_ANSWERED}{number}", "user", each.results),
        ]
    ruler = (rows or list(request.outline.head) or [_NOWHERE])[-1].ruler
    for name, role, text in texts:
        tokens = max(1, request.estimator.of_text(text)) if text.strip() else 0
        ruler += tokens
        own[name] = Text(text)
        rows.append(Candidate(name, INPUT if name == f"{_ANSWERED}0" else name, role, tokens, ruler))
    pending = Pending(sources=request.pending.sources, instructions=request.pending.instructions)
    return replace(request, outline=replace(request.outline, tail=rows), pending=pending), own


_NOWHERE = Candidate("", "", "user", 0, 0)


def plan_loom(layered: LayeredRequest, loom: LoomAware) -> LoomPlan:
    """A plan without any pruning."""
    changed, own = loom_request(layered, loom)
    if not changed.context.dialogue:
        after = turns_after(layered.context, loom.exchanges)
        return LoomPlan(plan=plan_context(changed.context), own=own, after=after)
    found = plan_layers(changed)
    return LoomPlan(plan=found.plan, layers=found, own=own)


def turns_after(request: ContextRequest, exchanges: Sequence[Exchange]) -> tuple[Message, ...]:
    """The turns of a run as messages of their own, behind a document."""
    if request.dialogue:
        return ()
    said = [
        (Message(Role.ASSISTANT, (Text(each.said),)), Message(Role.USER, (Text(each.results),)))
        for each in exchanges
    ]
    return tuple(message for pair in said for message in pair if message.text.strip())


def render_loom(found: LoomPlan, contents: Mapping[str, Content]) -> AssembledContext:
    """Write what was planned. Texts of nodes are made unable to pass for headings, blocks or boundaries."""
    if found.layers is not None:
        return context_of(found.layers, loom_envelope(found, contents))
    told: dict[str, Content] = {
        name: Text(escape_look_alikes(unmarked(spoken_text(content)))) for name, content in contents.items()
    }
    context = render_context(found.plan, {**told, **found.own})
    pieces = with_pruned(context.manifest.pieces, found)
    preface = found.plan.request.preface
    message = Message(Role.USER, (Text(JOINT.join(filter(None, [context.document, preface]))),))
    cost = found.plan.request.estimator.of_text(JOINT + preface)
    pieces.append(added_piece("loom context", cost, "after the document"))
    messages = (message, *found.after)
    if found.after:
        after = sum(map(found.plan.request.estimator.of_text, (each.text for each in found.after)))
        pieces.append(added_piece("run", after, "what was said and answered in this run"))
    facts = replace(context.manifest.facts, hash=digest_of(context.system, None, messages))
    manifest = Manifest(facts, pieces)
    return replace(context, manifest=manifest, messages=messages, document=None, tokens=manifest.tokens)


def loom_envelope(found: LoomPlan, contents: Mapping[str, Content]) -> Envelope:
    """The same of a dialogue, in layers. The input is as it was typed; all else is made unable to deceive."""
    told = {name: escape_content(content) for name, content in contents.items()}
    envelope = render_layers(found.laid_out, {**told, **found.own}, typed={**contents, **found.own})
    manifest = envelope.manifest
    return replace(envelope, manifest=Manifest(manifest.facts, with_pruned(manifest.pieces, found)))
