"""What an event says about values that no hash covers: their fingerprints, never the values.

An operation notes them as it writes; verifying computes them again from the rows. Both
use these functions, so they cannot drift apart. Rows are named by ULIDs, never by keys:
keys are a database's own and differ where a tree was moved.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from weft.tree.wire import camel

__all__ = [
    "SEAL",
    "TREE_FIELDS",
    "Fact",
    "Row",
    "agent_fact",
    "attempt_fact",
    "choice_fact",
    "document_fact",
    "envelope_fact",
    "fingerprint",
    "group_fact",
    "grove_fact",
    "item_fact",
    "items_fact",
    "link_fact",
    "memory_fact",
    "project_fact",
    "project_revision_fact",
    "record_fact",
    "response_fact",
    "response_name",
    "revision_fact",
    "role_fact",
    "summary_fact",
    "tag_fact",
    "timestamp_fact",
    "token_fact",
    "trace_seal",
    "tree_facts",
    "typing_fact",
    "user_fact",
    "vault_fact",
]

Row = Mapping[Any, Any]

SEAL = "seal"
"""Where the body of a row of an agent's trace has its hash."""

TREE_FIELDS = (
    "title",
    "description",
    "mode",
    "system_context",
    "buffer_mode_system_context",
    "preferences",
    "created_at",
)
_RESPONSE_FIELDS = (
    "provider",
    "model",
    "request_id",
    "status_code",
    "requested_at",
    "responded_at",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_read",
    "cached_write",
)
_ATTEMPT_FIELDS = ("outcome", "idempotency_key", "error", "started_at", "ended_at")
_AGENT_FIELDS = (
    "name",
    "type",
    "model_ref",
    "configuration",
    "permissions",
    "created_at",
    "archived_at",
    "hidden",
)


class Fact(NamedTuple):
    """A name within its chain, and the fingerprint of the value; None where the thing is gone."""

    name: str
    digest: str | None


def fingerprint(*values: Any) -> str:
    """SHA-256 over the values as JSON; bytes as hex."""
    return hashlib.sha256(orjson.dumps(values, default=_hex)).hexdigest()


def _hex(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"{type(value).__name__} has no fingerprint")


def tree_facts(row: Row) -> list[Fact]:
    """One for each field that is there."""
    return [Fact(f"tree.{camel(name)}", fingerprint(row[name])) for name in TREE_FIELDS if name in row]


def grove_fact(row: Row, owner: str) -> Fact:
    return Fact("grove", fingerprint(row["ulid"], owner, row["preferences"], row["created_at"]))


def agent_fact(row: Row) -> Fact:
    return Fact(f"agent:{row['ulid']}", fingerprint(*(row[name] for name in _AGENT_FIELDS)))


def document_fact(row: Row) -> Fact:
    fields = ("title", "revision", "created_at", "updated_at", "archived_at", "hidden")
    return Fact(f"document:{row['ulid']}", fingerprint(*(row[name] for name in fields)))


def revision_fact(document: str, row: Row, author: str) -> Fact:
    name = f"revision:{document}:{row['revision']}"
    return Fact(name, fingerprint(row["title"], row["content"], author, row["created_at"], row["hidden"]))


def project_fact(row: Row) -> Fact:
    fields = ("name", "system_prompt", "context", "revision", "created_at", "archived_at", "hidden")
    return Fact(f"project:{row['ulid']}", fingerprint(*(row[name] for name in fields)))


def project_revision_fact(project: str, row: Row, author: str) -> Fact:
    fields = ("name", "system_prompt", "context", "created_at", "hidden")
    name = f"projectRevision:{project}:{row['revision']}"
    return Fact(name, fingerprint(author, *(row[field] for field in fields)))


def record_fact(row: Row) -> Fact:
    fields = ("user", "project", "session", "topic", "stream", "id", "create_time", "document", "hidden")
    return Fact(f"record:{row['ulid']}", fingerprint(*(row[name] for name in fields)))


def user_fact(row: Row, agent: str) -> Fact:
    """Who may enter is this machine's own: where a grove is moved, users stay behind."""
    values = row["name"], agent, row["created_at"], row["archived_at"]
    return Fact(f"user:{row['ulid']}", fingerprint(*values))


def token_fact(row: Row, user: str) -> Fact:
    fields = ("hash", "label", "created_at", "expires_at", "revoked_at")
    values = [row[name] for name in fields]
    return Fact(f"token:{row['ulid']}", fingerprint(user, bool(row["service"]), *values))


def role_fact(user: str, tree: str | None, role: int | None) -> Fact:
    """On a tree, or without one on the grove."""
    return Fact(f"role:{user}:{tree or 'grove'}", None if role is None else fingerprint(role))


