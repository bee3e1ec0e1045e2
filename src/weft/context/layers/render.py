"""From a plan of layers and the texts that it asked for to the envelope."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from weft.context.assemble import Plan
from weft.context.checks import recent_over
from weft.context.layers.envelope import Envelope, Layer, Segment, canonical, sha256_of
from weft.context.layers.items import ContextItem, LayerId
from weft.context.layers.layer_manifest import account_for
from weft.context.layers.plan import LayerPlan, beside_words, plan_layers
from weft.context.layers.request import LayeredRequest
from weft.context.layers.turn_items import Preface
from weft.context.manifest import Facts, Manifest
from weft.context.render import render_context
from weft.context.result import AssembledContext
from weft.context.rows import Candidate, PathOutline, shortened_content, tokens_of_content
from weft.context.tokens import JOINT
from weft.errors import InvalidInputError
from weft.tree.content import Content, Mixed, Text, blocks_of, content_to_wire, spoken_text
from weft.tree.json import JsonValue
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role


def assemble_layers(request: LayeredRequest, contents: Mapping[str, Content]) -> Envelope:
    """Plan and render at once, where all contents are at hand."""
    return render_layers(plan_layers(request), contents)


def render_layers(
    plan: LayerPlan, contents: Mapping[str, Content], *, typed: Mapping[str, Content] | None = None
) -> Envelope:
    """Write the envelope that was planned. `contents` has every id of `plan.wanted` and of `plan.turn`.

    `typed` has those of the turn as they are, where `contents` shows them otherwise.
    """
    written = _written(plan, contents)
    context = render_context(_as_written(plan, written), {**contents, **_contents(plan, written)})
    messages = _summarised(context.messages, plan.system.summary)
    history, rest = _history(plan, messages, _current(plan, written, contents))
    words = _typed(plan, contents if typed is None else typed)
    layers = _layers(plan, written, messages[:history], rest, words)
    facts = Facts(
        budget=context.budget,
        settings=dict(context.manifest.facts.settings) | _settings(plan),
        hash=sha256_of(
            canonical([plan.system.text, plan.system.memory, [message_to_wire(each) for each in messages]])
        ),
    )
    prefaces = {level: each.preface for level, each in written.items()}
    sizes = {level: (each.words, each.shortened) for level, each in written.items()}
    envelope = Envelope(
        conversation_id=plan.request.conversation_id,
        message_id=plan.request.message_id,
        layers=layers,
        system_blocks=tuple(
            text
            for text in (plan.system.standing.text, plan.system.library, plan.system.descriptions)
            if text
        ),
        memory_block=plan.system.memory,
        messages=messages,
        history=history,
        additional=JOINT.join(
            text for each in written.values() for text in (each.preface.tools, each.preface.loom) if text
        ),
        manifest=Manifest(facts, lambda: account_for(plan, context.manifest.pieces, layers, prefaces, sizes)),
        budget=context.budget,
        truncated=context.truncated or bool(plan.path.stripped),
        shortened=_shortened(plan, context, written),
        warnings=plan.warnings,
        estimator=plan.request.context.estimator,
    )
    # Only where something had to be shortened can the last tokens of items and sources be in doubt.
    if plan.plan.fit.shortened and envelope.tokens > envelope.budget:
        raise recent_over(len(plan.plan.kept), envelope.tokens, envelope.budget)
    return envelope


@dataclass(frozen=True, slots=True)
class _Written:
    """A level with what stands before it, as it is sent."""

    content: Content
    preface: Preface
    words: int
    """Tokens of its own words."""
    shortened: bool
    tokens: int


def _own(plan: LayerPlan, row: Candidate, contents: Mapping[str, Content]) -> Content | None:
    if row.id == plan.path.input_id:
        return Text(plan.path.input_text) if plan.path.input_text else None
    try:
        return contents[row.id]
    except KeyError:
        raise InvalidInputError(f"the content of node {row.id} was not given") from None


def _written(plan: LayerPlan, contents: Mapping[str, Content]) -> dict[int, _Written]:
    estimator = plan.request.context.estimator
    rows = plan.path.rows
    found: dict[int, _Written] = {}
    for level, preface in plan.prefaces.items():
        row = rows[level]
        own = _own(plan, row, contents)
        words, asked, shortened = row.tokens, row.tokens > 0, False
        most = plan.shortened.get(level)
        if most is not None:
            room = most - beside_words(plan.plan, level - plan.path.offset)
            floor = preface.floor(estimator, asked=asked)
            shortened = words > room - floor and own is not None
            if shortened and own is not None:
                own = shortened_content(own, room - floor, estimator)
                words = tokens_of_content(own, estimator)
            preface = preface.fitted(room - words, estimator, asked=asked)  # noqa: PLW2901 - the same one, smaller
        cost = preface.costs(estimator, asked=asked).total
        heading = plan.request.context.headings.get(row.id, "")
        if heading and own is not None:
            # It belongs to the words, and so stands behind all that comes before them.
            own = _headed(own, heading)
            cost += estimator.of_text(heading) + estimator.seam
        found[level] = _Written(preface.before(own), preface, words, shortened, words + cost)
    return found


def _headed(content: Content, heading: str) -> Content:
    first, *rest = blocks_of(content)
    if not isinstance(first, Text):
        return Mixed((Text(heading), first, *rest))
    first = Text(heading + first.text)
    return Mixed((first, *rest)) if rest else first


def _as_written(plan: LayerPlan, written: Mapping[int, _Written]) -> Plan:
    """The engine's plan with levels at the sizes they have now, so that nothing is left for it to shorten."""
    offset, rows = plan.path.offset, plan.plan.rows

    def sized(level: int, row: Candidate) -> Candidate:
        found = written.get(offset + level)
        return row if found is None else row._replace(tokens=found.tokens)

    outline = PathOutline(
        head=[sized(index, row) for index, row in enumerate(rows.head)],
        between=rows.between,
        tail=[sized(rows.first + index, row) for index, row in enumerate(rows.tail)],
    )
    shortened = {
        level: most for level, most in plan.plan.fit.shortened.items() if offset + level not in written
    }
    request = plan.plan.request
    if request.headings:
        headed = {plan.path.rows[level].id for level in written}
        headings = {name: said for name, said in request.headings.items() if name not in headed}
        request = replace(request, headings=headings)
    return replace(plan.plan, request=request, rows=outline, fit=plan.plan.fit._replace(shortened=shortened))


