"""From a plan and the texts that it asked for to the request itself."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from weft.context.assemble import plan_context
from weft.context.dialogue import (
    Composed,
    Part,
    compose,
    frame_tokens,
    pair_up,
    reference_blocks,
)
from weft.context.document import document_of, references_of
from weft.context.envelope import Envelope
from weft.context.manifest import Facts, Manifest
from weft.context.manifest_build import KeptLevel, Rendered, RenderedSource, account_for, settings_of
from weft.context.request import INPUT, ContextRequest, Plan
from weft.context.result import AssembledContext
from weft.context.rows import Candidate, ExtraSource, shortened_content, tokens_of_content
from weft.context.tokens import JOINT, Estimator
from weft.context.tool_pairs import masked_content, without_unpaired
from weft.errors import InvalidInputError
from weft.tree.content import (
    Block,
    Content,
    Mixed,
    Text,
    blocks_of,
    spoken_text,
)
from weft.tree.json import JsonValue
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role

_SPEAKERS = {"assistant": Role.ASSISTANT, "tool": Role.TOOL}


def assemble(request: ContextRequest, contents: Mapping[str, Content]) -> AssembledContext:
    """Plan and render at once, where all contents are at hand."""
    return write_context(plan_context(request), lambda _: contents)


def write_context(plan: Plan, read: Callable[[Plan], Mapping[str, Content]]) -> AssembledContext:
    """The request that was planned, within its budget for certain. `read` gets the contents of `plan.wanted`.

    An exact count of the whole may pass that of its parts by more than the seams allow for:
    then a little less is planned.
    """
    found = render_context(plan, read(plan))
    while plan.request.estimator.seam:
        over = measured(found, plan.request.estimator) - plan.request.budget
        if over <= 0:
            break
        plan = plan_context(replace(plan.request, held_back=plan.request.held_back + over))
        found = render_context(plan, read(plan))
    return found


def measured(context: AssembledContext | Envelope, estimator: Estimator) -> int:
    """What a request costs as it is sent."""
    further = context.memory_block if isinstance(context, Envelope) else context.document
    texts = [context.system, further or ""]
    texts += [tool.json for tool in context.tools] if isinstance(context, Envelope) else []
    tokens = sum(estimator.of_text(text) for text in texts if text)
    if further and context.messages and not isinstance(context, Envelope):
        tokens += estimator.joint
    blocks = (block for message in context.messages for block in message.blocks)
    return tokens + sum(tokens_of_content(block, estimator) for block in blocks)


def render_context(plan: Plan, contents: Mapping[str, Content]) -> AssembledContext:
    """Write the request that was planned. `contents` has every id of `plan.wanted`."""
    rendered = render_levels(plan, contents)
    request, messages, document = plan.request, rendered.messages, None
    if rendered.composed is None:
        document = document_of(_in_order(plan, rendered.levels, rendered.marker))
        references = [each.part for level in rendered.levels for each in level.references]
        if request.preface:
            # A loom-aware agent is a chat model: all that it is told of the tree follows the document.
            text = JOINT.join(filter(None, [document, request.preface]))
            references.append(Part(Role.USER, (Text(text),)))
            document = None
        messages = (*references_of(references), *request.after)

    def facts() -> Facts:
        digest = digest_of(plan.system.text, document, messages)
        return Facts(budget=request.budget, settings=settings_of(plan), hash=digest)

    return AssembledContext(
        system=plan.system.text,
        messages=messages,
        document=document,
        manifest=Manifest(facts, lambda: account_for(plan, rendered)),
        budget=request.budget,
        truncated=plan.fit.truncated,
        removed_nodes=plan.removed_nodes,
        shortened=shortened_ids(plan, rendered.levels),
        masked=plan.masked,
        estimator=request.estimator,
        unsummarised=plan.unsummarised,
    )


def render_levels(plan: Plan, contents: Mapping[str, Content]) -> Rendered:
    """Every kept level as it is sent, and the messages they become."""
    known, write = plan.known, _Rendering(plan, contents).level
    levels = [known.get(number) or write(plan, number) for number in plan.kept]
    if plan.is_reusable:
        special = plan.special
        fresh = (level for level in levels if level.number not in known)
        plan.rows.rendered.update((level.number, level) for level in fresh if level.number not in special)
    marker = Part(Role.USER, (Text(plan.fit.marker),)) if plan.fit.marker else None
    preface = _put_before_turn(plan, levels)
    composed = _composed(plan, levels, marker) if plan.request.dialogue else None
    return Rendered(levels, composed, marker, preface)


def _put_before_turn(plan: Plan, levels: Sequence[KeptLevel]) -> Part | None:
    """The preface is right before the words of this turn, or after a model's last ones."""
    if not plan.request.preface or not plan.request.dialogue or not levels:
        return None
    preface = Part(Role.USER, (Text(plan.request.preface),))
    start = len(levels)
    while start and (levels[start - 1].row.role == "user" or not levels[start - 1].parts):
        start -= 1
    if start == 0:
        # Where one person wrote the whole path, only the last words are this turn's, or those with items.
        places = (index for index, level in enumerate(levels) if level.number == plan.request.turn_at)
        start = next(places, len(levels) - 1)
    if start < len(levels):
        levels[start].parts.insert(0, preface)
    else:
        levels[-1].parts.append(preface)
    return preface


