"""Tools of a turn over a grove: which there are, and what they give to whoever may see it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from weft.context.items.item_types import document, node
from weft.errors import InvalidInputError, WeftError
from weft.knowledge.passages import shared_beginning
from weft.knowledge.tools.base import AnyTool, GroveHit, ToolContext, ToolRegistry, WebPage, installed_tools
from weft.providers.search_engine import SearchEngine, chosen_engine
from weft.runtime.contexts.items import mounted_in
from weft.runtime.operations.executor import Caller
from weft.runtime.search.options import SearchOptions
from weft.runtime.search.results import Hit, HitKind
from weft.runtime.search.search import search
from weft.runtime.views.reader import Reader
from weft.tree.content import plain_text
from weft.tree.json import JsonValue
from weft.tree.json_names import from_microseconds
from weft.tree.node import Identified, Node

if TYPE_CHECKING:
    from weft.context.items.blocks import ToolOutput
    from weft.knowledge.notes import Mounted
    from weft.knowledge.tools.base import Period

_KINDS = {"documents": HitKind.DOCUMENT, "trees": HitKind.NODE}
_MOST_HITS = 60


class TurnToolCall(NamedTuple):
    """A tool by name, and what it is called with."""

    name: str
    arguments: Mapping[str, JsonValue]


class Offered(NamedTuple):
    """A tool as it can be called here."""

    name: str
    tool: AnyTool | None
    """None where the package that brings it is broken."""
    off: str | None
    """Why it cannot be called, where it cannot."""


@dataclass(frozen=True, slots=True)
class TurnTools:
    """What can be looked up for a turn. Outputs go to `context`, `envelope` or `generate` as `tool_outputs`."""

    caller: Caller
    registry: ToolRegistry = field(default_factory=installed_tools)

    def __iter__(self) -> Iterator[Offered]:
        desk = self._desk(None)
        for name in self.registry.names:
            try:
                tool = self.registry.tool(name)
            except WeftError as error:
                yield Offered(name, None, error.message)
            else:
                yield Offered(name, tool, tool.missing(desk))

    def run(self, name: str, *, at: Identified | str | None = None, **arguments: JsonValue) -> "ToolOutput":
        """Run one tool. `at` is the turn that it is for: what stands on the way to it is not found again."""
        return self.run_all([TurnToolCall(name, arguments)], at=at)[0]

    def run_all(
        self, calls: Sequence[TurnToolCall], *, at: Identified | str | None = None
    ) -> "list[ToolOutput]":
        """Run several for one turn, in order; all of their sources are numbered on."""
        desk = self._desk(at)
        outputs: list[ToolOutput] = []
        for name, arguments in calls:
            output = self.registry.tool(name)(desk, arguments)
            desk = replace(desk, first=desk.first + len(output.sources))
            outputs.append(output)
        return outputs

    def _desk(self, at: Identified | str | None) -> ToolContext:
        desk = ToolContext(
            now=from_microseconds(self.caller.executor.clock()).astimezone(MACHINE_ZONE),
            mounted=self._mounted,
            find=_Search(self.caller, None if at is None else self._turn(at)),
        )
        try:
            provider = chosen_engine()
        except WeftError as error:
            # What is wrong with it concerns who searches the web, and no other tool.
            return replace(desk, web_off=error.message)
        return desk if provider is None else replace(desk, web=_Web(provider))

    def _turn(self, at: Identified | str) -> Node:
        return Reader.of(self.caller).find(at if isinstance(at, str) else at.id)

    def _mounted(self) -> "Mounted":
        return mounted_in(self.caller)


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
    """A provider of searches for whoever waits for its answer."""

    provider: SearchEngine

    def search(self, query: str, *, limit: int, period: str | None) -> Sequence[WebPage]:
        from weft.runtime.coordination.background import model_loop  # noqa: PLC0415 - begins a thread

        asked = self.provider.search(query, limit=limit, period=period)
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
