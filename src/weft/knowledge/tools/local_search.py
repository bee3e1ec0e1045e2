"""`localSearch`: what notes, documents and trees say about a question."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import Field

from weft.context.layers.blocks import ToolOutput
from weft.context.layers.items import ContextItem, document, node, note, selection
from weft.errors import InvalidInputError, PermissionDeniedError
from weft.knowledge.passages import Ranked, asked_words, may_answer, rank
from weft.knowledge.periods import Period, period_of
from weft.knowledge.tools.base import Arguments, Desk, Tool
from weft.knowledge.tools.composing import compose, say

__all__ = ["LOCAL_SEARCH", "SearchArguments"]

_INSTRUCTION = "Answer the question based only on the following context:"
_NOTHING = "Nothing was found about this in the notes, documents and trees that may be read here. Say so."
_OF_ONE_SOURCE = 3
"""Passages that one note, document or node may have among the best."""

Where = Literal["vaults", "documents", "trees"]
_PLACES: frozenset[Where] = frozenset({"vaults", "documents", "trees"})


class SearchArguments(Arguments):
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


class _Text(NamedTuple):
    title: str
    item: ContextItem


def _run(desk: Desk, asked: SearchArguments) -> ToolOutput:
    attributes = {} if asked.time_range is None else {"timeRange": asked.time_range}
    period = None if asked.time_range is None else period_of(asked.time_range, desk.now)
    places = _PLACES if asked.where is None else frozenset(asked.where)
    words = asked_words(asked.query)
    if not words:
        raise InvalidInputError(f"{asked.query[:60]!r} has no word to look for", hint="ask with a word in it")
    texts, among = _texts(desk, words, places, period)
    best = rank(
        [(each.title, each.item.content) for each in texts], words, among=among, limit=4 * asked.limit
    )
    shown = [_shown(texts[each.source], each) for each in _spread(best, asked.limit)]
    if not shown:
        return say("localSearch", _NOTHING, attributes=attributes)
    return compose("localSearch", _INSTRUCTION, shown, first=desk.first, attributes=attributes)


def _texts(
    desk: Desk, words: list[str], places: frozenset[Where], period: Period | None
) -> tuple[list[_Text], int]:
    """All that has any of the words, and how much was looked at.

    What the caller may not look into is left out, as long as there is something that it may.
    """
    texts: list[_Text] = []
    among = 0
    refused: list[PermissionDeniedError] = []
    if "vaults" in places:
        try:
            texts, among = _notes(desk, words, period)
        except PermissionDeniedError as error:
            refused.append(error)
    in_grove = places - {"vaults"}
    if in_grove:
        try:
            found = desk.find(words, in_grove, period)
        except PermissionDeniedError as error:
            refused.append(error)
        else:
            texts += [_Text(each.title, each.item) for each in found]
            among += len(found)
    if len(refused) == ("vaults" in places) + bool(in_grove):
        raise refused[0]
    return texts, among


def _notes(desk: Desk, words: list[str], period: Period | None) -> tuple[list[_Text], int]:
    """The notes that could answer, and how many were looked at; one that cannot be read is passed over."""
    mounted = desk.mounted()
    found: list[_Text] = []
    looked = 0
    for vault in mounted.vaults:
        for read in mounted.each(vault):
            looked += 1
            if period is not None and not _within(read, period):
                continue
            title = read.shown_title
            if may_answer(title, words) or may_answer(read.content, words):
                found.append(_Text(title, read))
    return found, looked


def _within(item: ContextItem, period: Period) -> bool:
    if item.modified is None:
        return False
    return period.has(datetime.fromisoformat(item.modified))


def _spread(best: list[Ranked], limit: int) -> Iterator[Ranked]:
    """The best, with no source taking all the room."""
    taken: dict[int, int] = {}
    given = 0
    for each in best:
        taken[each.source] = taken.get(each.source, 0) + 1
        if taken[each.source] <= _OF_ONE_SOURCE and given < limit:
            given += 1
            yield each


def _shown(text: _Text, ranked: Ranked) -> ContextItem:
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
