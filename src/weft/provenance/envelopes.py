"""Requests in layers that a tree keeps: each against its event, and all that it points to."""

import json
from collections.abc import Iterator, Mapping

from sqlalchemy import select

from weft.context.layers.stored import named_snapshots
from weft.errors import InvalidInputError, LimitExceededError
from weft.provenance.facts import envelope_fact
from weft.provenance.holdings import Inspection, check_packed, vouch
from weft.provenance.rows import fetch, values_of
from weft.store import schema
from weft.store.packing import PackingError, unpack
from weft.store.session import Session

__all__ = ["check_envelopes"]

_envelopes = schema.envelopes


def check_envelopes(inspection: Inspection, names: Mapping[int, str]) -> None:
    """Every envelope is as it was kept, and the snapshots that it names are there."""
    session, findings, tree = inspection.session, inspection.findings, inspection.tree
    agents = inspection.agents.ulids
    places = select(_envelopes.c.node).where(_envelopes.c.tree == tree).distinct().order_by(_envelopes.c.node)
    for node in values_of(session, places, int):
        for row in fetch(session, findings, _envelopes, _envelopes.c.tree == tree, _envelopes.c.node == node):
            name = f"{names.get(row.node, str(row.node))}/{row.ordinal}"
            fact = envelope_fact(
                row._asdict(), names.get(row.node, str(row.node)), agents.get(row.agent, str(row.agent))
            )
            vouch(inspection, "envelope", name, "agent, provider, record, tokens or time", fact)
            if check_packed(findings, "envelope", name, row.gzip, row.sha256):
                for digest in _missing(session, tree, row.gzip):
                    findings.missing("envelope", name, f"snapshot {digest}")


def _missing(session: Session, tree: int, packed: bytes) -> Iterator[str]:
    try:
        record = json.loads(unpack(packed))
        named = set(named_snapshots(record, lambda name: _text(session, tree, name) or "[]"))
    except (PackingError, LimitExceededError, InvalidInputError, ValueError):
        # That it cannot be read was said already, of it or of the list.
        return
    for digest in sorted(named):
        if _text(session, tree, digest) is None:
            yield digest


def _text(session: Session, tree: int, digest: str) -> str | None:
    bodies = schema.bodies
    body = select(bodies.c.gzip).where(bodies.c.tree == tree, bodies.c.sha256 == bytes.fromhex(digest))
    packed = values_of(session, body, bytes)
    if not packed:
        return None
    try:
        return unpack(packed[0]).decode("utf-8", "surrogatepass")
    except (PackingError, LimitExceededError, UnicodeDecodeError):
        return ""
