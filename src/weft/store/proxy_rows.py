"""Sessions and requests that the context proxy recorded, and the keys that find their nodes."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, select, update

from weft.store import schema
from weft.store.rows import NodeRow
from weft.store.session import Session, in_batches
from weft.store.transaction import Transaction

_sessions, _requests, _keys = schema.proxy_sessions, schema.proxy_requests, schema.proxy_keys
_segments, _nodes = schema.proxy_segments, schema.nodes


class KeyRow(NamedTuple):
    """A hash that names a node."""

    key: int
    digest: bytes
    tree: int
    node: int
    more: bytes | None


class SessionRow(NamedTuple):
    """A program's session with one token."""

    key: int
    token: int
    identity: str
    """The client's own id of it; empty where it has none."""
    agent_id: str
    """The sub-agent's id; empty for the main one."""
    client: str
    title: str
    tree: int
    parent: int | None
    """The session whose call started it."""
    call_tree: int | None
    call_node: int | None
    call_id: str
    window: str
    head: int | None
    """The node of its last turn."""
    created_at: int
    updated_at: int


class RequestRow(NamedTuple):
    """One request of a session."""

    key: int
    tree: int
    session: int
    token: int
    attempt: str
    purpose: str
    wire: str
    model: str
    policy: str
    linked: str
    node: int | None
    reply: int | None
    status: int | None
    has_tools: bool
    system_hash: bytes
    tools_hash: bytes
    received: bytes
    changed: str
    added: int
    first_byte: int | None
    error: str
    prompt_tokens: int | None
    cached_tokens: int | None
    started_at: int


class SegmentRow(NamedTuple):
    """A node with which a history begins again."""

    tree: int
    node: int
    summary: int | None
    """The reply that took the place of the nodes before."""
    replaced: int | None
    """The last node that it replaced."""
    kept: int | None
    """The first node of the old path that the client kept."""
    created_at: int


def live_keys(session: Session, token: int, digests: Iterable[bytes]) -> list[KeyRow]:
    """What these hashes name, the newest last; without nodes that are pruned or undone."""
    rows: list[KeyRow] = []
    for batch in in_batches(dict.fromkeys(digests)):
        statement = (
            select(_keys.c.key, _keys.c.digest, _keys.c.tree, _keys.c.node, _keys.c.more)
            .join(_nodes, and_(_nodes.c.tree == _keys.c.tree, _nodes.c.key == _keys.c.node))
            .where(_keys.c.token == token, _keys.c.digest.in_(batch))
            .where(_nodes.c.pruned.is_(None), _nodes.c.hidden.is_(None))
            .order_by(_keys.c.key)
        )
        rows += [
            KeyRow(
                row.key, bytes(row.digest), row.tree, row.node, None if row.more is None else bytes(row.more)
            )
            for row in session.execute(statement)
        ]
    return rows


def add_key(
    transaction: Transaction, token: int, digest: bytes, node: NodeRow, more: bytes | None = None
) -> None:
    transaction.add(
        _keys, {"token": token, "digest": digest, "tree": node.tree, "node": node.key, "more": more}
    )


def _session(row: Any) -> SessionRow:
    return SessionRow._make(row)


def session_named(session: Session, token: int, identity: str, agent: str = "") -> SessionRow | None:
    """The session of that id; the newest, where several have it."""
    if not identity:
        return None
    there = (
        select(_sessions)
        .where(_sessions.c.token == token, _sessions.c.identity == identity, _sessions.c.agent_id == agent)
        .order_by(_sessions.c.key.desc())
        .limit(1)
    )
    return session.one(there, _session)


def sessions_of(session: Session, token: int, identity: str) -> list[SessionRow]:
    """A session and those of its sub-agents, the newest first."""
    there = (
        select(_sessions)
        .where(_sessions.c.token == token, _sessions.c.identity == identity)
        .order_by(_sessions.c.key.desc())
        .limit(64)
    )
    return [_session(row) for row in session.execute(there)]


