"""Fingerprints: the SHA-256 of values that no node hash covers, kept in events; never the values.

An operation adds them as it writes; verify computes them again from the rows. Both use these
functions, so they cannot drift apart. Rows are named by ULIDs, never by keys: keys belong to one
database and differ where a tree was moved.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Table

from weft.store import schema
from weft.tree.json import camel

Row = Mapping[Any, Any]

SEAL = "seal"
"""Where the body of a row of an agent's trace has its hash."""

TREE_FIELDS = (
    *("title", "description", "mode", "system_context", "buffer_mode_system_context", "preferences"),
    "created_at",
)
_COVERED: dict[str, str] = {
    "agent": "name type model_ref configuration permissions created_at archived_at hidden",
    "attempt": "outcome idempotency_key error started_at ended_at",
    "citations": "ordinal number source title start end",
    "document": "title revision created_at updated_at archived_at hidden",
    "envelope": "provider attempt sha256 prefix total predicted cached created_at",
    "memory": "kind label body created_at removed",
    "project": "name system_prompt context revision created_at archived_at hidden",
    "projectRevision": "name system_prompt context created_at hidden",
    "record": "user project session topic stream id create_time document hidden",
    "response": "provider model request_id status_code requested_at responded_at prompt_tokens"
    " completion_tokens total_tokens cached_read cached_write",
    "tag": "kind label created_at removed",
    "timestamp": "target statement digest authority token certificates certified_at created_at",
    "token": "hash label created_at expires_at revoked_at",
    "toolResult": "tool arguments sha256 size lines created_at",
    "trace": "ordinal kind label created_at removed",
    "typing": "kept removed added",
    "vault": "name path created_at removed",
}
"""The columns that the fingerprint of a row covers, in this order, after what the functions below add."""
_COLUMNS = {kind: tuple(columns.split()) for kind, columns in _COVERED.items()}


class Fingerprint(NamedTuple):
    """A name within its chain, and the digest of the value; None where the row was removed."""

    name: str
    digest: str | None


def digest_of(*values: Any) -> str:
    """SHA-256 over the values as JSON; bytes as hex."""
    return hashlib.sha256(orjson.dumps(values, default=_hex)).hexdigest()


def _hex(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"{type(value).__name__} has no fingerprint")


def _digest(kind: str, row: Row, *first: Any) -> str:
    return digest_of(*first, *(row[name] for name in _COLUMNS[kind]))


def _own(kind: str) -> Callable[[Row], Fingerprint]:
    """The fingerprint of rows that have an id of their own, over their columns alone."""
    return lambda row: Fingerprint(f"{kind}:{row['ulid']}", _digest(kind, row))


agent_fingerprint = _own("agent")
document_fingerprint = _own("document")
project_fingerprint = _own("project")
record_fingerprint = _own("record")
vault_fingerprint = _own("vault")
"""Vaults are folders of one machine: they do not move with a grove."""


def tree_fingerprints(row: Row) -> list[Fingerprint]:
    """One for each field that is there."""
    return [Fingerprint(f"tree.{camel(name)}", digest_of(row[name])) for name in TREE_FIELDS if name in row]


def grove_fingerprint(row: Row, owner: str) -> Fingerprint:
    return Fingerprint("grove", digest_of(row["ulid"], owner, row["preferences"], row["created_at"]))


def revision_fingerprint(document: str, row: Row, author: str) -> Fingerprint:
    name = f"revision:{document}:{row['revision']}"
    return Fingerprint(
        name, digest_of(row["title"], row["content"], author, row["created_at"], row["hidden"])
    )


def project_revision_fingerprint(project: str, row: Row, author: str) -> Fingerprint:
    name = f"projectRevision:{project}:{row['revision']}"
    return Fingerprint(name, _digest("projectRevision", row, author))


INSTALLATION = frozenset({"role", "token", "user", "vault"})
"""Kinds of rows that belong to one installation: no export has them, and an import records that they are gone."""


def user_fingerprint(row: Row, agent: str) -> Fingerprint:
    values = row["name"], agent, row["created_at"], row["archived_at"]
    return Fingerprint(f"user:{row['ulid']}", digest_of(*values))


def token_fingerprint(row: Row, user: str) -> Fingerprint:
    return Fingerprint(f"token:{row['ulid']}", _digest("token", row, user, bool(row["service"])))


def role_fingerprint(user: str, tree: str | None, role: int | None) -> Fingerprint:
    """The role of a user on a tree, or without one on the grove."""
    return Fingerprint(f"role:{user}:{tree or 'grove'}", None if role is None else digest_of(role))


def summary_fingerprint(ulid: str, summary: str | None) -> Fingerprint:
    """The summary of a node, tree or document."""
    return Fingerprint(f"summary:{ulid}", None if summary is None else digest_of(summary))


