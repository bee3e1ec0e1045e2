"""The kept levels of a path with their texts: sources, items, heading and own words, each within its room."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.context.dialogue import Composed, Part, compose, frame_tokens, pair_up, reference_blocks
from weft.context.items.library import Preface
from weft.context.plan import Plan
from weft.context.request import INPUT, ContextRequest
from weft.context.rows import Candidate, ExtraSource, shortened_content, tokens_of_content
from weft.context.tool_pairs import masked_content, without_unpaired
from weft.errors import InvalidInputError
from weft.tree.content import Block, Content, Mixed, Text, blocks_of, spoken_text
from weft.tree.message import Message
from weft.tree.node import Role

_SPEAKERS = {"assistant": Role.ASSISTANT, "tool": Role.TOOL}


@dataclass(slots=True)
class KeptSource:
    """A further source as it is sent."""

    extra: ExtraSource
    part: Part
    tokens: int
    """With its frame."""
    shortened: bool


@dataclass(slots=True)
class KeptLevel:
    """One kept level: its parts in the order in which they are sent."""

    number: int
    row: Candidate
    parts: list[Part] = field(default_factory=list[Part])
    tokens: int = 0
    """Of its own content, as it is sent."""
    shortened: bool = False
    sources: tuple[KeptSource, ...] = ()
    preface: Preface | None = None
    heading: int = 0
    """Tokens of a heading between the preface and the words."""
    content: Content | None = None
    """Its own content, with its preface."""

    @property
    def cut(self) -> bool:
        """True if its words or its items had to be shortened."""
        given = () if self.preface is None else self.preface.given
        return self.shortened or any(each.shown is not None for each in given)


class WrittenLevels(NamedTuple):
    """The kept levels, and the messages they become."""

    levels: Sequence[KeptLevel]
    composed: Composed | None
    """None in a document."""
    marker: Part | None
    preface: Part | None

    @property
    def messages(self) -> tuple[Message, ...]:
        return () if self.composed is None else self.composed.messages


def write_levels(plan: Plan, contents: Mapping[str, Content]) -> list[KeptLevel]:
    """Every kept level as it is sent; those that an earlier context wrote the same way are its."""
    known, write = plan.known, _LevelWriter(plan, contents).written
    return [known.get(number) or write(number) for number in plan.kept]


def join_levels(plan: Plan, levels: Sequence[KeptLevel]) -> WrittenLevels:
    """The levels as the messages that every provider accepts: tools in pairs, users and assistants in turn."""
    request = plan.request
    marker = Part(Role.USER, (Text(plan.cut.marker),)) if plan.cut.marker else None
    preface = _put_before_turn(plan, levels)
    if not request.dialogue:
        return WrittenLevels(levels, None, marker, preface)
    parts = parts_in_order(plan, levels, marker)
    if any(level.row.kind != "text" for level in levels):
        parts = pair_up(parts)
    names = request.authors if request.preferences.name_authors else None
    composed = compose(parts, names=names, prefill=request.profile.prefill)
    if not composed.messages:
        raise InvalidInputError("nothing is left to send (only tool calls without results)")
    return WrittenLevels(levels, composed, marker, preface)


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
        places = (index for index, level in enumerate(levels) if level.number == plan.turn_at)
        start = next(places, len(levels) - 1)
    if start < len(levels):
        levels[start].parts.insert(0, preface)
    else:
        levels[-1].parts.append(preface)
    return preface


def parts_in_order(plan: Plan, levels: Iterable[KeptLevel], marker: Part | None) -> list[Part]:
    """All parts, with the marker where something was left out."""
    if marker is None:
        return [part for level in levels for part in level.parts]
    parts: list[Part] = []
    for level in levels:
        if marker is not None and level.number >= plan.cut.head:
            parts.append(marker)
            marker = None
        parts += level.parts
    return parts


def shortened_ids(plan: Plan) -> tuple[str, ...]:
    """Ids of what had to be shortened, sources too; levels with items last."""
    if not (plan.cut.shortened or plan.beside or plan.prefaces):
        return ()
    ids: list[str] = []
    levels = plan.written.levels
    for level in levels:
        ids += [each.extra.local_id for each in level.sources if each.shortened]
        if level.shortened and not level.preface:
            ids.append(level.row.local_id)
    return (*ids, *(level.row.local_id for level in levels if level.cut and level.preface))


class _LevelWriter:
    def __init__(self, plan: Plan, contents: Mapping[str, Content]) -> None:
        self.plan = plan
        self.contents = contents
        self.request = plan.request
        self.estimator = plan.request.estimator
        self.special = plan.special
        self.memory = plan.rows.memory.levels if plan.is_reusable else None
        self.whole: Mapping[str, Content] = contents if plan.request.dialogue and plan.is_reusable else {}
        """What is sent as it is, where nothing is special."""

    def written(self, number: int) -> KeptLevel:
        """A level, kept for later contexts where they can take it as it is."""
        row = self.plan.rows.at(number)
        if number in self.special:
            return self.level(row, number)
        content = self.whole.get(row.id) if row.kind == "text" and row.tools is None else None
        if content is None:
            level = self.level(row, number)
        else:
            # Nearly all: the words of a node as they are.
            part = Part(_SPEAKERS.get(row.role, Role.USER), blocks_of(content), row.author, number)
            level = KeptLevel(number, row, [part], row.tokens, content=content)
        if self.memory is not None:
            self.memory[number] = level
        return level

    def level(self, row: Candidate, number: int) -> KeptLevel:
        plan = self.plan
        level = KeptLevel(number, row, preface=plan.prefaces.get(number))
        if number in plan.beside or number in plan.cut.shortened:
            extras, own = plan.allowed(number)
            for extra, most in extras:
                self._add_source(level, extra, most)
        else:
            own = row.tokens + row.before
        if number not in plan.reasons:
            self._add_words(level, row, own)
        return level

    def _add_source(self, level: KeptLevel, extra: ExtraSource, most: int) -> None:
        request = self.request
        content = content_of(request, extra.id, self.contents)
        if request.shown_source is not None and not extra.item:
            content = request.shown_source(content)
        content, shortened = self._fitted(content, extra.tokens, most)
        tokens = tokens_of_content(content, self.estimator) if shortened else extra.tokens
        part = Part(Role.USER, reference_blocks(extra, content))
        if request.dialogue:
            level.parts.append(part)
        level.sources += (KeptSource(extra, part, tokens + frame_tokens(extra, self.estimator), shortened),)

    def _add_words(self, level: KeptLevel, row: Candidate, most: int) -> None:
        content = shown_content_of(self.request, row.id, self.contents)
        if not self.request.dialogue:
            content = Text(spoken_text(content))
        elif row.tools is not None:
            content = masked_content(without_unpaired(content, row.tools), row.masks[: row.masked])
        heading = self.request.headings.get(row.id, "")
        if level.preface is not None:
            content = self._with_preface(level, content, most, heading)
            heading = ""
        else:
            content, level.shortened = self._fitted(content, row.tokens, most)
            level.tokens = tokens_of_content(content, self.estimator) if level.shortened else row.tokens
        level.content = content
        speaker = _SPEAKERS.get(row.role, Role.USER)
        level.parts.append(Part(speaker, _spoken(blocks_of(content)), row.author, level.number, heading))

    def _with_preface(self, level: KeptLevel, content: Content, most: int, heading: str) -> Content:
        """A level's words behind its items, both within their room."""
        row, preface, asked = level.row, level.preface, level.row.tokens > 0
        level.tokens = row.tokens
        if preface is not None and level.number in self.plan.cut.shortened:
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
        ending = not self.request.dialogue
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


def _spoken(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Without texts of white space alone, which providers refuse."""
    if len(blocks) == 1:
        return blocks
    spoken = tuple(block for block in blocks if not isinstance(block, Text) or block.text.strip())
    return spoken or blocks
