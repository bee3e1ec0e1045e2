"""The options of a search: every keyword with its type, its default and its description."""

from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass, field
from datetime import date, datetime

from weft.argument_checks import Options, OptionSpec, option
from weft.runtime.search.results import HitKind
from weft.tree.agent import AgentType
from weft.tree.tree import Mode

Moment = datetime | date | str
"""A time, or a day or time in ISO 8601. Without a zone it is UTC."""


@dataclass(frozen=True, slots=True)
class SearchOptions(Options):
    """The words to search for, and the filters."""

    query: str = field(
        metadata={
            "option": OptionSpec('Words that must all occur; "a phrase", a prefix*, one or another, -not.')
        }
    )
    _: KW_ONLY
    tree: str | None = option(None, "Only in this tree.")
    author: str | None = option(None, "Only what this agent wrote.")
    author_type: AgentType | str | None = option(None, "Only what people, or models, wrote.")
    model: str | None = option(None, "Only what agents of this model wrote.")
    after: Moment | None = option(None, "Only since this day or time, in ISO 8601 (UTC).")
    before: Moment | None = option(None, "Only before this day or time.")
    bookmarked: bool = option(False, "Only bookmarked nodes.")
    kinds: Collection[HitKind | str] | HitKind | str | None = option(
        None, "Only these: node, tree, document, tag."
    )
    mode: Mode | str | None = option(None, "Only in trees of this mode: dialogue or buffer.")
    everything: bool = option(False, "Include what is excluded, pruned, undone or archived.")
    limit: int = option(20, "How many results, at most.", least=1, most=1_000)
    offset: int = option(
        0, "How many results to skip; to skip more, narrow the search.", least=0, most=100_000
    )
