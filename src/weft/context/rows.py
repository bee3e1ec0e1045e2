"""Which levels of a path are candidates at all, what each would cost, and why the others are not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import accumulate
from operator import is_
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from weft.context.columns import Columns, SkippedRange
from weft.context.masking import Mask, MaskRule, ToolResults
from weft.context.shorten import least_tokens, shorten_texts
from weft.context.tokens import Estimator
from weft.tree.content import Audio, Block, Content, Image, Mixed, Text, ToolResult, blocks_of, sent_text
from weft.tree.edge import SourceRole
from weft.tree.measure import MEDIA_TOKENS
from weft.tree.node import Metadata

if TYPE_CHECKING:
    from weft.context.kept_levels import KeptLevel

SPOKEN = frozenset({"text", "mixed"})
"""Kinds that may have words for a document."""
_WORDS = frozenset({"text", "tool_result"})
_CALLING = frozenset({"tool_call", "mixed"})
_TEXT = frozenset({"text"})


class Reason(StrEnum):
    """Why a node is left out."""

    EXCLUDED = "excluded"
    PRUNED = "pruned"
    HIDDEN = "hidden"
    ANNOTATION = "annotation"
    EMPTY = "empty"
    TOOL_GROUP = "its tool call or result is left out"
    UNPAIRED = "a tool call without its result, or a result without its call or with a newer one"
    IN_SYSTEM = "part of the system context"
    NO_WORDS = "no words, and a document is words"
    COLLAPSED = "in a folded range"
    WITH_MESSAGE = "its message is left out"
    DELETED = "its source was deleted"
    UNREAD = "its page was not read"


_OWN = frozenset({None, Reason.UNPAIRED})
_IS_SAID = partial(is_, None)
_GONE = frozenset({Reason.EXCLUDED, Reason.PRUNED, Reason.HIDDEN, Reason.ANNOTATION})

Annotations: TypeAlias = bool | frozenset[str]
"""True includes all annotations, a set those with these ids."""


def reason_to_leave_out(
    metadata: Metadata, *, annotation: bool, node: str, annotations: Annotations = False
) -> Reason | None:
    """The rule of exclusion, for nodes of a path and for sources alike."""
    if metadata.excluded:
        return Reason.EXCLUDED
    if metadata.pruned:
        return Reason.PRUNED
    if metadata.hidden:
        return Reason.HIDDEN
    wanted = annotations if isinstance(annotations, bool) else node in annotations
    return Reason.ANNOTATION if annotation and not wanted else None


class ExtraSource(NamedTuple):
    """A source that is not on the path: context, or a further primary of a merge."""

    id: str
    local_id: str
    role: SourceRole
    tokens: int
    kind: str = "text"
    left_out: Reason | None = None
    least: int | None = None
    """As a candidate's."""
    item: bool = False
    """An attachment of a document, not a node."""


class Instead(NamedTuple):
    """A placeholder in a node's place: it speaks for a whole folded range."""

    group: str
    tokens: int
    """What the node's own words would cost."""


class ToolTraffic(NamedTuple):
    """The tool traffic of one level: calls it makes, results it holds, by the calls' ids."""

    calls: tuple[str, ...]
    results: tuple[str, ...]
    content: Mixed | None = None
    """All of it, where words or media stand beside the traffic: they are sent without it, too."""
    names: tuple[str, ...] = ()
    """Of the tools that are called."""


