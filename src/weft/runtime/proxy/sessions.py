"""Views of what the proxy recorded: sessions, their requests, histories, and what compactions lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case, func, select

from weft.errors import NotFoundError
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.permissions import require_access, trees_allowed
from weft.runtime.proxy.ledger import CompactionLedger, compare_texts
from weft.runtime.proxy.policy import OWNER, SetProxyPolicy, TokenPolicy, policies
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.path_queries import walk_up
from weft.store.proxy_rows import SegmentRow, segments_in
from weft.store.session import Session
from weft.store.tree_queries import node_rows
from weft.tree.access import MemberRole
from weft.tree.content import plain_text
from weft.tree.json_names import from_microseconds
from weft.tree.node import Node

_sessions, _requests, _segments = schema.proxy_sessions, schema.proxy_requests, schema.proxy_segments
_trees, _tokens = schema.trees, schema.tokens
_DAY = 24 * 3_600 * 1_000_000
_MOST_REQUESTS = 100_000
"""Requests that the figures of a day are made of, at most: the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySession:
    """A program's session, as a list shows it."""

    id: int
    client: str
    token: str
    """The token's id; `owner` for the server's own."""
    label: str
    """What the token is for."""
    title: str
    identity: str
    agent_id: str
    tree_id: str
    parent: int | None
    """The session whose call started it."""
    call_tree_id: str | None
    call_node: str | None
    call_id: str
    head: str | None
    requests: int
    side_requests: int
    failed: int
    branches: int
    """Places of the tree where it divides."""
    compactions: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequest:
    """One request of a session."""

    id: int
    session: int
    tree_id: str
    attempt: str
    purpose: str
    wire: str
    model: str
    policy: str
    linked: str
    """How it was joined to its tree."""
    node: str | None
    reply: str | None
    status: int | None
    error: str
    changed: str
    received_sha256: str
    system_sha256: str
    tools_sha256: str
    has_tools: bool
    added_ms: float
    first_byte_ms: float | None
    prompt_tokens: int | None
    cached_tokens: int | None
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """A summary that a client put in the place of a history, and what it lost."""

    tree_id: str
    node: str
    """The first node after it."""
    summary: str | None
    """The node of the summary."""
    replaced: tuple[str, ...]
    """The nodes that it replaced, root side first; all of them are kept."""
    kept: tuple[str, ...]
    """Nodes of the old path that the client kept as they were."""
    created_at: datetime
    ledger: CompactionLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyDay:
    """Figures of the last 24 hours."""

    requests: int
    failed: int
    added_ms: float | None
    """Time that Weft added to the first byte, at the median."""
    added_ms_p99: float | None
    prompt_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyTokenUse:
    """A token, its policy, and how it was used in the last 24 hours."""

    id: str
    label: str
    policy: str
    window: int | None
    clients: tuple[str, ...]
    day: ProxyDay


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyUsage:
    """How the proxy is used."""

    day: ProxyDay
    tokens: tuple[ProxyTokenUse, ...]


