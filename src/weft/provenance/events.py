"""Read a chain of events: check each link, and collect the fingerprints."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from weft.provenance.chain import event_hash
from weft.provenance.damaged_rows import pages, stamp_of
from weft.provenance.report import Findings
from weft.store import schema
from weft.store.session import Session


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A stored event with its JSON parsed."""

    ordinal: int
    kind: str
    created_at: int
    payload: dict[str, Any]
    hash: bytes


@dataclass(slots=True)
class Chain:
    """The end of a chain, the fingerprints in its events, and the time of its last event."""

    ulid: str
    count: int = 0
    head: bytes | None = None
    last: int = 0
    fingerprints: dict[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])
    compared: set[str] = field(default_factory=set[str])
    """Names of fingerprints that a row was compared with."""


def read_chain(
    session: Session, findings: Findings, tree: int, chain: Chain, agents: dict[int, str]
) -> Iterator[EventRecord]:
    """Every event in order, each checked against its hash and the one before it."""
    events, number = schema.events, 0
    findings.chain, findings.chain_key = chain.ulid, tree
    for page in pages(session, findings, events, events.c.ordinal, events.c.tree == tree):
        for row in page:
            name = f"{chain.ulid}/{row.ordinal}"
            chain.count += 1
            findings.events += 1
            findings.compare("event", name, "ordinal", row.ordinal, chain.count)
            findings.compare("event", name, "previous", row.previous, chain.head)
            if row.number <= number:
                findings.differs_in("event", name, "number", row.number)
            number = row.number
            # Goes on from what is stored: one changed event is one finding, not one and all after it.
            chain.head, chain.count = row.hash, row.ordinal
            record = _record(findings, chain, row, name, agents)
            if record is not None:
                chain.last = max(chain.last, record.created_at)
                _gather_fingerprints(chain, record)
                yield record


def _record(
    findings: Findings, chain: Chain, row: Any, name: str, agents: dict[int, str]
) -> EventRecord | None:
    stamp, agent = stamp_of(row.created_at), agents.get(row.agent)
    payload, inverse = _object(row.payload), _object(row.inverse)
    for value, known in (("payload", payload), ("inverse", inverse), ("created at", stamp)):
        if known is None:
            findings.differs_in("event", name, value, getattr(row, value.replace(" ", "_")))
    if agent is None:
        findings.differs_in("event", name, "agent", row.agent)
    if payload is None or inverse is None or stamp is None or agent is None:
        return None
    computed = event_hash(
        previous=row.previous,
        tree=chain.ulid,
        ordinal=row.ordinal,
        kind=row.kind,
        agent_id=agent,
        created_at=stamp,
        payload=payload,
        inverse=inverse,
    )
    findings.compare("event", name, "hash", row.hash, computed)
    return EventRecord(row.ordinal, row.kind, row.created_at, payload, row.hash)


def _object(stored: str) -> dict[str, Any] | None:
    """A JSON object, if it is spelled exactly as it was written."""
    try:
        value = orjson.loads(stored)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict) or orjson.dumps(value, option=orjson.OPT_SORT_KEYS) != stored.encode():
        return None
    return cast("dict[str, Any]", value)


def _gather_fingerprints(chain: Chain, record: EventRecord) -> None:
    facts = record.payload.get("facts")
    if not isinstance(facts, dict):
        return
    for name, digest in cast("dict[str, object]", facts).items():
        try:
            chain.fingerprints[name] = bytes.fromhex(digest) if isinstance(digest, str) else None
        except ValueError:
            chain.fingerprints[name] = b""