class Candidate(NamedTuple):
    """One level of a path as planning reads it, without its text."""

    id: str
    local_id: str
    role: str
    tokens: int
    ruler: int
    """The node's own: where it ends."""
    kind: str = "text"
    author: str = ""
    left_out: Reason | None = None
    sources: tuple[ExtraSource, ...] = ()
    """Of the edge into this node: before its own message if a person wrote it, else before what it answers."""
    notes: tuple[ExtraSource, ...] = ()
    """The annotations on this node: where they are wanted, they stand before its message."""
    least: int | None = None
    """What shortening can bring it down to; None: hardly anything if it is words, all of it if anything else."""
    asks: bool | None = None
    """Whether it calls tools; None: as its kind says, and anything mixed by an assistant may."""
    answers: bool | None = None
    """Whether it holds results of tools; None: as its kind says, and anything mixed by others may."""
    instead: "Instead | None" = None
    """Where its words are not its own: what they stand for."""
    tools: ToolTraffic | None = None
    """Its tool traffic; None: there is none, or nobody looked, and then it is taken to be whole."""
    unpaired: int = 0
    """Tokens of calls and results beside its words that lost their other half, and are not sent."""
    before: int = 0
    """Tokens of what is said before its own words: items, references, outputs of tools."""
    before_least: int = 0
    """What shortening can bring those down to."""
    masks: tuple[Mask, ...] = ()
    """Its tool results as lines, in their order."""
    masked: int = 0
    """How many of those results are sent as lines, from the first on."""

    @property
    def hidden(self) -> int:
        """Tokens that masking saves."""
        return sum(mask.saved for mask in self.masks[: self.masked]) if self.masked else 0


class WordRows(list[Candidate]):
    """Levels that are known to be the words of one node each, which are said: nothing is beside or left out.

    No stage has to look through them. What a stage makes of them is an ordinary list again.
    """

    __slots__ = ()


class KnownCosts(NamedTuple):
    """What levels cost that have nothing beside them and no part of a tool group: it stays so while a path grows."""

    rows: Sequence[Candidate]
    reasons: list[Reason | None]
    costs: list[int]
    spoken: str | None
    """Whose words the last ones were that count."""

    def place_of(self, rows: Sequence[Candidate]) -> int | None:
        """Where these rows begin among the known ones, if they go on with them."""
        first = rows[0] if rows else None
        if first is None or first.kind != "text" or first.role == "tool":
            return None
        start = next((index for index, row in enumerate(self.rows) if row is first), None)
        if start is None or self.reasons[start] is not None:
            return None
        known = self.rows[start:]
        # With the last one's words the known part ends: what follows cannot be bound to it.
        ended = known[-1].kind == "text" and known[-1].role != "tool"
        return start if ended and known == rows[: len(known)] else None


@dataclass(slots=True, eq=False)
class PathMemory:
    """What contexts of a path have worked out that later ones of the same path need not do again."""

    levels: "dict[int, KeptLevel]" = field(default_factory=dict[int, "KeptLevel"])
    """Levels as they were written, by their numbers."""
    costs: KnownCosts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOutline:
    """A path as far as it was read: all of it as `tail`, or both ends and what lies between."""

    tail: Sequence[Candidate]
    head: Sequence[Candidate] = ()
    between: SkippedRange | None = None
    start: int | None = None
    """The ruler before the first level, where that is not its end less its tokens."""
    memory: PathMemory = field(default_factory=PathMemory, compare=False, repr=False)
    first: int = field(init=False)
    """The level at which the tail begins."""

    def __post_init__(self) -> None:
        first = 0 if self.between is None else len(self.head) + self.between.levels
        object.__setattr__(self, "first", first)

    @property
    def has_tools(self) -> bool:
        """Whether any level calls tools or holds their results."""
        tail = () if isinstance(self.tail, WordRows) else self.tail
        return any([row.tools for rows in (self.head, tail) for row in rows])  # noqa: C419 - faster than a generator

    def at(self, level: int) -> Candidate:
        return self.tail[level - self.first] if level >= self.first else self.head[level]

    def known(self, start: int = 0) -> list[tuple[int, Candidate]]:
        """Every level that was read, from `start` on, with its row."""
        head = self.head[start:] if self.between is not None else ()
        later = max(start, self.first)
        return [*enumerate(head, start), *enumerate(self.tail[later - self.first :], later)]

    @property
    def tail_start(self) -> int:
        """The ruler before the tail."""
        if self.between is not None:
            return self.between.end
        if self.start is not None:
            return max(0, self.start)
        return max(0, self.tail[0].ruler - self.tail[0].tokens - self.tail[0].hidden) if self.tail else 0

    def changed(self, change: "Callable[[int, Candidate], Candidate]") -> "PathOutline":
        """The same levels with other rows."""
        return replace(
            self,
            head=[change(level, row) for level, row in enumerate(self.head)],
            tail=[change(level, row) for level, row in enumerate(self.tail, self.first)],
        )