@dataclass(frozen=True, slots=True)
class ProxyRecords:
    """What was recorded, as far as the caller may see it."""

    caller: Caller

    def set_policy(self, token: str, policy: str, *, window: int | None = None) -> TokenPolicy:
        """Set what the proxy does with the requests of a token: `record`, `strict` or `fit`."""
        return self.caller.perform(SetProxyPolicy(token=token, policy=policy, window=window))

    def sessions(
        self, *, limit: int = 100, before: int | None = None, tree: str | None = None
    ) -> list[ProxySession]:
        """The sessions that were used last, with those of their sub-agents."""
        with self.caller.reading() as session:
            conditions: list[ColumnElement[bool]] = []
            if before is not None:
                conditions.append(_sessions.c.key < before)
            if tree is not None:
                conditions.append(_sessions.c.tree == find_tree(session, tree))
            return self._sessions(session, conditions, limit)

    def session(self, number: int) -> ProxySession:
        with self.caller.reading() as session:
            listed = self._sessions(session, [_sessions.c.key == number], 1)
        if not listed:
            raise NotFoundError(f"no session {number}", hint="weft proxy lists them")
        return listed[0]

    def _sessions(
        self, session: Session, conditions: Sequence[ColumnElement[bool]], limit: int
    ) -> list[ProxySession]:
        counts = (
            select(
                _requests.c.session,
                func.count().label("requests"),
                func.sum(case((_requests.c.purpose.in_(["turn", "compaction"]), 0), else_=1)).label("side"),
                func.sum(case((_requests.c.error != "", 1), else_=0)).label("failed"),
            )
            .group_by(_requests.c.session)
            .subquery()
        )
        compactions = (
            select(_segments.c.tree, func.count().label("compactions")).group_by(_segments.c.tree).subquery()
        )
        statement = (
            select(
                *_sessions.c,
                _trees.c.ulid.label("tree_id"),
                _trees.c.branches,
                _tokens.c.ulid.label("token_id"),
                _tokens.c.label,
                func.coalesce(counts.c.requests, 0).label("requests"),
                func.coalesce(counts.c.side, 0).label("side"),
                func.coalesce(counts.c.failed, 0).label("failed"),
                func.coalesce(compactions.c.compactions, 0).label("compactions"),
            )
            .join(_trees, _trees.c.key == _sessions.c.tree)
            .outerjoin(_tokens, _tokens.c.key == _sessions.c.token)
            .outerjoin(counts, counts.c.session == _sessions.c.key)
            .outerjoin(compactions, compactions.c.tree == _sessions.c.tree)
            .where(*conditions, *self._visible(session))
            .order_by(_sessions.c.key.desc())
            .limit(limit)
        )
        rows = session.execute(statement).all()
        names = _node_names(
            session, [(row.tree, row.head) for row in rows] + [(row.call_tree, row.call_node) for row in rows]
        )
        call_trees = _tree_names(session, [row.call_tree for row in rows])
        return [
            ProxySession(
                id=row.key,
                client=row.client,
                token=row.token_id or "owner",
                label=row.label or "",
                title=row.title,
                identity=row.identity,
                agent_id=row.agent_id,
                tree_id=row.tree_id,
                parent=row.parent,
                call_tree_id=call_trees.get(row.call_tree),
                call_node=names.get((row.call_tree, row.call_node)),
                call_id=row.call_id,
                head=names.get((row.tree, row.head)),
                requests=row.requests,
                side_requests=row.side,
                failed=row.failed,
                branches=max(0, row.branches - 1),
                compactions=row.compactions,
                created_at=from_microseconds(row.created_at),
                updated_at=from_microseconds(row.updated_at),
            )
            for row in rows
        ]

    def requests(self, number: int, *, limit: int = 200, after: int = 0) -> list[ProxyRequest]:
        """The requests of a session in order, side requests among them."""
        self.session(number)
        with self.caller.reading() as session:
            statement = (
                select(_requests, _trees.c.ulid.label("tree_id"))
                .join(_trees, _trees.c.key == _requests.c.tree)
                .where(_requests.c.session == number, _requests.c.key > after)
                .order_by(_requests.c.key)
                .limit(limit)
            )
            rows = session.execute(statement).all()
            names = _node_names(
                session, [(row.tree, row.node) for row in rows] + [(row.tree, row.reply) for row in rows]
            )
        return [
            ProxyRequest(
                id=row.key,
                session=row.session,
                tree_id=row.tree_id,
                attempt=row.attempt,
                purpose=row.purpose,
                wire=row.wire,
                model=row.model,
                policy=row.policy,
                linked=row.linked,
                node=names.get((row.tree, row.node)),
                reply=names.get((row.tree, row.reply)),
                status=row.status,
                error=row.error,
                changed=row.changed,
                received_sha256=bytes(row.received).hex(),
                system_sha256=bytes(row.system_hash).hex(),
                tools_sha256=bytes(row.tools_hash).hex(),
                has_tools=bool(row.has_tools),
                added_ms=row.added / 1_000,
                first_byte_ms=None if row.first_byte is None else row.first_byte / 1_000,
                prompt_tokens=row.prompt_tokens,
                cached_tokens=row.cached_tokens,
                started_at=from_microseconds(row.started_at),
            )
            for row in rows
        ]

    def usage(self) -> ProxyUsage:
        """Figures of the last day, in all and by token, and the tokens' policies."""
        since = self.caller.executor.clock() - _DAY
        with self.caller.reading() as session:
            visible = self._visible(session)
            statement = (
                select(
                    _requests.c.token,
                    _requests.c.added,
                    _requests.c.error,
                    _requests.c.prompt_tokens,
                    _requests.c.cached_tokens,
                    _requests.c.first_byte,
                    _sessions.c.client,
                )
                .join(_sessions, _sessions.c.key == _requests.c.session)
                .where(_requests.c.started_at >= since, *visible)
                .order_by(_requests.c.key.desc())
                .limit(_MOST_REQUESTS)
            )
            rows = session.execute(statement).all()
            named = select(_tokens.c.key, _tokens.c.ulid, _tokens.c.label).order_by(_tokens.c.key)
            if visible:
                named = named.where(_tokens.c.user == self.caller.actor.user)
            tokens = [(0, OWNER, ""), *((row.key, row.ulid, row.label) for row in session.execute(named))]
            known = policies(session)
        uses: list[ProxyTokenUse] = []
        for key, name, label in tokens:
            own = [row for row in rows if row.token == key]
            if own or name in known or name != OWNER:
                policy = known.get(name, TokenPolicy())
                uses.append(
                    ProxyTokenUse(
                        id=name,
                        label=label,
                        policy=policy.mode.value,
                        window=policy.window,
                        clients=tuple(sorted({row.client for row in own})),
                        day=_day_of(own),
                    )
                )
        return ProxyUsage(day=_day_of(rows), tokens=tuple(uses))

    def history(self, tree: str, node: str) -> list[Node]:
        """The path to a node as the client sent it: since the last compaction, without the empty root."""
        reader = Reader.of(self.caller)
        path = reader.path(tree, node, tail=10_000_000).nodes
        with self.caller.reading() as session:
            key = find_tree(session, tree)
            begins = {row.node for row in segments_in(session, key)}
            rows = node_rows(session, key, begins)
        named = {row.ulid for row in rows.values()}
        first = max((at for at, each in enumerate(path) if each.id in named), default=1)
        return list(path[first:])

    def compactions(self, tree: str) -> list[Compaction]:
        """The compactions of a tree, each with its ledger."""
        with self.caller.reading() as session:
            key = find_tree(session, tree)
            require_access(session, self.caller.actor, MemberRole.READER, key)
            segments = segments_in(session, key)
        return [self._compaction(tree, key, segment) for segment in segments]

    def _compaction(self, tree: str, key: int, segment: SegmentRow) -> Compaction:
        with self.caller.reading() as session:
            kept_from = segment.kept
            first = node_rows(session, key, [segment.node])[segment.node]
            last = segment.replaced if segment.replaced is not None else first.parent_node
            rows = (
                [] if last is None else walk_up(session, key, node_rows(session, key, [last])[last].position)
            )
            names = _node_names(session, [(key, segment.node), (key, segment.summary)])
        begins = {row.node for row in self._segments(key) if row.node != segment.node}
        start = max((at for at, row in enumerate(rows) if row.key in begins), default=1)
        cut = next((at for at, row in enumerate(rows) if row.key == kept_from), len(rows))
        replaced, kept = rows[start:cut], rows[cut:]
        reader = Reader.of(self.caller)
        before = [(row.local_id, plain_text(reader.node(tree, row.ulid).content)) for row in replaced]
        shown = [plain_text(node.content) for node in self._after(reader, tree, names, key, segment)]
        return Compaction(
            tree_id=Reader.of(self.caller).tree(tree).id,
            node=names[key, segment.node],
            summary=names.get((key, segment.summary)),
            replaced=tuple(row.ulid for row in replaced),
            kept=tuple(row.ulid for row in kept),
            created_at=from_microseconds(segment.created_at),
            ledger=compare_texts(before, "\n".join(shown)),
        )

    def _after(
        self,
        reader: Reader,
        tree: str,
        names: dict[tuple[int, int | None], str],
        key: int,
        segment: SegmentRow,
    ) -> list[Node]:
        """What the client has instead: the summary and the node that begins with it."""
        listed = [names.get((key, segment.summary)), names[key, segment.node]]
        return [reader.node(tree, each) for each in listed if each is not None]

    def _segments(self, key: int) -> list[SegmentRow]:
        with self.caller.reading() as session:
            return segments_in(session, key)

    def _visible(self, session: Session) -> list[ColumnElement[bool]]:
        """Only trees that the caller may read."""
        allowed = trees_allowed(session, self.caller.actor)
        return [] if allowed is None else [session.dialect.among(_sessions.c.tree, sorted(allowed))]