def _contents(plan: LayerPlan, written: Mapping[int, _Written]) -> dict[str, Content]:
    rows = plan.path.rows
    found: dict[str, Content] = {rows[level].id: each.content for level, each in written.items()}
    if plan.path.input_id not in found:
        found[plan.path.input_id] = Text(plan.path.input_text)
    return found


def _summarised(messages: tuple[Message, ...], summary: str) -> tuple[Message, ...]:
    """A request starts with a user message; the summary stands at its very beginning."""
    if not summary:
        return messages
    first, *rest = messages
    if first.blocks and isinstance(first.blocks[0], Text):
        blocks = (Text(f"{summary}{JOINT}{first.blocks[0].text}"), *first.blocks[1:])
    else:
        blocks = (Text(summary), *first.blocks)
    return (Message(first.role, blocks), *rest)


def _current(plan: LayerPlan, written: Mapping[int, _Written], contents: Mapping[str, Content]) -> str:
    """The levels of the current turn as they are sent, with what is told before them."""
    request = plan.plan.request
    found = [request.preface] if request.preface else []
    for level, row in plan.path.rows.items():
        if level < plan.path.spoken or row.left_out is not None:
            continue
        if level in written:
            found.append(spoken_text(written[level].content))
        elif row.tokens:
            own = _own(plan, row, contents)
            found.append(request.headings.get(row.id, "") + ("" if own is None else spoken_text(own)))
    return JOINT.join(found)


