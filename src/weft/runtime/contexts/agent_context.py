"""The context of a loom-aware agent: the conversation, and the tree around it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import select

from weft.context.agent_view.agent_context import Exchange, LoomAware
from weft.context.agent_view.loom_block import LoomPlace
from weft.context.agent_view.operational_memory import MemoryContents, Showing
from weft.context.request import ContextRequest
from weft.runtime.contexts.agent_memory import AgentMemory
from weft.runtime.contexts.assembler import RequestReader
from weft.runtime.contexts.linked_documents import may_cross
from weft.runtime.contexts.loom_view import LoomView, inline_tokens
from weft.runtime.contexts.path_reader import PathReader
from weft.runtime.contexts.prepared_request import ContextInputs
from weft.runtime.operations.permissions import Actor, permissions_of
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.memory import MemoryKind, live_memory
from weft.store.session import Session as StoreSession
from weft.tree.agent import Agent
from weft.tree.content import plain_text
from weft.tree.json_names import from_microseconds
from weft.tree.snippet import extract

_AT_ONCE = 100
_SHARE = 4
"""Summaries take at most one part in so many of a budget."""
_LINE = 32
"""Tokens of a summary, as a guess at how many are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InRun:
    """What a run adds for the agent that speaks in it."""

    actor: Actor
    memory: MemoryContents
    place: LoomPlace
    exchanges: tuple[Exchange, ...] = ()
    asked: str = ""


def see(contexts: RequestReader, agent: Agent, gathered: ContextInputs, run: InRun | None) -> ContextInputs:
    """The inputs with what a loom-aware agent sees of the tree; facts are read of the rows that may be shown."""
    # A reduced history shows more than a strip does.
    request = replace(_prompted(gathered.request, agent), strip=None)
    reader, tree, now = gathered.reader, gathered.reader.tree.ulid, contexts.clock()
    rows = [*request.outline.head, *request.outline.tail]
    view = run or _outside(contexts, agent, reader)
    facts = LoomView(contexts.store, view.actor).facts(tree, [row.id for row in rows])
    summaries = _Summaries(reader, request)
    loom = LoomAware(
        permissions=permissions_of(reader.tree.session, view.actor),
        place=view.place,
        now=from_microseconds(now),
        facts=facts,
        memory=view.memory,
        exchanges=view.exchanges,
        asked=view.asked,
        summaries=summaries,
        showing=Showing(inline=inline_tokens(agent)),
    )
    return replace(gathered, request=replace(request, outline=summaries.outline, loom=loom))


def _prompted(request: ContextRequest, agent: Agent) -> ContextRequest:
    """With the agent's own prompt, which a document goes without: an agent that sees the loom knows its role."""
    prompt = request.system.agent or agent.configuration.system_prompt or ""
    return replace(request, system=replace(request.system, agent=prompt))


def _outside(contexts: RequestReader, agent: Agent, reader: PathReader) -> InRun:
    """What the agent would see if it were asked here now."""
    tree, me = reader.tree, contexts.actor
    with contexts.store.read() as session:
        key = find_agent(session, agent.id)
        actor = me if key == me.agent else Actor(key, me.user, me)
        turn, crossing = _next_run(session, tree.key, key), may_cross(session, actor)
    place = LoomView(contexts.store, actor).place(tree.ulid, contexts.clock(), reader.end)
    memory = AgentMemory(contexts.store, actor).memory(tree.ulid, turn=turn, crossing=crossing)
    return InRun(actor=actor, memory=memory, place=place)


def _next_run(session: StoreSession, tree: int, agent: int) -> int:
    """The number that the agent's next run in this tree would have."""
    runs = live_memory(session, tree, agent, [MemoryKind.RUN])
    return 1 + (json.loads(runs[-1].body).get("number", 0) if runs else 0)


class _Summaries(Mapping[str, str]):
    """One line for each node of a path, by its id, as far back as such lines may fit.

    Read when they are asked for, many at once, the newest first. Nodes without a stored summary have an extract.
    """

    def __init__(self, reader: PathReader, request: ContextRequest) -> None:
        self._reader = reader
        self._known: dict[str, str] = {}
        self.outline = request.outline
        """The request's, with the further levels that may be shown by such a line."""
        room = request.budget // _SHARE
        while self.outline.between is not None and room > 0:
            count = len(self.outline.tail)
            self.outline = reader.deepened(self.outline, max(_AT_ONCE, room // _LINE))
            further = [row.id for row in self.outline.tail[:-count] if row.left_out is None]
            self._load(further)
            room -= sum(request.estimator.of_text(self._known[name]) for name in further)
        rows = [*self.outline.head, *self.outline.tail]
        self._ids = [row.id for row in rows if row.id in reader.seen]
        self._places = {name: index for index, name in enumerate(self._ids)}

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            last = self._places[name] + 1
            self._load(self._ids[max(0, last - _AT_ONCE) : last])
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def _load(self, ids: list[str]) -> None:
        reader, texts = self._reader, schema.texts
        session, tree = reader.tree.session, reader.tree.key
        rows = {name: reader.seen[name] for name in ids if name not in self._known}
        keys = [row.key for row in rows.values()]
        statement = select(texts.c.node, texts.c.summary).where(
            texts.c.tree == tree, session.dialect.among(texts.c.node, keys)
        )
        stored = {row.node: row.summary for row in session.execute(statement)}
        without = [row for row in rows.values() if not stored.get(row.key)]
        contents = reader.cache.contents(session, tree, without)
        for name, row in rows.items():
            stand_in = reader.folds.texts.get(name)
            said = stored.get(row.key) or extract(plain_text(contents[row.key]))
            self._known[name] = said if stand_in is None else plain_text(stand_in)
