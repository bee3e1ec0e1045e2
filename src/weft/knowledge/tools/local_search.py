"""`localSearch`: what notes, documents and trees say about a question."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from pydantic import Field

from weft.context.layers.blocks import ToolOutput, one_line
from weft.context.layers.items import ContextItem, document, node, note, selection
from weft.errors import InvalidInputError, PermissionDeniedError, WeftError
from weft.knowledge.passages import RankedPassage, asked_words, may_answer, rank
from weft.knowledge.periods import Period, period_of
from weft.knowledge.tools.base import Desk, GroveHit, Tool, ToolArguments
from weft.knowledge.tools.tool_output import compose, say

_INSTRUCTION = "Answer the question based only on the following context:"
_NOTHING = "Nothing was found about this in the notes, documents and trees that may be read here. Say so."
_OF_ONE_SOURCE = 3
"""Passages that one note, document or node may have among the best."""

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


def _run(desk: Desk, asked: SearchArguments) -> ToolOutput:
    attributes = {} if asked.time_range is None else {"timeRange": asked.time_range}
    period = None if asked.time_range is None else period_of(asked.time_range, desk.now)
    places = _PLACES if asked.where is None else frozenset(asked.where)
    words = asked_words(asked.query)
    if not words:
        raise InvalidInputError(f"{asked.query[:60]!r} has no word to look for", hint="ask with a word in it")
    texts, among, unread = _texts(desk, words, places, period)
    left = f"Not searched, because they cannot be read now: {', '.join(unread)}." if unread else ""
    best = rank(
        [(each.title, each.item.content) for each in texts], words, among=among, limit=4 * asked.limit
    )
    shown = [_shown(texts[each.source], each) for each in _spread(best, asked.limit)]
    if not shown:
        return say("localSearch", _NOTHING, left, attributes=attributes)
    return compose("localSearch", _INSTRUCTION, shown, first=desk.first, attributes=attributes, after=left)


def _texts(
    desk: Desk, words: list[str], places: frozenset[Where], period: Period | None
) -> tuple[list[GroveHit], int, list[str]]:
    """All that has any of the words, how much was looked at, and the vaults that could not be.

    What the caller may not look into is left out, as long as there is something that it may.
    """
    texts: list[GroveHit] = []
    among = 0
    unread: list[str] = []
    refused: list[PermissionDeniedError] = []
    if "vaults" in places:
        try:
            texts, among, unread = _notes(desk, words, period)
        except PermissionDeniedError as error:
            refused.append(error)
    in_grove = places - {"vaults"}
    if in_grove:
        try:
            found = desk.find(words, in_grove, period)
        except PermissionDeniedError as error:
            refused.append(error)
        else:
            texts += found
            among += len(found)
    if len(refused) == ("vaults" in places) + bool(in_grove):
        raise refused[0]
    return texts, among, unread


def _notes(desk: Desk, words: list[str], period: Period | None) -> tuple[list[GroveHit], int, list[str]]:
    """The notes that could answer, how many were looked at, and the vaults that are not there.

    A single note that cannot be read is passed over.
    """
    mounted = desk.mounted()
    found: list[GroveHit] = []
    unread: list[str] = []
    looked = 0
    for vault in mounted.vaults:
        try:
            mounted.folder(vault)
        except WeftError:
            unread.append(f"the vault {one_line(vault.name)}")
            continue
        for read in mounted.each(vault):
            looked += 1
            if period is not None and not _within(read, period):
                continue
            title = read.shown_title
            if may_answer(title, words) or may_answer(read.content, words):
                found.append(GroveHit(title, read))
    return found, looked, unread


def _within(item: ContextItem, period: Period) -> bool:
    if item.modified is None:
        return False
    return period.has(datetime.fromisoformat(item.modified))


def _spread(best: list[RankedPassage], limit: int) -> Iterator[RankedPassage]:
    """The best, with no source taking all the room."""
    taken: dict[int, int] = {}
    given = 0
    for each in best:
        taken[each.source] = taken.get(each.source, 0) + 1
        if taken[each.source] <= _OF_ONE_SOURCE and given < limit:
            given += 1
            yield each


def _shown(text: GroveHit, ranked: RankedPassage) -> ContextItem:
    """The passage, under the name by which it can be attached or read whole."""
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
)