def _day_of(rows: Sequence[Any]) -> ProxyDay:
    added = sorted(row.added / 1_000 for row in rows if row.first_byte is not None)
    counted = [row for row in rows if row.prompt_tokens is not None]
    return ProxyDay(
        requests=len(rows),
        failed=sum(1 for row in rows if row.error),
        added_ms=added[len(added) // 2] if added else None,
        added_ms_p99=added[min(len(added) - 1, len(added) * 99 // 100)] if added else None,
        prompt_tokens=sum(row.prompt_tokens for row in counted),
        cached_tokens=sum(row.cached_tokens or 0 for row in counted),
    )


def _node_names(
    session: Session, places: Sequence[tuple[int | None, int | None]]
) -> dict[tuple[int, int | None], str]:
    """Ids of nodes by tree and key."""
    nodes = schema.nodes
    names: dict[tuple[int, int | None], str] = {}
    by_tree: dict[int, set[int]] = {}
    for tree, node in places:
        if tree is not None and node is not None:
            by_tree.setdefault(tree, set()).add(node)
    for tree, keys in by_tree.items():
        there = select(nodes.c.key, nodes.c.ulid).where(
            nodes.c.tree == tree, session.dialect.among(nodes.c.key, sorted(keys))
        )
        names |= {(tree, row.key): row.ulid for row in session.execute(there)}
    return names


def _tree_names(session: Session, keys: Sequence[int | None]) -> dict[int | None, str]:
    wanted = sorted({key for key in keys if key is not None})
    there = select(_trees.c.key, _trees.c.ulid).where(session.dialect.among(_trees.c.key, wanted))
    return {row.key: row.ulid for row in session.execute(there)} if wanted else {}