def least_of(each: Candidate | ExtraSource, estimator: Estimator) -> int:
    """The fewest tokens that one content can be brought down to."""
    if each.least is not None:
        return min(each.least, each.tokens)
    return min(least_tokens(estimator), each.tokens) if each.kind in _WORDS else each.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What assembly adds to a node: joints between merged messages, headings, the frame of a reference."""

    estimator: Estimator
    joined: bool
    """Whether messages of one role are merged; a document has no joints."""
    heading: Callable[[Candidate], int] | None = None
    frame: Callable[[ExtraSource], int] | None = None
    share: int | None = None
    """The most that a further primary may take."""

    @property
    def joint(self) -> int:
        return self.estimator.joint if self.joined else 0

    @property
    def seam(self) -> int:
        """Where a document's nodes meet, there is nothing between them."""
        return 0 if self.joined else self.estimator.seam

    def of_source(self, source: ExtraSource) -> int:
        """A reference with its frame and the joint after it."""
        if source.left_out is not None or source.tokens == 0:
            return 0
        frame = self.frame(source) if self.frame is not None else 0
        return self.capped(source) + frame + self.estimator.joint

    def capped(self, source: ExtraSource) -> int:
        if source.role is SourceRole.PRIMARY and self.share is not None:
            return min(source.tokens, max(self.least(source), self.share))
        return source.tokens

    def least(self, each: Candidate | ExtraSource) -> int:
        return least_of(each, self.estimator)

    def floor(self, candidate: Candidate | None, extras: Sequence[ExtraSource], cost: int) -> int:
        """The fewest tokens that a level can be brought down to; without a candidate, its sources alone."""
        saved = 0
        if candidate is not None:
            saved = candidate.tokens - self.least(candidate) + candidate.before - candidate.before_least
        saved += sum(
            self.capped(extra) - self.least(extra)
            for extra in extras
            if extra.left_out is None and extra.tokens
        )
        return max(1, cost - saved)


def asks_of(row: Candidate) -> bool:
    """Whether a level may call tools."""
    return row.asks if row.asks is not None else row.role == "assistant" and row.kind in _CALLING


def answers_of(row: Candidate) -> bool:
    """Whether a level may hold the results of tools."""
    if row.answers is not None:
        return row.answers
    return row.role == "tool" or row.kind == "tool_result" or (row.kind == "mixed" and row.role == "user")


def bound_of(rows: Sequence[Candidate]) -> bytes:
    """Which levels may not be parted from the one before: results from the call that they follow.

    What stands before the first level is not known, so a result there is bound to it.
    """
    if isinstance(rows, WordRows):
        return bytes(len(rows))
    bound, calling = bytearray(len(rows)), True
    for index, row in enumerate(rows):
        if row.kind == "text" and row.role != "tool":
            # Nearly all are.
            calling = False
            continue
        bound[index] = calling and answers_of(row)
        calling = bool(bound[index]) or asks_of(row)
    return bytes(bound)


def are_plain(rows: Sequence[Candidate]) -> bool:
    """Whether all levels are words that are said, none of them a tool's."""
    # Lists and sets of one attribute each are the fastest way through many rows.
    return isinstance(rows, WordRows) or (
        {row.kind for row in rows} <= _TEXT
        and "tool" not in {row.role for row in rows}
        and not any([row.left_out for row in rows])  # noqa: C419 - see above
        and all([row.tokens for row in rows])  # noqa: C419 - see above
    )