def digest_of(system: str, document: str | None, messages: Iterable[Message]) -> str:
    """The SHA-256 by which what was sent is known again."""
    value: JsonValue = [system, document, [message_to_wire(message) for message in messages]]
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Rendering:
    def __init__(self, plan: Plan, contents: Mapping[str, Content]) -> None:
        self.plan = plan
        self.contents = contents
        self.estimator: Estimator = plan.request.estimator

    def level(self, plan: Plan, number: int) -> KeptLevel:
        row = plan.rows.at(number)
        level = KeptLevel(number, row, preface=plan.prefaces.get(number))
        if number in plan.beside or number in plan.fit.shortened:
            extras, own = plan.allowed(number)
            for extra, most in extras:
                self._refer(level, extra, most)
        else:
            own = row.tokens + row.before
        if number not in plan.reasons:
            self._say(level, row, own)
        return level

    def _refer(self, level: KeptLevel, extra: ExtraSource, most: int) -> None:
        request = self.plan.request
        content = content_of(request, extra.id, self.contents)
        if request.shown_source is not None and not extra.item:
            content = request.shown_source(content)
        content, shortened = self._fitted(content, extra.tokens, most)
        tokens = tokens_of_content(content, self.estimator) if shortened else extra.tokens
        part = Part(Role.USER, reference_blocks(extra, content))
        frame = frame_tokens(extra, self.estimator)
        if self.plan.request.dialogue:
            level.parts.append(part)
        level.references.append(RenderedSource(extra, part, tokens + frame, shortened))

    def _say(self, level: KeptLevel, row: Candidate, most: int) -> None:
        content = shown_content_of(self.plan.request, row.id, self.contents)
        if not self.plan.request.dialogue:
            content = Text(spoken_text(content))
        elif row.tools is not None:
            content = masked_content(without_unpaired(content, row.tools), row.masks[: row.masked])
        heading = self.plan.request.headings.get(row.id, "")
        if level.preface is not None:
            content = self._with_preface(level, content, most, heading)
            heading = ""
        else:
            content, level.shortened = self._fitted(content, row.tokens, most)
            level.tokens = tokens_of_content(content, self.estimator) if level.shortened else row.tokens
        level.content = content
        level.parts.append(
            Part(speaker_of(row), _spoken(blocks_of(content)), row.author, level.number, heading)
        )

    def _with_preface(self, level: KeptLevel, content: Content, most: int, heading: str) -> Content:
        """A level's words behind its items, both within their room."""
        row, preface, asked = level.row, level.preface, level.row.tokens > 0
        level.tokens = row.tokens
        if preface is not None and level.number in self.plan.fit.shortened:
            room = most - preface.floor(self.estimator, asked=asked)
            if row.tokens and row.tokens > room:
                content, level.shortened = shortened_content(content, room, self.estimator), True
                level.tokens = tokens_of_content(content, self.estimator)
            preface = preface.fitted(most - level.tokens, self.estimator, asked=asked)
        if heading:
            # It belongs to the words, and so follows all that comes before them.
            content = _headed(content, heading)
            level.heading = self.estimator.of_text(heading) + self.estimator.seam
        level.preface = preface
        return content if preface is None else preface.before(content)

    def _fitted(self, content: Content, size: int, most: int) -> tuple[Content, bool]:
        if size <= most:
            return content, False
        # A document is continued from its end.
        ending = not self.plan.request.dialogue
        return shortened_content(content, most, self.estimator, ending=ending), True


def content_of(request: ContextRequest, name: str, contents: Mapping[str, Content]) -> Content:
    """The content of a row as it is, of a node or of what is no node yet."""
    if name in request.own:
        return request.own[name]
    if name == INPUT:
        return Text(request.pending.text)
    try:
        return contents[name]
    except KeyError:
        raise InvalidInputError(f"the content of node {name} was not given") from None


def shown_content_of(request: ContextRequest, name: str, contents: Mapping[str, Content]) -> Content:
    """The content of a row as it is sent."""
    content = content_of(request, name, contents)
    if request.shown is None or name == INPUT or name in request.own:
        return content
    return request.shown(content)


def _headed(content: Content, heading: str) -> Content:
    first, *rest = blocks_of(content)
    if not isinstance(first, Text):
        return Mixed((Text(heading), first, *rest))
    first = Text(heading + first.text)
    return Mixed((first, *rest)) if rest else first


def _composed(plan: Plan, levels: Sequence[KeptLevel], marker: Part | None) -> Composed:
    """The messages that the parts of these levels become."""
    request = plan.request
    parts = _in_order(plan, levels, marker)
    if any(level.row.kind != "text" for level in levels):
        parts = pair_up(parts)
    names = request.authors if request.preferences.name_authors else None
    found = compose(parts, names=names, prefill=request.profile.prefill)
    if not found.messages:
        raise InvalidInputError("nothing is left to send (only tool calls without results)")
    return found


def speaker_of(row: Candidate) -> Role:
    return _SPEAKERS.get(row.role, Role.USER)


def shortened_ids(plan: Plan, levels: Sequence[KeptLevel]) -> tuple[str, ...]:
    """Ids of what had to be shortened, references too; levels with items last."""
    if not (plan.fit.shortened or plan.beside or plan.prefaces):
        return ()
    return (*_shortened(levels), *(level.row.local_id for level in levels if level.cut and level.preface))


def _shortened(levels: Iterable[KeptLevel]) -> Iterator[str]:
    for level in levels:
        yield from (each.extra.local_id for each in level.references if each.shortened)
        if level.shortened and not level.preface:
            yield level.row.local_id


def _spoken(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Without texts of white space alone, which providers refuse."""
    if len(blocks) == 1:
        return blocks
    found = tuple(block for block in blocks if not isinstance(block, Text) or block.text.strip())
    return found or blocks


def _in_order(plan: Plan, levels: Iterable[KeptLevel], marker: Part | None) -> list[Part]:
    """All parts, with the marker where something was left out."""
    parts: list[Part] = []
    for level in levels:
        if marker is not None and level.number >= plan.fit.head:
            parts.append(marker)
            marker = None
        parts += level.parts
    return parts
