"""Attempts that have ended, in the order of the events that ended them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from weft.runtime.events.log import Event, EventLog
from weft.runtime.operations.node_values import heading_of
from weft.runtime.operations.permissions import agent_row
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.path_queries import walk_up
from weft.store.request_records import request_segments
from weft.store.rows import OUTCOMES, load_content
from weft.store.session import Session
from weft.store.tree_queries import node_row
from weft.tree.attempt import AttemptOutcome
from weft.tree.content import spoken_text
from weft.tree.json import JsonValue
from weft.tree.json_names import from_microseconds
from weft.tree.tree import Mode

_BATCH = 500
_FARTHEST = 64
"""How many nodes above an attempt its predecessor is looked for."""
_attempts, _responses, _choices = schema.attempts, schema.responses, schema.node_responses


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAttempt:
    """One call of a model that has ended, with what was stored of it."""

    id: str
    tree: str
    mode: Mode
    parent: str
    nodes: Sequence[str]
    agent: str
    agent_name: str
    provider: str
    model: str
    response_model: str | None
    request_id: str | None
    status_code: int | None
    outcome: AttemptOutcome
    error: str | None
    started_at: datetime
    ended_at: datetime
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_read: int | None
    cached_write: int | None
    previous: str | None
    """The attempt that the nearest node above came from."""
    request: JsonValue = None
    """The body that was sent; only where contents are asked for."""
    texts: Sequence[str] = ()
    """What the nodes say; likewise."""


@dataclass(frozen=True, slots=True)
class AttemptBatch:
    attempts: Sequence[FinishedAttempt]
    cursor: str
    """Continues after these."""
    complete: bool
    """True if there was no more to read."""


def read_finished(log: EventLog, after: str | None, *, contents: bool = False) -> AttemptBatch:
    """The attempts that the next events ended; each in the first batch that can have it."""
    batch = log.read(after=after, limit=_BATCH)
    with log.store.read() as session:
        attempts = [each for event in batch.events for each in _ended_by(session, event, contents=contents)]
    return AttemptBatch(attempts, batch.cursor, len(batch.events) < _BATCH)


def _ended_by(session: Session, event: Event, *, contents: bool) -> Iterator[FinishedAttempt]:
    named = event.payload.get("attempts") or event.payload.get("attempt")
    names = [named] if isinstance(named, str) else named
    if event.tree_id is None or not isinstance(names, Iterable):
        return
    trees = schema.trees
    if session.execute(select(trees.c.key).where(trees.c.ulid == event.tree_id)).one_or_none() is None:
        # Deleted since.
        return
    tree = find_tree(session, event.tree_id)
    for name in names:
        here = _attempts.c.tree == tree, _attempts.c.ulid == str(name)
        row = session.execute(select(_attempts).where(*here)).one_or_none()
        # The event that began the call names it too; the one that ended it is not earlier than its end.
        if row is None or row.ended_at is None or from_microseconds(row.ended_at) > event.created_at:
            continue
        yield _attempt(session, tree, row, contents=contents)


def _attempt(session: Session, tree: int, row: Any, *, contents: bool) -> FinishedAttempt:
    heading, agent = heading_of(session, tree), agent_row(session, row.agent)
    provider, _, model = (agent.model_ref or "").partition(":")
    response = _response(session, tree, row.response)
    parent = node_row(session, tree, row.parent)
    nodes = _nodes_of(session, tree, row.response)
    return FinishedAttempt(
        id=row.ulid,
        tree=heading.ulid,
        mode=heading.mode,
        parent=parent.ulid,
        nodes=[each.ulid for each in nodes],
        agent=agent.ulid,
        agent_name=agent.name,
        provider=response.provider if response is not None else provider,
        model=model,
        response_model=None if response is None else response.model,
        request_id=None if response is None else response.request_id,
        status_code=None if response is None else response.status_code,
        outcome=OUTCOMES[int(row.outcome)],
        error=row.error,
        started_at=from_microseconds(row.started_at),
        ended_at=from_microseconds(row.ended_at),
        prompt_tokens=None if response is None else response.prompt_tokens,
        completion_tokens=None if response is None else response.completion_tokens,
        cached_read=None if response is None else response.cached_read,
        cached_write=None if response is None else response.cached_write,
        previous=_previous(session, tree, parent.position),
        request=_request(session, tree, row.key) if contents else None,
        texts=_texts(session, tree, [each.key for each in nodes]) if contents else (),
    )


def _response(session: Session, tree: int, key: int | None) -> Any:
    here = _responses.c.tree == tree, _responses.c.key == key
    return None if key is None else session.execute(select(_responses).where(*here)).one_or_none()


def _nodes_of(session: Session, tree: int, response: int | None) -> list[Any]:
    nodes = schema.nodes
    if response is None:
        return []
    statement = (
        select(nodes.c.ulid, nodes.c.key)
        .join(_choices, (_choices.c.tree == nodes.c.tree) & (_choices.c.node == nodes.c.key))
        .where(nodes.c.tree == tree, _choices.c.response == response)
        .order_by(_choices.c.choice)
    )
    return list(session.execute(statement))


def _previous(session: Session, tree: int, position: int) -> str | None:
    """The attempt of the nearest node above that a model answered with."""
    above = [row.key for row in walk_up(session, tree, position, _FARTHEST)]
    statement = (
        select(_choices.c.node, _attempts.c.ulid)
        .join(
            _attempts, (_attempts.c.tree == _choices.c.tree) & (_attempts.c.response == _choices.c.response)
        )
        .where(_choices.c.tree == tree, session.dialect.among(_choices.c.node, above))
    )
    answers = {row.node: row.ulid for row in session.execute(statement)}
    return next((answers[key] for key in reversed(above) if key in answers), None)


def _request(session: Session, tree: int, attempt: int) -> JsonValue:
    try:
        return json.loads(b"".join(request_segments(session, tree, attempt)))
    except ValueError:
        return None


def _texts(session: Session, tree: int, keys: Sequence[int]) -> list[str]:
    texts, nodes = schema.texts, schema.nodes
    statement = (
        select(nodes.c.key, nodes.c.kind, texts.c.content)
        .join(texts, (texts.c.tree == nodes.c.tree) & (texts.c.node == nodes.c.key))
        .where(nodes.c.tree == tree, session.dialect.among(nodes.c.key, list(keys)))
    )
    stored = {row.key: spoken_text(load_content(row.kind, row.content)) for row in session.execute(statement)}
    return [stored[key] for key in keys if key in stored]