def left_out_of(rows: Sequence[Candidate], bound: bytes) -> list[Reason | None]:
    """Each level's reason to be left out; a tool group is in or out as one."""
    if isinstance(rows, WordRows):
        return [None] * len(rows)
    reasons = [row.left_out or (None if row.tokens or row.before else Reason.EMPTY) for row in rows]
    if 1 not in bound:
        return reasons
    start = 0
    for index in range(1, len(rows) + 1):
        if index < len(rows) and bound[index]:
            continue
        # A half without its other half is nobody else's reason.
        if index - start > 1 and any(reason not in _OWN for reason in reasons[start:index]):
            for level in range(start, index):
                reasons[level] = reasons[level] or Reason.TOOL_GROUP
        start = index
    return reasons


def sources_beside(
    rows: Sequence[Candidate], pending: tuple[ExtraSource, ...] = (), *, dialogue: bool = True
) -> dict[int, tuple[ExtraSource, ...]]:
    """The sources before each row's message, by the index of the row.

    What came with a person's own message is directly before it, and left out with it. What was given for
    an answer is before the message that is answered, and so is what is `pending`. Notes are before the
    node that they are on. In a document each source belongs to the node that it came with.
    """
    beside: dict[int, tuple[ExtraSource, ...]] = {}

    def add(index: int, extras: tuple[ExtraSource, ...]) -> None:
        # What the first row answers is not known.
        if extras and index >= 0:
            beside[index] = beside.get(index, ()) + extras

    for index, row in enumerate(() if isinstance(rows, WordRows) else rows):
        if not row.sources and not row.notes:
            continue
        if row.sources and (not dialogue or (row.role == "user" and row.kind != "tool_result")):
            gone = Reason.WITH_MESSAGE if row.left_out in _GONE else None
            add(index, tuple(each._replace(left_out=each.left_out or gone) for each in row.sources))
        elif row.sources:
            add(index - 1, row.sources)
        add(index, row.notes)
    add(len(rows) - 1, pending)
    return beside


def columns_of(
    rows: Sequence[Candidate],
    prices: Prices,
    beside: Mapping[int, tuple[ExtraSource, ...]],
    *,
    first: int = 0,
    start: int = 0,
    known_before: bool = True,
    masks: MaskRule | None = None,
    memory: PathMemory | None = None,
) -> tuple[Columns, list[Reason | None]]:
    """The columns that fitting reads, and each level's reason to be left out.

    `start` is the ruler before the first row, whose level is `first`. `beside` has the sources before each
    level's message, as `sources_beside` places them.

    With `known_before` false the first level may follow one of its own role, and is
    priced with the joint.
    """
    plain = not beside and masks is None and prices.heading is None
    known = memory.costs if memory is not None and plain else None
    place = None if known is None else known.place_of(rows)
    count = 0 if known is None or place is None else len(known.rows) - place
    # What is new begins after words, or is all there is.
    bound = bound_of(rows) if not count else bytes(count) + bound_of(rows[count - 1 :])[1:]
    if known is None or place is None or 1 in bound:
        reasons = left_out_of(rows, bound)
        costs, spoken = _costs_of(rows, reasons, prices, beside, first, spoken=None if known_before else "?")
    else:
        later = rows[count:]
        new = left_out_of(later, bytes(len(later)))
        added, spoken = _costs_of(later, new, prices, beside, first + count, spoken=known.spoken)
        reasons, costs = known.reasons[place:] + new, known.costs[place:] + added
        costs[0] = rows[0].tokens + rows[0].before + prices.seam + (0 if known_before else prices.joint)
    if memory is not None and plain and 1 not in bound:
        memory.costs = KnownCosts(rows, reasons, costs, spoken)
    ruler = [start, *[row.ruler for row in rows]]
    results, whole = None, None
    if masks is not None and masks.step and any(row.masks for row in rows):
        results = results_in(rows, ruler, masks)
        whole = [0, *accumulate(cost + row.hidden for cost, row in zip(costs, rows, strict=True))]
    roles = [row.role for row in rows]
    if any(reasons):
        roles = ["user" if reason else role for role, reason in zip(roles, reasons, strict=True)]
    columns = Columns(
        sums=[0, *accumulate(costs)],
        roles=roles,
        bound=bound,
        spoken=bytes(map(_IS_SAID, reasons)),
        ids=[row.local_id for row in rows],
        ruler=ruler,
        whole=whole,
        results=results,
    )
    return columns, reasons


