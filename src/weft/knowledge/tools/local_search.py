"""`localSearch`: passages of notes, documents and trees about a question."""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from weft.context.items.blocks import ToolOutput, one_line
from weft.knowledge.tools.base import Tool, ToolArguments, ToolContext, compose, say
from weft.knowledge.tools.time_info import period_of

_INSTRUCTION = "Answer the question based only on the following context:"
_NOTHING = "Nothing was found about this in the notes, documents and trees that may be read here. Say so."

Where = Literal["vaults", "documents", "trees"]
_PLACES = frozenset({"vaults", "documents", "trees"})


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
    passages, warnings, _ = desk.retrieve(asked.query, places, asked.limit, period)
    left = "\n".join(f"Not complete: {one_line(each)}." for each in warnings)
    if passages:
        items = [each.item for each in passages]
        output = compose(
            "localSearch", _INSTRUCTION, items, first=desk.first, attributes=attributes, after=left
        )
    else:
        output = say("localSearch", _NOTHING, left, attributes=attributes)
    return replace(output, warnings=tuple(f"localSearch: {one_line(each)}" for each in warnings))


LOCAL_SEARCH = Tool(
    name="localSearch",
    description="Find what the user's notes, documents and conversations say about a question.",
    arguments=SearchArguments,
    run=_run,
    pages=True,
)
