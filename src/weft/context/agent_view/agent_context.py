"""The whole of what a loom-aware agent is sent, in its order.

System prompt with addendum, and the library · memory · conversation with headings · loom
context · current turn. A dialogue's is laid out in layers, as any other agent's is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from weft.context.agent_view.loom_block import (
    HeadingFacts,
    LoomPlace,
    absolute_heading,
    addendum,
    boundary,
    escape_content,
    escape_look_alikes,
    heading,
    loom_context,
    tail_block,
    unmarked,
)
from weft.context.agent_view.operational_memory import MemoryContents, Showing, memory_block
from weft.context.items.blocks import render_tools
from weft.context.items.item_types import ContextItem
from weft.context.request import INPUT, ContextRequest, Pending
from weft.context.rows import Candidate, PathOutline
from weft.context.settings import LoomLayout
from weft.context.tokens import JOINT
from weft.tree.agent import Permission
from weft.tree.content import Content, Text, spoken_text
from weft.tree.message import Message
from weft.tree.node import Role

_SAID, _ANSWERED = "said:", "answered:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One turn of a run that is going on: the text of the model, and the results of its commands."""

    said: str
    """The model's text up to the cut, commands and all."""
    results: str
    numbers: tuple[int, ...] = ()
    """The handles of those results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoomAware:
    """What a loom-aware agent sees beside the conversation. Time is an argument."""

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


def with_run(request: ContextRequest, loom: LoomAware) -> ContextRequest:
    """The request with the turns of the agent's run so far.

    Texts are made unable to pass for headings, blocks or boundaries.
    """
    return replace(
        _with_exchanges(request, loom.exchanges),
        shown=escape_content if request.dialogue else _as_prose,
        shown_source=escape_content,
        attached=[each._replace(item=_quiet(each.item)) for each in request.attached],
        items=[_quiet(each) for each in request.items],
        fresh={name: _quiet(each) for name, each in request.fresh.items()},
    )


def with_surroundings(request: ContextRequest, loom: LoomAware, outline: PathOutline) -> ContextRequest:
    """The request with headings on the levels of its path, the agent's memory, and the tree around it."""
    cached = request.preferences.loom_layout is LoomLayout.CACHE
    memory = memory_block(loom.memory, loom.showing)
    rows = [*outline.head, *outline.tail]
    if cached:
        shown = [row for row in rows if row.left_out is None and row.tokens]
        facts = [loom.facts[row.id] for row in shown if row.id in loom.facts]
        tail = tail_block(loom.place, loom.permissions, memory=memory, facts=facts, now=loom.now)
    else:
        tail = loom_context(loom.place, loom.permissions)
    tail = f"{tail}\n{loom.notice}" if loom.notice else tail
    request = replace(request, headings=_headings(request, loom, rows, cached=cached))
    if not request.dialogue:
        return _behind_a_document(request, loom, tail, memory="" if cached else memory)
    tools = escape_look_alikes(render_tools(request.tool_outputs))
    return replace(
        request,
        # Outputs of tools come before the loom context, which comes before everything else of the turn.
        preface=JOINT.join(filter(None, [tools, tail])),
        tool_outputs=(),
        standing=replace(request.standing, addendum=addendum(loom.permissions)),
        memory_block="" if cached else memory,
        unsettled=not cached,
    )


def _as_prose(content: Content) -> Content:
    """The words of a node without anything that looks like a boundary, a heading or a block."""
    return Text(escape_look_alikes(unmarked(spoken_text(content))))


def _behind_a_document(request: ContextRequest, loom: LoomAware, tail: str, *, memory: str) -> ContextRequest:
    """A document has no layers: all about the tree follows it, with the question."""
    prompt = JOINT.join(filter(None, [request.system.agent.strip(), addendum(loom.permissions)]))
    return replace(
        request,
        system=replace(request.system, agent=prompt, memory=memory),
        preface=JOINT.join(filter(None, [tail, loom.asked.strip()])),
        budget=max(0, request.budget - _cost_after(request, loom.exchanges)),
        after=_turns_after(loom.exchanges),
    )


def _quiet(item: ContextItem) -> ContextItem:
    """An item whose text cannot pass for a heading or a block."""
    content = escape_look_alikes(item.content)
    return item if content == item.content else replace(item, item=replace(item.item, content=content))


def _cost_after(request: ContextRequest, exchanges: Sequence[Exchange]) -> int:
    """What the turns of a run after a document cost."""
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
    # The message of a tool has none.
    known = [row for row in known if row.role != Role.TOOL]
    if cached:
        return {row.id: f"{absolute_heading(loom.facts[row.id])}\n" for row in known}
    return {row.id: f"{heading(loom.facts[row.id], loom.now)}\n" for row in known}


def _with_exchanges(request: ContextRequest, exchanges: Sequence[Exchange]) -> ContextRequest:
    """The turns of this run as levels after the path: the newest results are the current turn's input."""
    if not exchanges or not request.dialogue:
        return request
    rows, own = list(request.outline.tail), dict(request.own)
    texts: list[tuple[str, str, str]] = []
    if request.pending.text.strip():
        texts.append((f"{_ANSWERED}0", "user", request.pending.text))
    for number, each in enumerate(exchanges, 1):
        texts += [
            (f"{_SAID}{number}", "assistant", each.said),
            (f"{_ANSWERED}{number}", "user", each.results),
        ]
    before = rows or request.outline.head
    ruler = before[-1].ruler if before else 0
    for name, role, text in texts:
        tokens = max(1, request.estimator.of_text(text)) if text.strip() else 0
        ruler += tokens
        own[name] = Text(text)
        rows.append(Candidate(name, INPUT if name == f"{_ANSWERED}0" else name, role, tokens, ruler))
    pending = Pending(sources=request.pending.sources, instructions=request.pending.instructions)
    outline = replace(request.outline, tail=rows)
    return replace(request, outline=outline, pending=pending, own=own, run=len(texts))


def _turns_after(exchanges: Sequence[Exchange]) -> tuple[Message, ...]:
    """The turns of a run as messages of their own, after a document."""
    said = [
        (Message(Role.ASSISTANT, (Text(each.said),)), Message(Role.USER, (Text(each.results),)))
        for each in exchanges
    ]
    return tuple(message for pair in said for message in pair if message.text.strip())
