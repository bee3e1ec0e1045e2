"""What tools can read: vaults, documents and trees of a grove, as far as the caller may, and the web."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial

from weft.errors import WeftError
from weft.knowledge.tools.base import ToolContext, WebPage
from weft.providers.search_engine import SearchEngine, chosen_engine
from weft.providers.web_page import PageReader
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.projects import mounted_in
from weft.runtime.search.retrieval import retrieve
from weft.runtime.tools.attached_urls import attached_urls, read_page
from weft.runtime.tools.settings import ToolSettings, UrlAccess
from weft.runtime.views.reader import Reader
from weft.tree.json_names import from_microseconds
from weft.tree.node import Identified, Node


def tool_context(caller: Caller, at: Node | None = None, vaults: Sequence[str] = ()) -> ToolContext:
    """What tools can read for a caller. `at` is the turn that they run for: its path is not found again.

    Where vaults are named, no other can be read.
    """
    context = ToolContext(
        now=from_microseconds(caller.executor.clock()).astimezone(MACHINE_ZONE),
        mounted=lambda: mounted_in(caller, vaults),
        retrieve=lambda question, places, limit, period: retrieve(
            caller, question, places=places, vaults=vaults or None, limit=limit, period=period, at=at
        ),
    )
    if at is not None:
        context = replace(
            context,
            result=partial(Reader.of(caller).tool_result, at.tree_id),
            urls=partial(attached_urls, caller, at),
        )
    with caller.store.read() as session:
        access = ToolSettings.of(session).urls
    if access is not UrlAccess.OFF:
        reader = PageReader(private=access is UrlAccess.PRIVATE)
        context = replace(context, urls_off=None, read_url=partial(read_page, reader))
    try:
        engine = chosen_engine()
    except WeftError as error:
        # What is wrong with it concerns the web search, and no other tool.
        return replace(context, web_off=error.message)
    return context if engine is None else replace(context, web=_Web(engine))


def node_at(caller: Caller, at: Identified | str) -> Node:
    return Reader.of(caller).find(at if isinstance(at, str) else at.id)


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
