"""Requests in layers, kept with the turn that they were made for."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import select, update

from weft.context.envelope import sha256_of
from weft.errors import InvalidInputError, NotFoundError
from weft.ids import is_ulid
from weft.provenance.fingerprints import envelope_fingerprint
from weft.runtime.operations.attempts import agent_key
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.packed_bodies import add_snapshots
from weft.store.request_records import next_ordinal, packed_record
from weft.store.rows import NodeRow, TreeState
from weft.tree.agent import Permission
from weft.tree.content import check_text
from weft.tree.json import JsonObject

_envelopes = schema.envelopes
_MOST = 2**31 - 1


class EnvelopeKey(NamedTuple):
    """Which envelope of which turn."""

    tree_id: str
    node_id: str
    ordinal: int


class KeepEnvelope(Editing, verb="envelope", permission=Permission.LOOM_GENERATE):
    """Keep a request: L3's entries, and pointers to snapshots that turns share."""

    tree: str
    node: str
    agent: str
    provider: str
    record: JsonObject
    snapshots: Mapping[str, str]
    prefix: bytes
    """Beginnings of the hashes of what the request is made of, in order: for predictions."""
    total: int
    predicted: int
    attempt: str | None = None
    """The id of the call, where it is known already."""

    def apply(self, scope: Scope) -> EnvelopeKey:
        tree = scope.open_tree(self.tree)
        row = scope.node(tree, self.node)
        agent = (
            agent_key(scope, self.agent) if is_ulid(self.agent) else find_agent(scope.transaction, self.agent)
        )
        check_text(self.provider, what="provider", limit=1_000)
        if self.attempt is not None and not is_ulid(self.attempt):
            raise InvalidInputError(f"{self.attempt[:60]!r} is not the id of an attempt", hint="give a ULID")
        add_snapshots(scope.transaction, tree.key, self.snapshots)
        return _add(
            scope,
            tree,
            row,
            self.record,
            agent=agent,
            provider=self.provider,
            attempt=self.attempt,
            prefix=self.prefix,
            total=min(self.total, _MOST),
            predicted=min(self.predicted, _MOST),
        )


def add_legacy_text(scope: Scope, tree: TreeState, row: NodeRow, text: str) -> EnvelopeKey:
    """Keep what was sent for a message that was saved elsewhere, without an envelope."""
    check_text(text, what="processedText")
    digest = sha256_of(text)
    add_snapshots(scope.transaction, tree.key, {digest: text})
    record: JsonObject = {"version": 0, "processedText": digest}
    return _add(scope, tree, row, record, agent=scope.actor.agent, legacy=True)


class ReportCached(Editing, verb="envelope", permission=Permission.LOOM_GENERATE):
    """How many tokens of a request the provider says it had cached."""

    envelope: EnvelopeKey
    cached: int

    def apply(self, scope: Scope) -> None:
        if not 0 <= self.cached <= _MOST:
            raise InvalidInputError(f"{self.cached} tokens cannot have been cached")
        tree = scope.open_tree(self.envelope.tree_id)
        row = scope.node(tree, self.envelope.node_id)
        here = (
            (_envelopes.c.tree == tree.key)
            & (_envelopes.c.node == row.key)
            & (_envelopes.c.ordinal == self.envelope.ordinal)
        )
        stored = scope.transaction.execute(select(_envelopes).where(here)).mappings().one_or_none()
        if stored is None:
            raise NotFoundError(f"[{row.local_id}] has no envelope {self.envelope.ordinal}")
        if stored["cached"] == self.cached:
            return
        scope.transaction.execute(update(_envelopes).where(here).values(cached=self.cached))
        _record(scope, tree, row, {**stored, "cached": self.cached})


def _add(scope: Scope, tree: TreeState, row: NodeRow, record: JsonObject, **given: Any) -> EnvelopeKey:
    digest, packed = packed_record(record)
    values: dict[str, Any] = {
        "tree": tree.key,
        "node": row.key,
        "ordinal": next_ordinal(scope.transaction, tree.key, row.key),
        "provider": "",
        "attempt": None,
        "legacy": False,
        "sha256": digest,
        "gzip": packed,
        "prefix": b"",
        "total": 0,
        "predicted": 0,
        "cached": None,
        "created_at": scope.now,
        **given,
    }
    scope.transaction.add(_envelopes, values)
    _record(scope, tree, row, values)
    return EnvelopeKey(tree.ulid, row.ulid, values["ordinal"])


def _record(scope: Scope, tree: TreeState, row: NodeRow, values: Mapping[Any, Any]) -> None:
    scope.add_fingerprint(
        envelope_fingerprint(values, row.ulid, scope.transaction.agent(values["agent"]).ulid)
    )
    scope.record(tree, "envelope", {"node": row.ulid, "ordinal": values["ordinal"]}, {})