def typing_fingerprint(row: Row) -> Fingerprint:
    """The change of one `type`; named by its own event."""
    return Fingerprint(f"typing:{row['ordinal']}", _digest("typing", row))


def link_fingerprint(row: Row, ends: Sequence[str], author: str) -> Fingerprint:
    # In an order of their own: which end is stored first follows from keys, and those differ elsewhere.
    one, other = sorted(ends)
    name = f"link:{row['ulid']}:{one}:{other}"
    return Fingerprint(name, digest_of(row["note"], author, row["created_at"], row["removed"]))


def tag_fingerprint(row: Row, target: str) -> Fingerprint:
    return Fingerprint(f"tag:{target}:{digest_of(row['label'])[:16]}", _digest("tag", row))


def group_fingerprint(row: Row, first: str | None, last: str | None) -> Fingerprint:
    values = row["name"], row["description"], first, last, bool(row["expanded"]), row["created_at"]
    return Fingerprint(f"group:{row['ulid']}", digest_of(*values))


def items_fingerprint(node: str, rows: Sequence[Row]) -> Fingerprint:
    """The items that a node was created with, in order."""
    return Fingerprint(f"items:{node}", digest_of(*(_item(row) for row in rows)))


def citations_fingerprint(node: str, rows: Sequence[Row]) -> Fingerprint:
    """What a node cites, in order."""
    digest = digest_of(*([row[name] for name in _COLUMNS["citations"]] for row in rows))
    return Fingerprint(f"citations:{node}", digest)


def tool_result_fingerprint(row: Row, node: str, agent: str) -> Fingerprint:
    """A result that was put aside, with the turn that it was made for."""
    return Fingerprint(f"toolResult:{row['number']}", _digest("toolResult", row, node, agent))


def item_fingerprint(node: str, row: Row) -> Fingerprint:
    """An item that was attached to a node later."""
    return Fingerprint(f"item:{node}:{row['ordinal']}", digest_of(_item(row)))


def _item(row: Row) -> list[Any]:
    values = [row["ordinal"], row["id"], row["type"], row["sha256"], bool(row["recoverable"])]
    return values if row["about"] is None else [*values, row["about"]]


def response_name(row: Row) -> str:
    """Equal bytes of two calls are two responses: the metadata is part of the name."""
    return f"{row['sha256'].hex()}:{_digest('response', row)[:16]}"


def response_fingerprint(row: Row) -> Fingerprint:
    return Fingerprint(f"response:{response_name(row)}", _digest("response", row))


def choice_fingerprint(node: str, response: Row, choice: int) -> Fingerprint:
    return Fingerprint(f"choice:{node}", digest_of(response_name(response), choice))


def attempt_fingerprint(
    row: Row, agent: str, parent: str, response: str | None, manifest: bytes | None
) -> Fingerprint:
    """A model call without its partial text, which is working state until the call ends."""
    digest = _digest("attempt", row, agent, parent, row["request"], response, manifest)
    return Fingerprint(f"attempt:{row['ulid']}", digest)


def envelope_fingerprint(row: Row, node: str, agent: str) -> Fingerprint:
    """A layered request as it was made for a turn."""
    digest = _digest("envelope", row, agent, bool(row["legacy"]))
    return Fingerprint(f"envelope:{node}:{row['ordinal']}", digest)


def memory_fingerprint(row: Row, agent: str) -> Fingerprint:
    """A pin, a stash, a recall or a thought of an agent in a tree."""
    return Fingerprint(f"memory:{agent}:{row['ordinal']}", _digest("memory", row))


def trace_seal(row: Row, tree: str, agent: str) -> str:
    """The hash that a row of an agent's trace carries in its own body, because no event records such a row."""
    body = {name: value for name, value in orjson.loads(row["body"]).items() if name != SEAL}
    written = orjson.dumps(body, option=orjson.OPT_SORT_KEYS).decode()
    return _digest("trace", row, tree, agent, written)


def timestamp_fingerprint(row: Row) -> Fingerprint:
    """A timestamp as requested, and as certified; tries and errors are working state."""
    values = [row[name] for name in _COLUMNS["timestamp"]]
    return Fingerprint(f"timestamp:{row['ulid']}", digest_of(*values, row["token"] is not None))


class RevisedKind(NamedTuple):
    """Documents or projects: what has revisions."""

    name: str
    table: Table
    revisions: Table
    fingerprint: Callable[[Row], Fingerprint]
    revision_fingerprint: Callable[[str, Row, str], Fingerprint]


DOCUMENT = RevisedKind(
    "document", schema.documents, schema.revisions, document_fingerprint, revision_fingerprint
)
PROJECT = RevisedKind(
    "project", schema.projects, schema.project_revisions, project_fingerprint, project_revision_fingerprint
)