def sessions_below(session: Session, parent: int) -> list[SessionRow]:
    there = select(_sessions).where(_sessions.c.parent == parent).order_by(_sessions.c.key)
    return [_session(row) for row in session.execute(there)]


def session_in(session: Session, token: int, tree: int) -> SessionRow | None:
    """The session of a tree that was used last."""
    there = (
        select(_sessions)
        .where(_sessions.c.token == token, _sessions.c.tree == tree)
        .order_by(_sessions.c.updated_at.desc(), _sessions.c.key.desc())
        .limit(1)
    )
    return session.one(there, _session)


def recent_sessions(session: Session, token: int, limit: int) -> list[SessionRow]:
    """The sessions of a token that were used last."""
    there = (
        select(_sessions)
        .where(_sessions.c.token == token, _sessions.c.head.is_not(None))
        .order_by(_sessions.c.updated_at.desc())
        .limit(limit)
    )
    return [_session(row) for row in session.execute(there)]


def add_session(transaction: Transaction, values: dict[str, Any]) -> SessionRow:
    key = transaction.insert(_sessions, values)
    return SessionRow(key=key, **values)


def change_session(transaction: Transaction, row: SessionRow, **values: Any) -> SessionRow:
    change_session_by_key(transaction, row.key, **values)
    return row._replace(**values)


def change_session_by_key(transaction: Transaction, key: int, **values: Any) -> None:
    transaction.execute(update(_sessions).where(_sessions.c.key == key).values(**values))


def add_request(transaction: Transaction, values: dict[str, Any]) -> int:
    return transaction.insert(_requests, values)


class RecentReply(NamedTuple):
    """A request that was answered, with the stored contents of its last node and of the answer."""

    request: RequestRow
    question: str
    reply: str
    """Contents as texts, or as JSON where they are more than a text."""
    question_kind: int
    reply_kind: int


def recent_replies(session: Session, token: int, purpose: str, limit: int) -> list[RecentReply]:
    """The requests of a token that were answered last."""
    asked, said = _nodes.alias(), _nodes.alias()
    question, reply = schema.texts.alias(), schema.texts.alias()
    there = (
        select(
            _requests,
            question.c.content.label("question"),
            reply.c.content.label("said"),
            asked.c.kind.label("question_kind"),
            said.c.kind.label("reply_kind"),
        )
        .join(said, and_(said.c.tree == _requests.c.tree, said.c.key == _requests.c.reply))
        .join(reply, and_(reply.c.tree == said.c.tree, reply.c.node == said.c.key))
        .join(asked, and_(asked.c.tree == _requests.c.tree, asked.c.key == _requests.c.node))
        .join(question, and_(question.c.tree == asked.c.tree, question.c.node == asked.c.key))
        .where(_requests.c.token == token, _requests.c.purpose == purpose)
        .where(said.c.pruned.is_(None), said.c.hidden.is_(None))
        .order_by(_requests.c.key.desc())
        .limit(limit)
    )
    width = len(_requests.c)
    return [
        RecentReply(RequestRow._make(row[:width]), row.question, row.said, row.question_kind, row.reply_kind)
        for row in session.execute(there)
    ]


def change_request(transaction: Transaction, request: int, **values: Any) -> None:
    transaction.execute(update(_requests).where(_requests.c.key == request).values(**values))


def add_segment(transaction: Transaction, row: SegmentRow) -> None:
    transaction.add(_segments, row._asdict())


def segments_in(session: Session, tree: int, nodes: Sequence[int] | None = None) -> list[SegmentRow]:
    """The segments of a tree, or those that begin at one of these nodes."""
    there = select(_segments).where(_segments.c.tree == tree).order_by(_segments.c.node)
    if nodes is not None:
        there = there.where(session.dialect.among(_segments.c.node, nodes))
    return [SegmentRow._make(row) for row in session.execute(there)]