def _typed(plan: LayerPlan, contents: Mapping[str, Content]) -> str:
    """L5: the current input, as typed."""
    texts = [
        spoken_text(own)
        for level, row in plan.path.rows.items()
        if level >= plan.path.spoken and row.left_out is None and row.tokens
        if (own := _own(plan, row, contents)) is not None
    ]
    return JOINT.join(texts)


def _history(plan: LayerPlan, messages: tuple[Message, ...], current: str) -> tuple[int, str]:
    """How many messages are L4, and what of the last one is, where a neighbour was merged into it."""
    if not messages or messages[-1].role is not Role.USER:
        return len(messages), ""
    if plan.path.first_live is None:
        return len(messages) - 1, ""
    text = messages[-1].text
    if current and text.endswith(current):
        return len(messages) - 1, text[: len(text) - len(current)].strip("\n")
    return len(messages) - 1, ""


def _layers(
    plan: LayerPlan, written: Mapping[int, _Written], history: tuple[Message, ...], rest: str, typed: str
) -> tuple[Layer, ...]:
    of_text = plan.request.context.estimator.of_text
    standing = [Segment(name, text, stable=True) for name, text in plan.system.standing.segments]
    held = [
        Segment(each.id, text, True, _about(each.item) | {"revision": each.revision, "form": each.form.value})
        for each, text in zip(plan.system.held, plan.system.texts, strict=True)
    ]
    turn = [
        segment
        for level, each in written.items()
        if level >= plan.path.turn
        for segment in _turn_segments(each.preface)
    ]
    settled = not plan.request.unsettled
    spoken = [_message_segment(str(index), each, stable=settled) for index, each in enumerate(history)]
    if rest:
        spoken.append(Segment(str(len(spoken)), rest, settled, {"role": "user", "merged": True}))
    user = [Segment(plan.request.message_id or "input", typed, stable=False)] if typed else []
    return tuple(
        Layer(layer, tuple(segments), sum(of_text(segment.content) for segment in segments))
        for layer, segments in (
            (LayerId.SYSTEM, standing),
            (LayerId.LIBRARY, held),
            (LayerId.TURN, turn),
            (LayerId.HISTORY, spoken),
            (LayerId.USER, user),
        )
    )


def _about(item: ContextItem) -> dict[str, JsonValue]:
    return {"type": item.type, "sha256": item.sha256, "recoverable": item.recoverable}


def _turn_segments(preface: Preface) -> list[Segment]:
    found = [
        Segment(
            each.item.id,
            each.line,
            False,
            _about(each.item)
            | {"outcome": "referenced", "revision": each.revision}
            | ({"inline": True} if preface.inline else {}),
        )
        for each in preface.references
    ]
    return found + [
        Segment(
            each.item.id,
            each.render(),
            False,
            _about(each.item)
            | {"outcome": "kept" if each.most is None else "shortened", "revision": each.revision},
        )
        for each in preface.given
    ]


def _message_segment(name: str, message: Message, *, stable: bool) -> Segment:
    """A message as text; one that is more than text as its blocks."""
    about: dict[str, JsonValue] = {"role": message.role.value}
    if len(message.blocks) == 1 and isinstance(message.blocks[0], Text):
        return Segment(name, message.text, stable, about)
    blocks = canonical([content_to_wire(block) for block in message.blocks])
    return Segment(name, blocks, stable, about | {"blocks": True})


def _settings(plan: LayerPlan) -> dict[str, JsonValue]:
    settings = plan.request.settings
    return {
        "library": settings.library.value,
        "changed": settings.changed.value,
        "libraryShare": settings.library_share,
    }


def _shortened(
    plan: LayerPlan, context: AssembledContext, written: Mapping[int, _Written]
) -> tuple[str, ...]:
    rows = plan.path.rows
    cut = [
        rows[level].local_id
        for level, each in written.items()
        if each.shortened or any(given.most is not None for given in each.preface.given)
    ]
    return (*context.shortened, *cut)
