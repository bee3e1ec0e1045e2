"""From a plan and the texts that it asked for to the request itself."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from weft.context.assemble import INPUT, Plan, plan_context
from weft.context.buffer import document_of
from weft.context.dialogue import Composed, Part, compose, pair_up
from weft.context.manifest import Facts, Gap, Manifest
from weft.context.manifest_build import KeptLevel, RenderedSource, account_for, settings_of
from weft.context.reference import frame_tokens, reference_blocks
from weft.context.result import AssembledContext
from weft.context.select import Candidate, ExtraSource
from weft.context.sizes import shortened_content, tokens_of_content
from weft.context.tokens import Estimator
from weft.context.tool_pairs import without_unpaired
from weft.errors import InvalidInputError
from weft.tree.content import Block, Content, Text, blocks_of, spoken_text
from weft.tree.json import JsonValue
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role


def write_context(plan: Plan, read: Callable[[Plan], Mapping[str, Content]]) -> AssembledContext:
    """The request that was planned, within its budget for certain. `read` gets the contents of `plan.wanted`.

    An exact count of the whole may pass that of its parts by more than the seams allow for,
    if only with words made for it: then a little less is planned.
    """
    found = render_context(plan, read(plan))
    while plan.request.estimator.seam:
        over = measured(found, plan.request.estimator) - plan.request.budget
        if over <= 0:
            break
        plan = plan_context(replace(plan.request, held_back=plan.request.held_back + over))
        found = render_context(plan, read(plan))
    return found


def measured(context: AssembledContext, estimator: Estimator) -> int:
    """What a request costs as it is sent."""
    texts = [context.system, context.document or ""]
    tokens = sum(estimator.of_text(text) for text in texts if text)
    blocks = (block for message in context.messages for block in message.blocks)
    return tokens + sum(tokens_of_content(block, estimator) for block in blocks)


def render_context(plan: Plan, contents: Mapping[str, Content]) -> AssembledContext:
    """Write the request that was planned. `contents` has every id of `plan.wanted`."""
    rendering = _Rendering(plan, contents)
    levels = rendering.levels()
    marker = Part(Role.USER, (Text(plan.fit.marker),)) if plan.fit.marker else None
    preface = put_before_turn(plan, levels)
    composed = compose_levels(plan, levels, marker) if plan.request.dialogue else None
    messages = () if composed is None else composed.messages
    document = document_of(_in_order(plan, levels, marker)) if composed is None else None
    digest = digest_of(plan.system.text, document, messages)
    facts = Facts(budget=plan.request.budget, settings=settings_of(plan), hash=digest)
    pieces = account_for(plan, levels, composed, marker, preface)
    manifest = Manifest(facts, pieces)
    return AssembledContext(
        system=plan.system.text,
        messages=messages,
        document=document,
        manifest=manifest,
        tokens=manifest.tokens,
        budget=plan.request.budget,
        truncated=plan.fit.truncated,
        removed_nodes=plan.fit.removed,
        removed_tokens=sum(piece.size for piece in pieces if isinstance(piece, Gap)),
        shortened=tuple(_shortened(levels)),
        estimator=plan.request.estimator,
    )


def put_before_turn(plan: Plan, levels: Sequence[KeptLevel]) -> Part | None:
    """What is told at the end stands right before the words of this turn, or behind a model's last ones."""
    if not plan.request.preface or not plan.request.dialogue or not levels:
        return None
    preface = Part(Role.USER, (Text(plan.request.preface),))
    start = len(levels)
    while start and (levels[start - 1].row.role == "user" or not levels[start - 1].parts):
        start -= 1
    if start == 0:
        # Where the path is one person's alone, only their last words are this turn's, or those that brought
        # something along.
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

    def levels(self) -> list[KeptLevel]:
        return [self._level(number) for number in self.plan.kept]

    def _content(self, name: str) -> Content:
        if name == INPUT:
            return Text(self.plan.request.pending.text)
        try:
            return self.contents[name]
        except KeyError:
            raise InvalidInputError(f"the content of node {name} was not given") from None

    def _level(self, number: int) -> KeptLevel:
        plan, row = self.plan, self.plan.rows.at(number)
        level = KeptLevel(number, row)
        own = row.tokens
        if number in plan.beside or number in plan.fit.shortened:
            extras, own = plan.allowed(number)
            for extra, most in extras:
                self._refer(level, extra, most)
        if number not in plan.reasons:
            self._say(level, row, own)
        return level

    def _refer(self, level: KeptLevel, extra: ExtraSource, most: int) -> None:
        content, shortened = self._fitted(self._content(extra.id), extra.tokens, most)
        tokens = tokens_of_content(content, self.estimator) if shortened else extra.tokens
        part = Part(Role.USER, reference_blocks(extra.local_id, content))
        frame = frame_tokens(extra.local_id, self.estimator)
        level.parts.append(part)
        level.references.append(RenderedSource(extra, part, tokens + frame, shortened))

    def _say(self, level: KeptLevel, row: Candidate, most: int) -> None:
        content = self._content(row.id)
        if not self.plan.request.dialogue:
            content = Text(spoken_text(content))
        elif row.tools is not None:
            content = without_unpaired(content, row.tools)
        content, level.shortened = self._fitted(content, row.tokens, most)
        level.tokens = tokens_of_content(content, self.estimator) if level.shortened else row.tokens
        heading = self.plan.request.headings.get(row.id, "")
        level.parts.append(
            Part(speaker_of(row), _spoken(blocks_of(content)), row.author, level.number, heading)
        )

    def _fitted(self, content: Content, size: int, most: int) -> tuple[Content, bool]:
        if size <= most:
            return content, False
        # A document is gone on from where it ends.
        ending = not self.plan.request.dialogue
        return shortened_content(content, most, self.estimator, ending=ending), True


def compose_levels(plan: Plan, levels: Iterable[KeptLevel], marker: Part | None) -> Composed:
    """The messages that the parts of these levels become."""
    request = plan.request
    parts = pair_up(_in_order(plan, levels, marker))
    names = request.authors if request.preferences.name_authors else None
    found = compose(parts, names=names, prefill=request.profile.prefill)
    if not found.messages:
        raise InvalidInputError("nothing is left to send (only tool calls without results)")
    return found


def speaker_of(row: Candidate) -> Role:
    return Role(row.role) if row.role in {"assistant", "tool"} else Role.USER


def _shortened(levels: Iterable[KeptLevel]) -> Iterator[str]:
    """Ids of what had to give way for others, references too."""
    for level in levels:
        yield from (each.extra.local_id for each in level.references if each.shortened)
        if level.shortened:
            yield level.row.local_id


def _spoken(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Without texts of white space alone, which providers refuse."""
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
