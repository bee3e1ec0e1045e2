"""`localSearch`: passages of notes, documents and trees about a question."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Literal

from pydantic import Field

from weft.context.items.blocks import ToolOutput, one_line
from weft.context.items.item_types import ContextItem, document, node, note, selection
from weft.errors import InvalidInputError, PermissionDeniedError, WeftError
from weft.knowledge.passages import RankedPassage, asked_words, may_answer, rank
from weft.knowledge.tools.base import GroveHit, Period, Tool, ToolArguments, ToolContext, compose, say
from weft.knowledge.tools.time_info import period_of

_INSTRUCTION = "Answer the question based only on the following context:"
_NOTHING = "Nothing was found about this in the notes, documents and trees that may be read here. Say so."
_OF_ONE_SOURCE = 3
"""Passages of one note, document or node in the output."""

Where = Literal["vaults", "documents", "trees"]
_PLACES: frozenset[Where] = frozenset({"vaults", "documents", "trees"})


class SearchArguments(ToolArguments):
    query: str = Field(min_length=1, max_length=4_000, description="The question, or words of it.")
    time_range: str | None = Field(
        default=None,
        alias="timeRange",
        max_length=100,
        description="Only what was written then: today, last week, past 3 days, 2026-01, since 2026-03.",
    )
    where: list[Where] | None = Field(
        default=None, min_length=1, description="Only in these of vaults, documents and trees."
    )
    limit: int = Field(default=8, ge=1, le=30, description="How many passages at most.")


def _run(desk: ToolContext, asked: SearchArguments) -> ToolOutput:
    attributes = {} if asked.time_range is None else {"timeRange": asked.time_range}
    period = None if asked.time_range is None else period_of(asked.time_range, desk.now)
    places = _PLACES if asked.where is None else frozenset(asked.where)
    words = asked_words(asked.query)
    if not words:
        raise InvalidInputError(
            f"{asked.query[:60]!r} has no word to look for", hint="ask with at least one word"
        )
    texts, among, unread = _texts(desk, words, places, period)
    left = f"Not searched, because they cannot be read now: {', '.join(unread)}." if unread else ""
    best = rank(
        [(each.title, each.item.content) for each in texts], words, among=among, limit=4 * asked.limit
    )
    shown = [_shown(texts[each.source], each) for each in islice(_spread(best), asked.limit)]
    if not shown:
        return say("localSearch", _NOTHING, left, attributes=attributes)
    return compose("localSearch", _INSTRUCTION, shown, first=desk.first, attributes=attributes, after=left)


def _texts(
    desk: ToolContext, words: list[str], places: frozenset[Where], period: Period | None
) -> tuple[list[GroveHit], int, list[str]]:
    """The texts with any of the words, the number of texts searched, and the vaults that cannot be read.

    What the caller may not read is left out, unless that is everything.
    """
    texts: list[GroveHit] = []
    among = 0
    unread: list[str] = []
    allowed = False
    refused: PermissionDeniedError | None = None
    for part in filter(None, (places & {"vaults"}, places - {"vaults"})):
        try:
            if "vaults" in part:
                texts, among, unread = _notes(desk, words, period)
            else:
                hits = desk.find(words, part, period)
                texts, among = [*texts, *hits], among + len(hits)
            allowed = True
        except PermissionDeniedError as error:
            refused = error
    if refused is not None and not allowed:
        raise refused
    return texts, among, unread


def _notes(
    desk: ToolContext, words: list[str], period: Period | None
) -> tuple[list[GroveHit], int, list[str]]:
    """The notes with any of the words, the number of notes searched, and the vaults that cannot be read."""
    mounted = desk.mounted()
    hits: list[GroveHit] = []
    unread: list[str] = []
    searched = 0
    for vault in mounted.vaults:
        try:
            mounted.folder(vault)
        except WeftError:
            unread.append(f"the vault {one_line(vault.name)}")
            continue
        for read in mounted.each(vault):
            searched += 1
            if period is not None and not (
                read.modified and period.has(datetime.fromisoformat(read.modified))
            ):
                continue
            if may_answer(read.shown_title, words) or may_answer(read.content, words):
                hits.append(GroveHit(read.shown_title, read))
    return hits, searched, unread


def _spread(best: list[RankedPassage]) -> Iterator[RankedPassage]:
    """The best passages, a few of each source at most."""
    taken = Counter[int]()
    for each in best:
        taken[each.source] += 1
        if taken[each.source] <= _OF_ONE_SOURCE:
            yield each


def _shown(text: GroveHit, ranked: RankedPassage) -> ContextItem:
    """The passage, under the id that attaches or reads the whole."""
    item, passage = text.item, ranked.passage
    match item.type:
        case "document":
            return document(
                item.id.removeprefix("doc:"), passage.text, title=item.title, modified=item.modified
            )
        case "node":
            return node(item.id.strip("[]"), passage.text, title=item.title, modified=item.modified)
        case _ if passage.text.strip() == item.content.strip():
            return note(item.id, passage.text, modified=item.modified)
        case _:
            return selection(item.id, passage.start, passage.end, passage.text, modified=item.modified)


LOCAL_SEARCH = Tool(
    name="localSearch",
    description="Find what the user's notes, documents and conversations say about a question.",
    arguments=SearchArguments,
    run=_run,
    pages=True,
)
