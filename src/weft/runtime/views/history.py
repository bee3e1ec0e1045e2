"""What happened in a tree or in the grove: who, when, what, and whether it still holds."""

import json
from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import select

from weft.runtime.operations.permissions import agent_row
from weft.store import schema
from weft.store.session import Session
from weft.tree.event_kinds import STEP_KINDS, HistoryEntry
from weft.tree.json_names import from_microseconds

_events = schema.events


def history_of(
    session: Session, chain: int, *, limit: int, before: int | None = None, agent: int | None = None
) -> list[HistoryEntry]:
    """The latest events of a chain (before an ordinal, by an agent), oldest first."""
    own = select(_events).where(_events.c.tree == chain).order_by(_events.c.ordinal.desc()).limit(limit)
    if before is not None:
        own = own.where(_events.c.ordinal < before)
    if agent is not None:
        own = own.where(_events.c.agent == agent)
    rows = session.execute(own).all()[::-1]
    undone = _undone_among(session, chain, rows)
    payloads: list[dict[str, Any]] = [json.loads(row.payload) for row in rows]
    local = _local_ids(session, chain, {ulid for payload in payloads for ulid in _about(payload)})
    names = {key: agent_row(session, key) for key in {row.agent for row in rows}}
    return [
        HistoryEntry(
            ordinal=row.ordinal,
            kind=row.kind,
            agent_id=names[row.agent].ulid,
            agent_name=names[row.agent].name,
            created_at=from_microseconds(row.created_at),
            payload=payload,
            nodes=tuple(local[ulid] for ulid in _about(payload) if ulid in local),
            undone=row.ordinal in undone,
        )
        for row, payload in zip(rows, payloads, strict=True)
    ]


def _about(payload: dict[str, Any]) -> list[str]:
    """Ids of the nodes that an event made or changed."""
    for name in ("nodes", "node", "to"):
        found = payload.get(name)
        if isinstance(found, list) and found:
            return cast("list[str]", found)
        if isinstance(found, str):
            return [found]
    return []


def _local_ids(session: Session, tree: int, ulids: set[str]) -> dict[str, str]:
    nodes = schema.nodes
    named = select(nodes.c.ulid, nodes.c.local_id).where(nodes.c.tree == tree, nodes.c.ulid.in_(ulids))
    return {row.ulid: row.local_id for row in session.execute(named)}


def _undone_among(session: Session, chain: int, rows: Sequence[Any]) -> set[int]:
    """Which of the events do not hold any more: the last undo or redo that names one decides."""
    if not rows:
        return set()
    steps = session.execute(
        select(_events.c.payload)
        .where(
            _events.c.tree == chain,
            _events.c.ordinal > rows[0].ordinal,
            _events.c.kind.in_(sorted(STEP_KINDS)),
        )
        .order_by(_events.c.ordinal)
    )
    undone: set[int] = set()
    for step in steps:
        payload = json.loads(step.payload)
        if "undoes" in payload:
            undone.add(payload["undoes"])
        else:
            undone.discard(payload["redoes"])
    return undone