def _costs_of(
    rows: Sequence[Candidate],
    reasons: Sequence[Reason | None],
    prices: Prices,
    beside: Mapping[int, tuple[ExtraSource, ...]],
    first: int,
    *,
    spoken: str | None,
) -> tuple[list[int], str | None]:
    """What each level adds, and whose words the last ones are. `spoken` are the ones before; `?`: not known."""
    costs: list[int] = []
    seam, joint, heading = prices.seam, prices.joint, prices.heading
    for level, (row, reason) in enumerate(zip(rows, reasons, strict=True), first):
        cost = sum(map(prices.of_source, beside[level])) if level in beside else 0
        if reason is None:
            role = row.role
            cost += row.tokens + row.before + seam
            if spoken in (role, "?", "tool"):
                cost += joint
            if heading is not None:
                cost += heading(row)
            spoken = role
        elif cost:
            spoken = "?"
        costs.append(cost)
    return costs, spoken


def results_in(rows: Sequence[Candidate], ruler: Sequence[int], rule: MaskRule) -> ToolResults:
    """The tool results among levels that are not left out."""
    results = ToolResults(rule)
    for index, (row, reason) in enumerate(zip(rows, left_out_of(rows, bound_of(rows)), strict=True)):
        if row.masks and reason is None:
            results.add(index, ruler[index], ruler[index + 1], row.masks)
    return results


def tokens_of_content(content: Content, estimator: Estimator) -> int:
    """What a node costs, media included, where its light columns do not say. Words are never free."""
    media = sum(isinstance(block, Image | Audio) for block in blocks_of(content))
    text = sent_text(content)
    return (max(1, estimator.of_text(text)) if text else 0) + media * MEDIA_TOKENS


def least_of_content(content: Content, estimator: Estimator) -> int:
    """The fewest tokens that a content can be brought down to."""
    return tokens_of_content(shortened_content(content, 0, estimator), estimator)


def shortened_content(content: Content, most: int, estimator: Estimator, *, ending: bool = False) -> Content:
    """The same content with its longest words cut, in at most so many tokens if words alone can save them."""
    blocks = blocks_of(content)
    words = {index: text for index, block in enumerate(blocks) if (text := _words(block)) is not None}
    fixed = tokens_of_content(content, estimator) - sum(map(estimator.of_text, words.values()))
    room = most - max(0, fixed)
    while True:
        shortened = list(blocks)
        for index, text in shorten_texts(words, room, estimator, ending=ending).items():
            shortened[index] = _with_words(blocks[index], text)
        whole = shortened[0] if len(shortened) == 1 else Mixed(tuple(shortened))
        # Sizes of parts do not quite add up to the size of the whole.
        if room <= len(words) or tokens_of_content(whole, estimator) <= most:
            return whole
        room -= max(1, room >> 3)


def _words(block: Block) -> str | None:
    if isinstance(block, Text):
        return block.text
    return sent_text(block) if isinstance(block, ToolResult) else None


def _with_words(block: Block, text: str) -> Block:
    if isinstance(block, ToolResult):
        return ToolResult(call_id=block.call_id, content=text, is_error=block.is_error)
    return Text(text)
