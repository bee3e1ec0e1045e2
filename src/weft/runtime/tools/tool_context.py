"""What tools can read: vaults, documents and trees of a grove, as far as the caller may, and the web."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial
from typing import TYPE_CHECKING

from weft.context.items.item_types import document, node
from weft.errors import InvalidInputError, WeftError
from weft.knowledge.passages import shared_beginning
from weft.knowledge.tools.base import GroveHit, ToolContext, WebPage
from weft.providers.search_engine import SearchEngine, chosen_engine
from weft.runtime.contexts.items import mounted_in
from weft.runtime.operations.executor import Caller
from weft.runtime.search.options import SearchOptions
from weft.runtime.search.results import Hit, HitKind
from weft.runtime.search.search import search
from weft.runtime.views.reader import Reader
from weft.tree.content import plain_text
from weft.tree.json_names import from_microseconds
from weft.tree.node import Identified, Node

if TYPE_CHECKING:
    from weft.knowledge.tools.base import Period

_KINDS = {"documents": HitKind.DOCUMENT, "trees": HitKind.NODE}
_MOST_HITS = 60


def tool_context(caller: Caller, at: Node | None = None) -> ToolContext:
    """What tools can read for a caller. `at` is the turn that they run for: its path is not found again."""
    context = ToolContext(
        now=from_microseconds(caller.executor.clock()).astimezone(MACHINE_ZONE),
        mounted=lambda: mounted_in(caller),
        find=_Search(caller, at),
    )
    if at is not None:
        context = replace(context, result=partial(Reader.of(caller).tool_result, at.tree_id))
    try:
        engine = chosen_engine()
    except WeftError as error:
        # What is wrong with it concerns the web search, and no other tool.
        return replace(context, web_off=error.message)
    return context if engine is None else replace(context, web=_Web(engine))


def node_at(caller: Caller, at: Identified | str) -> Node:
    return Reader.of(caller).find(at if isinstance(at, str) else at.id)


@dataclass(frozen=True, slots=True)
class _Search:
    """Documents and nodes by the grove's own index."""

    caller: Caller
    turn: Node | None

    def __call__(
        self, words: Sequence[str], places: frozenset[str], period: "Period | None"
    ) -> Sequence[GroveHit]:
        kinds = [_KINDS[place] for place in sorted(places)]
        after, before = (None, None) if period is None else period
        query = " or ".join(f'"{shared_beginning(word)}"*' for word in words)
        wanted = SearchOptions(query=query, kinds=kinds, after=after, before=before, limit=_MOST_HITS)
        hits = search(self.caller.store, self.caller.actor, wanted)
        return [self._found(hit) for hit in hits if not self._on_the_way(hit)]

    def _on_the_way(self, hit: Hit) -> bool:
        """Whether it is said before the question anyway, or is the question itself."""
        turn = self.turn
        if turn is None or hit.kind is not HitKind.NODE or hit.tree_id != turn.tree_id:
            return False
        return Reader.of(self.caller).leads_to(turn.tree_id, hit.id, turn.id)

    def _found(self, hit: Hit) -> GroveHit:
        when = hit.created_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        if hit.kind is HitKind.DOCUMENT:
            read = Reader.of(self.caller).document(hit.id)
            return GroveHit(read.title, document(read.id, read.content, title=read.title, modified=when))
        if hit.tree_id is None or hit.local_id is None:
            raise InvalidInputError(f"a {hit.kind} cannot be shown here")
        text = plain_text(Reader.of(self.caller).node(hit.tree_id, hit.id).content)
        return GroveHit("", node(hit.local_id, text, title=hit.title, modified=when))


@dataclass(frozen=True, slots=True)
class _Web:
    """A search engine, for a caller that waits for its answer."""

    engine: SearchEngine

    def search(self, query: str, *, limit: int, period: str | None) -> Sequence[WebPage]:
        from weft.runtime.coordination.background import model_loop  # noqa: PLC0415 - begins a thread

        asked = self.engine.search(query, limit=limit, period=period)
        return [WebPage(*page) for page in model_loop().submit(asked).result()]


class _MachineZone(tzinfo):
    """Asked of the system for every moment: an offset of today is wrong for half of the year."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None if moment is None else _offset(moment).utcoffset(None)

    def dst(self, _moment: datetime | None) -> None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None if moment is None else _offset(moment).tzname(None)

    def fromutc(self, moment: datetime) -> datetime:
        local = moment.replace(tzinfo=UTC).astimezone()
        found = local.replace(tzinfo=self, fold=0)
        return found if found.utcoffset() == local.utcoffset() else found.replace(fold=1)


def _offset(moment: datetime) -> tzinfo:
    try:
        return moment.replace(tzinfo=None).astimezone().tzinfo or UTC
    except (OverflowError, ValueError, OSError):
        # Times at the ends of the calendar, of which the system knows nothing.
        return timezone(timedelta(seconds=-time.timezone))


MACHINE_ZONE = _MachineZone()