def summary_fact(ulid: str, summary: str | None) -> Fact:
    """Of a node, tree or document: who writes a summary notes this."""
    return Fact(f"summary:{ulid}", None if summary is None else fingerprint(summary))


def typing_fact(row: Row) -> Fact:
    """What one `type` changed; named by its own event."""
    return Fact(f"typing:{row['ordinal']}", fingerprint(row["kept"], row["removed"], row["added"]))


def link_fact(row: Row, ends: Sequence[str], author: str) -> Fact:
    # In an order of their own: which end is stored first follows from keys, and those differ elsewhere.
    one, other = sorted(ends)
    name = f"link:{row['ulid']}:{one}:{other}"
    return Fact(name, fingerprint(row["note"], author, row["created_at"], row["removed"]))


def tag_fact(row: Row, target: str) -> Fact:
    name = f"tag:{target}:{fingerprint(row['label'])[:16]}"
    return Fact(name, fingerprint(row["kind"], row["label"], row["created_at"], row["removed"]))


def group_fact(row: Row, first: str | None, last: str | None) -> Fact:
    values = row["name"], row["description"], first, last, bool(row["expanded"]), row["created_at"]
    return Fact(f"group:{row['ulid']}", fingerprint(*values))


def items_fact(node: str, rows: Sequence[Row]) -> Fact:
    """What a node was made with, in order."""
    return Fact(f"items:{node}", fingerprint(*(_item(row) for row in rows)))


def item_fact(node: str, row: Row) -> Fact:
    """What was hung on a node later."""
    return Fact(f"item:{node}:{row['ordinal']}", fingerprint(_item(row)))


def _item(row: Row) -> list[Any]:
    told = [row["ordinal"], row["id"], row["type"], row["sha256"], bool(row["recoverable"])]
    # Items of an earlier Weft have nothing else, and their fingerprints stay.
    return told if row["about"] is None else [*told, row["about"]]


def response_name(row: Row) -> str:
    """Equal bytes of two calls are two responses; what is said of them tells them apart, if anything."""
    return f"{row['sha256'].hex()}:{_said_of(row)[:16]}"


def _said_of(row: Row) -> str:
    return fingerprint(*(row[name] for name in _RESPONSE_FIELDS))


def response_fact(row: Row) -> Fact:
    return Fact(f"response:{response_name(row)}", _said_of(row))


def choice_fact(node: str, response: Row, choice: int) -> Fact:
    return Fact(f"choice:{node}", fingerprint(response_name(response), choice))


def attempt_fact(row: Row, agent: str, parent: str, response: str | None, manifest: bytes | None) -> Fact:
    """All but the partial text, which is working state until the attempt has ended."""
    values = [row[name] for name in _ATTEMPT_FIELDS]
    return Fact(
        f"attempt:{row['ulid']}", fingerprint(agent, parent, row["request"], response, manifest, *values)
    )


def envelope_fact(row: Row, node: str, agent: str) -> Fact:
    """A request in layers, as it was made for a turn."""
    fields = ("provider", "attempt", "sha256", "prefix", "total", "predicted", "cached", "created_at")
    values = [row[name] for name in fields]
    return Fact(f"envelope:{node}:{row['ordinal']}", fingerprint(agent, bool(row["legacy"]), *values))


def vault_fact(row: Row) -> Fact:
    """A folder of this machine; where a grove is moved, its vaults stay behind."""
    fields = ("name", "path", "created_at", "removed")
    return Fact(f"vault:{row['ulid']}", fingerprint(*(row[name] for name in fields)))


def memory_fact(row: Row, agent: str) -> Fact:
    """A pin, a stash, a recall or a thought of an agent in a tree."""
    fields = ("kind", "label", "body", "created_at", "removed")
    return Fact(f"memory:{agent}:{row['ordinal']}", fingerprint(*(row[name] for name in fields)))


def trace_seal(row: Row, tree: str, agent: str) -> str:
    """The hash that a row of an agent's trace carries in its own body: no event tells of such a row."""
    fields = ("ordinal", "kind", "label", "created_at", "removed")
    body = {name: value for name, value in orjson.loads(row["body"]).items() if name != SEAL}
    written = orjson.dumps(body, option=orjson.OPT_SORT_KEYS).decode()
    return fingerprint(tree, agent, written, *(row[name] for name in fields))


def timestamp_fact(row: Row) -> Fact:
    """A timestamp as it was asked for, and as it was certified; tries and errors are passing."""
    fields = (
        "target",
        "statement",
        "digest",
        "authority",
        "token",
        "certificates",
        "certified_at",
        "created_at",
    )
    certified = row["token"] is not None
    return Fact(f"timestamp:{row['ulid']}", fingerprint(*(row[name] for name in fields), certified))
