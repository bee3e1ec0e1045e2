"""Record an exchange: find its place, write its nodes, keep its bytes. One transaction."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import select

from weft.errors import NotFoundError
from weft.providers.events import cut_body
from weft.runtime.operations.agents import add_agent, agent_digest
from weft.runtime.operations.attempts import new_attempt, note_attempt, put_request
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.nodes import Annotate
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.trees import Plant
from weft.runtime.proxy.answer_writer import NO_COST, AnswerWriter, Cost, StartedExchange, add_reply_keys
from weft.runtime.proxy.client_signs import Purpose
from weft.runtime.proxy.compaction import find_transcript
from weft.runtime.proxy.continued_document import find_document
from weft.runtime.proxy.exchange import Exchange, RequestFacts
from weft.runtime.proxy.history import Side, chain_of, chain_start, digest_of, history_part
from weft.runtime.proxy.parent_search import (
    Link,
    ParentSearch,
    Place,
    before_key,
    resolve_references,
    response_key,
)
from weft.runtime.proxy.sub_agents import calling_place, name_callers
from weft.runtime.proxy.turn_nodes import TurnNode, content_of, storable, turn_nodes
from weft.runtime.proxy.wires import Wire
from weft.store import schema
from weft.store.packed_bodies import add_body
from weft.store.proxy_rows import (
    SegmentRow,
    SessionRow,
    add_key,
    add_request,
    add_segment,
    add_session,
    change_request,
    change_session,
    live_keys,
    session_in,
    session_named,
)
from weft.store.request_records import save_manifest
from weft.store.rows import AGENT_TYPES, NodeRow, TreeState, permission_bits
from weft.tree.agent import SUBJECT, AgentType, Permission
from weft.tree.content import Text
from weft.tree.edge import SourceRole
from weft.tree.json import JsonValue
from weft.tree.json_names import to_microseconds
from weft.tree.node import Role
from weft.tree.tree import title_from

_TITLE_LIMIT = 200
_SYSTEM_LIMIT = 1_000_000
_NAME_LIMIT = 180
_ROOT = 1
"""The key of every root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExchange:
    """Where an exchange was recorded."""

    started: StartedExchange
    reply: str | None
    """The node of the answer."""


class Recording(Editing):
    verb: ClassVar[str] = "generate"
    permission: ClassVar[Permission] = Permission.LOOM_GENERATE


