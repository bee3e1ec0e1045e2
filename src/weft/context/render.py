"""From the kept levels to the request itself: the messages or the document, the layers, and the manifest."""

from collections.abc import Iterable, Mapping
from functools import cache

from weft.context.dialogue import Part
from weft.context.document import document_of, references_of
from weft.context.envelope import Envelope, Layer, Segment, canonical, sha256_of
from weft.context.instruction_places import place_instructions
from weft.context.items.blocks import has_nul
from weft.context.items.item_types import ContextItem, LayerId
from weft.context.items.library import Preface
from weft.context.kept_levels import (
    KeptLevel,
    content_of,
    parts_in_order,
    shortened_ids,
    shown_content_of,
)
from weft.context.manifest import Facts, Manifest
from weft.context.manifest_build import account_for, settings_of
from weft.context.plan import Plan
from weft.context.request import Layout
from weft.context.result import Context
from weft.context.rows import Reason, tokens_of_content
from weft.context.tokens import JOINT
from weft.tree.content import Content, Text, content_to_wire, spoken_text
from weft.tree.json import JsonValue
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role
from weft.tree.tool_spec import ToolSpec


def render_plain(plan: Plan) -> Context:
    """A dialogue as its messages, a document as one text."""
    request, written, system = plan.request, plan.written, plan.system.text
    messages, document = written.messages, None
    if not request.dialogue:
        document = document_of(parts_in_order(plan, written.levels, written.marker))
        references = [each.part for level in written.levels for each in level.sources]
        if request.preface:
            # A loom-aware agent is a chat model: all that it is told of the tree follows the document.
            text = JOINT.join(filter(None, [document, request.preface]))
            references.append(Part(Role.USER, (Text(text),)))
            document = None
        messages = (*references_of(references), *request.after)

    def facts() -> Facts:
        digest = digest_of(system, document, messages)
        return Facts(budget=request.budget, settings=settings_of(plan), hash=digest)

    return Context(
        system=system,
        messages=messages,
        document=document,
        manifest=Manifest(facts, lambda: account_for(plan)),
        budget=request.budget,
        truncated=plan.cut.truncated,
        removed_nodes=plan.removed_nodes,
        shortened=shortened_ids(plan),
        masked=plan.masked,
        estimator=request.estimator,
        unsummarised=plan.unsummarised,
    )


def digest_of(
    system: str, further: str | None, messages: Iterable[Message], tools: Iterable[ToolSpec] = ()
) -> str:
    """The SHA-256 by which what was sent is known again. `further` is the document, or the memory block."""
    wire = [message_to_wire(message) for message in messages]
    return sha256_of(canonical([system, further, wire, *(tool.to_wire() for tool in tools)]))


def tokens_sent(context: Context) -> int:
    """What a request costs as it is sent, counted from its texts."""
    estimator, envelope = context.estimator, context.envelope
    system = context.system if envelope is None else envelope.system
    further = context.document if envelope is None else envelope.memory_block
    tools = () if envelope is None else envelope.tools
    tokens = sum(
        estimator.of_text(text) for text in (system, further, *(tool.json for tool in tools)) if text
    )
    if context.document and context.messages:
        tokens += estimator.joint
    blocks = (block for message in context.messages for block in message.blocks)
    return tokens + sum(tokens_of_content(block, estimator) for block in blocks)


def render_layers(plan: Plan, layout: Layout, contents: Mapping[str, Content]) -> Context:
    """A dialogue in its layers: the envelope, and the same as messages."""
    layout, placed = place_instructions(plan, layout)
    plan.layout = layout
    request, system, written = plan.request, layout.system, plan.written
    messages = _summarised(placed, system.summary)
    levels: dict[int, KeptLevel] = {}
    if plan.prefaces:
        levels = {level.number: level for level in written.levels if level.preface is not None}
    history, rest = _history(layout, messages, _current(plan, layout, levels, contents))
    typed = _typed(plan, layout, contents)

    @cache
    def layers() -> tuple[Layer, ...]:
        stable = not request.unsettled
        spoken = [
            _message_segment(str(index), each, stable=stable) for index, each in enumerate(messages[:history])
        ]
        if rest:
            spoken.append(Segment(str(history), rest, stable, {"role": "user", "merged": True}))
        return _layers(plan, layout, levels, spoken, typed)

    def facts() -> Facts:
        digest = digest_of(system.text, system.memory, messages, request.tools)
        return Facts(budget=request.budget, settings=settings_of(plan), hash=digest)

    prefaces = [level.preface for level in levels.values() if level.preface is not None]
    envelope = Envelope(
        conversation_id=request.conversation_id,
        message_id=request.message_id,
        make_layers=layers,
        system_blocks=tuple(filter(None, (system.standing.text, system.library, system.descriptions))),
        memory_block=system.memory,
        messages=messages,
        history=history,
        tools=request.tools,
        additional=JOINT.join(text for each in prefaces for text in (each.tools, each.loom) if text),
        manifest=Manifest(facts, lambda: account_for(plan, layers())),
        budget=request.budget,
        truncated=plan.cut.truncated or bool(layout.stripped),
        shortened=shortened_ids(plan),
        warnings=tuple(dict.fromkeys([*_warnings(plan, layout), *request.warnings])),
        estimator=request.estimator,
    )
    return Context(
        system=JOINT.join(filter(None, (envelope.system, envelope.memory_block))),
        messages=envelope.messages,
        document=None,
        manifest=envelope.manifest,
        budget=envelope.budget,
        truncated=envelope.truncated,
        removed_nodes=plan.removed_nodes,
        shortened=envelope.shortened,
        masked=plan.masked,
        warnings=envelope.warnings,
        estimator=envelope.estimator,
        envelope=envelope,
        turn=plan.turn,
        unsummarised=plan.unsummarised,
    )


