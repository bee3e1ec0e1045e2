"""The two chains: nodes over their sources, events over their predecessors.

A chain shows that nothing was changed or taken out without redoing all that
follows. It does not stop someone who redoes everything; timestamps do.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import orjson
import rfc8785

from weft.tree.content import Content, Text, content_to_wire
from weft.tree.json import JsonObject, camel

NODE_ALGORITHM = "weft-node-1"
EVENT_ALGORITHM = "weft-event-1"


class NodeFacts(NamedTuple):
    """Everything a node's hash covers."""

    tree_id: str
    node_id: str
    content: Content
    role: str
    status: str
    edge_type: str | None
    sources: Sequence[tuple[str, str, str]]
    """(id, role, content hash) in order; of the parent, the version that was selected."""
    edited_from: str | None
    attachments: Sequence[tuple[str, str]]
    """(id, SHA-256) in order."""
    created_at: str
    author_id: str
    response_sha256: str | None = None


_NODE_NAMES = tuple(camel(name) for name in NodeFacts._fields)


def content_hash(facts: NodeFacts) -> bytes:
    """SHA-256 over the RFC 8785 form of a node's content, place, author and time."""
    value = hashed_value(facts)
    canonical = _canonical_plain(value) if isinstance(facts.content, Text) else rfc8785.dumps(value)  # pyright: ignore[reportArgumentType] - checked content is JSON
    return hashlib.sha256(canonical).digest()


def hashed_value(facts: NodeFacts) -> dict[str, object]:
    """What is hashed, as JSON: enough for anyone to compute the hash again."""
    value: dict[str, object] = dict(zip(_NODE_NAMES, facts, strict=True))
    value["algorithm"] = NODE_ALGORITHM
    value["content"] = content_to_wire(facts.content)
    value["sources"] = [list(source) for source in facts.sources]
    value["attachments"] = [list(item) for item in facts.attachments]
    if facts.response_sha256 is None:
        del value["responseSha256"]
    return value


def event_hash(
    *,
    previous: bytes | None,
    tree: str,
    ordinal: int,
    kind: str,
    agent_id: str,
    created_at: str,
    payload: JsonObject,
    inverse: JsonObject,
) -> bytes:
    """SHA-256 over one event and the hash of the one before it."""
    value: dict[str, object] = {
        "algorithm": EVENT_ALGORITHM,
        "previous": None if previous is None else previous.hex(),
        "tree": tree,
        "ordinal": str(ordinal),
        "kind": kind,
        "agentId": agent_id,
        "createdAt": created_at,
        "payload": payload,
        "inverse": inverse,
    }
    return hashlib.sha256(_canonical_plain(value)).digest()


def _canonical_plain(value: dict[str, object]) -> bytes:
    """RFC 8785 for values without fractions and with ASCII keys: there it equals this, which is faster."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