@dataclass(frozen=True, slots=True, kw_only=True)
class StartExchange(Recording):
    """Write down what another program asks, before it is forwarded."""

    exchange: Exchange

    def apply(self, scope: Scope) -> StartedExchange:
        return _Request(scope, self.exchange).write()


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishExchange(Recording):
    """Write what was answered to a request that is written down."""

    exchange: Exchange
    started: StartedExchange
    cost: Cost = NO_COST

    def apply(self, scope: Scope) -> RecordedExchange:
        reply = AnswerWriter(scope, self.exchange, self.started).write(self.cost)
        return RecordedExchange(started=self.started, reply=reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordExchange(Recording):
    """Write what another program asked and was answered, where its history belongs."""

    exchange: Exchange
    cost: Cost = NO_COST

    def apply(self, scope: Scope) -> RecordedExchange:
        started = StartExchange(exchange=self.exchange).apply(scope)
        return FinishExchange(exchange=self.exchange, started=started, cost=self.cost).apply(scope)


class _Request:
    """One request while it is written."""

    def __init__(self, scope: Scope, exchange: Exchange) -> None:
        self.scope = scope
        self.exchange = exchange
        self.token = exchange.token
        self.signs = exchange.signs
        self.transaction = scope.transaction
        self.body = exchange.request
        self.facts = RequestFacts.of(exchange.wire, self.body)
        self.parts = resolve_references(scope.transaction, self.token, self.facts.history)
        self.purpose = self.signs.purpose
        self.alias: bytes | None = None
        """The hash of a whole document, where its last node holds only what is new."""

    def write(self) -> StartedExchange:
        # The grove is locked before the tree, as in every operation that needs both.
        agent = self._agent()
        known = session_named(self.transaction, self.token, self._identity, self.signs.agent)
        place = self._place(known)
        tree = self.scope.open_tree(self._tree_id(place.tree), archived=True)
        session = known or self._joined_session(place) or self._new_session(place.tree)
        drafts = [] if self.purpose.is_side else turn_nodes(self.parts, place.known)
        links = chain_of(self.parts[place.known :], place.chain)
        made = self._write_turns(tree, place, drafts, links, agent)
        parent = made[-1] if made else self.transaction.node(tree.key, place.node)
        if place.link in {Link.SUMMARY, Link.WINDOW} and made:
            self._begin_segment(tree, made[0], place)
        self._begin_attempt(tree, parent, agent)
        nodes: list[JsonValue] = [row.ulid for row in made]
        payload: dict[str, JsonValue] = {"attempts": [self.exchange.attempt], "parent": parent.ulid}
        if nodes:
            self.scope.record(tree, "generate", {**payload, "nodes": nodes}, {"hide": nodes})
        else:
            self.scope.record(tree, "attempt", payload, {})
        for draft, row in zip(drafts, made, strict=True):
            for note in filter(None, draft.notes):
                Annotate(tree=tree.ulid, node=row.ulid, content=storable(note)).apply(self.scope)
        session = self._update_session(session, tree, parent)
        request = self._add_request(session, tree, place, parent)
        name_callers(self.transaction, session, tree, self.parts[place.known :] if made else [])
        return StartedExchange(
            tree=tree.ulid,
            session=session.key,
            request=request,
            node=parent.ulid,
            chain=links[-1] if links else place.chain,
            agent=agent,
            link=place.link,
            purpose=self.purpose,
        )

    def _write_turns(
        self, tree: TreeState, place: Place, drafts: Sequence[TurnNode], links: Sequence[bytes], agent: int
    ) -> list[NodeRow]:
        parent, made = self.transaction.node(tree.key, place.node), list[NodeRow]()
        for draft in drafts:
            parent = self._write(tree, parent, draft, agent)
            made.append(parent)
            add_key(self.transaction, self.token, links[draft.last - place.known], parent)
            if draft.role is Role.ASSISTANT:
                before = before_key(self.parts, draft.last + 1)
                add_reply_keys(self.transaction, self.token, parent, draft.parts, before, is_answer=False)
        if self.alias is not None:
            add_key(self.transaction, self.token, self.alias, parent)
        return made

    @property
    def _identity(self) -> str:
        """The session's id; side requests of clients without one have a session of their own."""
        if self.signs.session or not self.purpose.is_side:
            return self.signs.session
        return f"side requests of {self.signs.client}"

    def _place(self, session: SessionRow | None) -> Place:
        """Where the request belongs: in a known history, else at the root of its session's tree or of a new one."""
        # A document that is continued is no conversation, also where it begins with the same words.
        scope = "document" if self.exchange.wire is Wire.COMPLETIONS else ""
        start = chain_start(self.signs.agent + scope)
        place = None if self.purpose.is_side else self._continued(session, start)
        if place is not None:
            return place
        if session is None:
            return Place(link=Link.ROOT, tree=self._plant(), node=_ROOT, chain=start)
        at = session.head if self.purpose.is_side and session.head is not None else _ROOT
        return Place(link=Link.SESSION, tree=session.tree, node=at, chain=start)

    def _continued(self, session: SessionRow | None, start: bytes) -> Place | None:
        """The place in a known history."""
        named = self.body.get("previous_response_id")
        if isinstance(named, str) and named:
            rows = live_keys(self.transaction, self.token, [response_key(named)])
            if rows and rows[-1].more is not None:
                row = rows[-1]
                return Place(link=Link.RESPONSE, tree=row.tree, node=row.node, chain=row.more or start)
        if self.exchange.wire is Wire.COMPLETIONS:
            return self._continued_document(start)
        tree = head = None
        if session is not None:
            is_new_window = bool(session.window and self.signs.window and session.window != self.signs.window)
            tree, head = session.tree, session.head if is_new_window else None
        place = ParentSearch(
            self.transaction, self.token, self.parts, start, tree, head, bool(self.signs.session)
        ).find()
        if place is None:
            place = find_transcript(
                self.transaction, self.token, self.parts, session, start, has_tools=self.facts.has_tools
            )
            self.purpose = self.purpose if place is None else Purpose.COMPACTION
        elif place.summary is not None:
            change_request(self.transaction, place.summary.key, purpose=Purpose.COMPACTION.value)
        return place

    def _continued_document(self, start: bytes) -> Place | None:
        """The place of a prompt that continues a known document: the node holds only what is new of it."""
        whole = ParentSearch(self.transaction, self.token, self.parts, start).find()
        if whole is not None or len(self.parts) != 1:
            return whole
        prompt = self.parts[0].content
        known = find_document(self.transaction, self.token, prompt.text if isinstance(prompt, Text) else "")
        if known is None:
            return None
        self.alias = chain_of(self.parts, start)[-1]
        self.parts = [history_part(Side.CLIENT, 0, Text(known.rest))] if known.rest else []
        return Place(link=Link.PREFIX, tree=known.tree, node=known.node, chain=digest_of("rest", self.alias))

    def _joined_session(self, place: Place) -> SessionRow | None:
        """Of a client without ids: the session of the tree that its history is in."""
        if self._identity or place.link is Link.ROOT:
            return None
        return session_in(self.transaction, self.token, place.tree)

    def _new_session(self, tree: int) -> SessionRow:
        signs = self.signs
        parent = place = None
        if signs.agent:
            parent, place = calling_place(self.transaction, self.token, signs, self.parts)
        return add_session(
            self.transaction,
            {
                "token": self.token,
                "identity": self._identity,
                "agent_id": signs.agent,
                "client": signs.client,
                "title": self._title(),
                "tree": tree,
                "parent": None if parent is None else parent.key,
                "call_tree": None if place is None else place.tree,
                "call_node": None if place is None else place.node,
                "call_id": "" if place is None else place.call,
                "window": signs.window,
                "head": None,
                "created_at": self.scope.now,
                "updated_at": self.scope.now,
            },
        )

    def _title(self) -> str:
        if self.purpose.is_side:
            return ""
        said = next((part.text for part in self.parts if part.side is Side.CLIENT and part.text), "")
        return title_from(storable(said))[:_TITLE_LIMIT]

    def _plant(self) -> int:
        system = self.facts.system
        planted = Plant(
            title=self._title() or f"{self.signs.client}: side requests",
            system_context=storable(system) if len(system) <= _SYSTEM_LIMIT else "",
            visit=False,
        ).apply(self.scope)
        trees = schema.trees
        there = select(trees.c.key).where(trees.c.ulid == planted.id)
        return self.transaction.execute(there).scalar_one()

    def _tree_id(self, key: int) -> str:
        trees = schema.trees
        ulid = self.transaction.execute(select(trees.c.ulid).where(trees.c.key == key)).scalar_one_or_none()
        if ulid is None:
            raise NotFoundError("the tree of this session was deleted")
        return ulid

    def _agent(self) -> int:
        """The agent of the upstream's model: one for each, made when it first answers."""
        agents = schema.agents
        reference = f"{self.exchange.provider}:{self.exchange.model}"[:_NAME_LIMIT]
        kind = AGENT_TYPES.index(AgentType.MODEL)
        there = (
            select(agents.c.key)
            .where(agents.c.name == reference, agents.c.type == kind, agents.c.hidden.is_(None))
            .order_by(agents.c.key)
            .limit(1)
        )
        key = self.transaction.execute(there).scalar_one_or_none()
        if key is not None:
            return key
        self.scope.open_grove()
        row = add_agent(
            self.scope, reference, AgentType.MODEL, model_ref=reference, permissions=permission_bits(SUBJECT)
        )
        self.scope.record(None, "agent", {"agent": row.ulid}, {"hide": row.ulid, "is": agent_digest(row)})
        return row.key

    def _write(self, tree: TreeState, parent: NodeRow, draft: TurnNode, agent: int) -> NodeRow:
        is_said = draft.role is Role.ASSISTANT
        content = content_of(self.scope.blobs, draft.parts)
        return write_node(
            self.scope,
            tree,
            Draft(
                content=content,
                sources=((parent, SourceRole.PRIMARY),),
                role=draft.role,
                author=agent if is_said else None,
                written_at=self.scope.now if is_said else None,
            ),
        ).row

    def _begin_segment(self, tree: TreeState, first: NodeRow, place: Place) -> None:
        summary = place.summary
        add_segment(
            self.transaction,
            SegmentRow(
                tree=tree.key,
                node=first.key,
                summary=None if summary is None else summary.reply,
                replaced=None if summary is None else self._replaced(tree, summary.node),
                kept=place.kept,
                created_at=self.scope.now,
            ),
        )

    def _replaced(self, tree: TreeState, asked: int | None) -> int | None:
        """The last node of the path that a summary request followed: the one before its own question."""
        return None if asked is None else self.transaction.node(tree.key, asked).parent_node

    def _begin_attempt(self, tree: TreeState, parent: NodeRow, agent: int) -> None:
        """Keep the call with the bytes of its request, and those that came if others were sent."""
        exchange = self.exchange
        attempt = new_attempt(
            self.scope,
            tree,
            agent=agent,
            parent=parent.key,
            ulid=exchange.attempt,
            started_at=to_microseconds(exchange.requested_at),
        )
        save_manifest(self.transaction, tree.key, attempt["key"], exchange.manifest)
        put_request(self.scope, tree, attempt, cut_body(exchange.sent))
        if exchange.sent != exchange.received:
            add_body(self.transaction, tree.key, _sha256(exchange.received), exchange.received)
        note_attempt(self.scope, tree, attempt)

    def _update_session(self, session: SessionRow, tree: TreeState, node: NodeRow) -> SessionRow:
        changes: dict[str, Any] = {"updated_at": self.scope.now}
        if self.purpose is Purpose.TURN:
            changes |= {"head": node.key, "tree": tree.key}
            if self.signs.window:
                changes["window"] = self.signs.window
            if not session.title:
                changes["title"] = self._title()
        return change_session(self.transaction, session, **changes)

    def _add_request(self, session: SessionRow, tree: TreeState, place: Place, node: NodeRow) -> int:
        exchange, facts = self.exchange, self.facts
        return add_request(
            self.transaction,
            {
                "tree": tree.key,
                "session": session.key,
                "token": self.token,
                "attempt": exchange.attempt,
                "purpose": self.purpose.value,
                "wire": exchange.wire.value,
                "model": f"{exchange.provider}:{exchange.model}",
                "policy": exchange.policy,
                "linked": place.link.value,
                "node": node.key,
                "reply": None,
                "status": None,
                "has_tools": facts.has_tools,
                "system_hash": facts.system_hash,
                "tools_hash": facts.tools_hash,
                "received": _sha256(exchange.received),
                "changed": exchange.changed,
                "added": exchange.added,
                "first_byte": None,
                "error": "",
                "prompt_tokens": None,
                "cached_tokens": None,
                "started_at": to_microseconds(exchange.requested_at),
            },
        )


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