def _summarised(messages: tuple[Message, ...], summary: str) -> tuple[Message, ...]:
    """A request starts with a user message; the summary is its very beginning."""
    if not summary:
        return messages
    first, *rest = messages
    if first.blocks and isinstance(first.blocks[0], Text):
        blocks = (Text(f"{summary}{JOINT}{first.blocks[0].text}"), *first.blocks[1:])
    else:
        blocks = (Text(summary), *first.blocks)
    return (Message(first.role, blocks), *rest)


def _current(
    plan: Plan, layout: Layout, levels: Mapping[int, KeptLevel], contents: Mapping[str, Content]
) -> str:
    """The levels of the current turn as they are sent, with what is before them."""
    request = plan.request
    texts = [request.preface] if request.preface else []
    for number, row in layout.input_rows:
        written = levels[number].content if number in levels else None
        if written is not None:
            texts.append(spoken_text(written))
        elif row.tokens:
            own = shown_content_of(request, row.id, contents)
            texts.append(request.headings.get(row.id, "") + spoken_text(own))
    return JOINT.join(texts)


def _typed(plan: Plan, layout: Layout, contents: Mapping[str, Content]) -> str:
    """L5: the current input, as typed."""
    own = [content_of(plan.request, row.id, contents) for _, row in layout.input_rows if row.tokens]
    return JOINT.join(spoken_text(content) for content in own)


def _history(layout: Layout, messages: tuple[Message, ...], current: str) -> tuple[int, str]:
    """How many messages are L4, and what of the last one is, where a neighbour was merged into it."""
    last = len(messages) - 1
    if layout.exchange or (messages and messages[-1].role is Role.SYSTEM):
        # What tools were asked and gave, and an instruction, come after the turn's own message.
        while last >= 0 and (messages[last].role is not Role.USER or messages[last].results):
            last -= 1
    if last < 0 or messages[last].role is not Role.USER:
        return len(messages), ""
    text = messages[last].text
    if layout.first_live is not None and current and text.endswith(current):
        return last, text[: len(text) - len(current)].strip("\n")
    return last, ""


def _layers(
    plan: Plan,
    layout: Layout,
    levels: Mapping[int, KeptLevel],
    spoken: list[Segment],
    typed: str,
) -> tuple[Layer, ...]:
    request, system = plan.request, layout.system
    segments = {
        LayerId.SYSTEM: [Segment(name, text, stable=True) for name, text in system.standing.segments],
        LayerId.LIBRARY: [
            Segment(
                each.id, text, True, _about(each.item) | {"revision": each.revision, "form": each.form.value}
            )
            for each, text in zip(system.held, system.texts, strict=True)
        ],
        LayerId.TURN: [
            segment
            for number, level in levels.items()
            if number >= layout.turn and level.preface is not None
            for segment in _turn_segments(level.preface)
        ],
        LayerId.HISTORY: spoken,
        LayerId.USER: [Segment(request.message_id or "input", typed, stable=False)] if typed else [],
    }
    of_text = request.estimator.of_text
    return tuple(
        Layer(name, tuple(each), sum(of_text(segment.content) for segment in each))
        for name, each in segments.items()
    )


def _about(item: ContextItem) -> dict[str, JsonValue]:
    return {"type": item.type, "sha256": item.sha256, "recoverable": item.recoverable}


def _turn_segments(preface: Preface) -> list[Segment]:
    inline: dict[str, JsonValue] = {"inline": True} if preface.inline else {}
    segments: list[Segment] = []
    for each in preface.references:
        about = _about(each.item) | {"outcome": "referenced", "revision": each.revision} | inline
        segments.append(Segment(each.item.id, each.line, False, about))
    for each in preface.given:
        outcome = "kept" if each.shown is None else "shortened"
        about = _about(each.item) | {"outcome": outcome, "revision": each.revision}
        segments.append(Segment(each.item.id, each.render(), False, about))
    return segments


def _message_segment(name: str, message: Message, *, stable: bool) -> Segment:
    """A message as text; one that is more than text as its blocks."""
    about: dict[str, JsonValue] = {"role": message.role.value}
    if len(message.blocks) == 1 and isinstance(message.blocks[0], Text):
        return Segment(name, message.text, stable, about)
    blocks = canonical([content_to_wire(block) for block in message.blocks])
    return Segment(name, blocks, stable, about | {"blocks": True})


def _warnings(plan: Plan, layout: Layout) -> list[str]:
    request = plan.request
    warnings = [
        f"{each.item.id} contains NUL characters, which are shown as �"
        for each in {each.item.id: each for each in layout.attached}.values()
        if has_nul(each.item.content)
    ]
    reasons = {each.item.id: each.left_out for each in layout.attached}
    for name, reason in reasons.items():
        if reason is Reason.UNREAD:
            warnings.append(f"{name} is omitted: {reason.value}")
        elif reason is Reason.DELETED:
            warnings.append(f"{name} is skipped: it was deleted")
        elif reason is None and name in request.deleted:
            warnings.append(f"{name} was deleted: it is shown as it was last read")
    if has_nul(request.pending.text):
        warnings.append("the input contains NUL characters, which are sent as they are")
    if request.strip is not None and request.strip.summary.strip() and not layout.stripped:
        warnings.append("there is nothing for the summary to stand for, so all turns are sent")
    return warnings
