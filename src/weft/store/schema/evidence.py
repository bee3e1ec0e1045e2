"""Tables of evidence: what was sent to models, what came back, and times that others vouch for."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Text,
    UniqueConstraint,
    column,
)

from weft.store.schema.columns import SHA256, ULID, table

bodies = table(
    "bodies",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("sha256", SHA256, primary_key=True),
    Column("gzip", LargeBinary, nullable=False),
)

attempts = table(
    "attempts",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("ulid", ULID, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("parent", Integer, nullable=False),
    Column("outcome", SmallInteger, nullable=False),
    Column("idempotency_key", Text),
    Column("request", SHA256),
    Column("response", Integer),
    Column("partial", LargeBinary),
    Column("error", Text),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
    UniqueConstraint("tree", "ulid"),
)

requests = table(
    "requests",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("segment", SHA256, nullable=False),
    ForeignKeyConstraint(["tree", "attempt"], ["attempts.tree", "attempts.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["tree", "segment"], ["bodies.tree", "bodies.sha256"]),
)

manifests = table(
    "manifests",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("sha256", SHA256, nullable=False),
    Column("gzip", LargeBinary, nullable=False),
    ForeignKeyConstraint(["tree", "attempt"], ["attempts.tree", "attempts.key"], ondelete="CASCADE"),
)

envelopes = table(
    "envelopes",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, nullable=False),
    Column("provider", Text, nullable=False),
    Column("attempt", ULID),
    Column("legacy", Boolean, nullable=False),
    Column("sha256", SHA256, nullable=False),
    Column("gzip", LargeBinary, nullable=False),
    Column("prefix", LargeBinary, nullable=False),
    Column("total", Integer, nullable=False),
    Column("predicted", Integer, nullable=False),
    Column("cached", Integer),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
    Index(None, "tree", "created_at"),
    Index(
        "ix_envelopes_legacy",
        "tree",
        info={"where": column("legacy").is_(True)},
    ),
)
"""Requests in layers, by the turn they were made for; what turns share is kept in bodies."""

responses = table(
    "responses",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("sha256", SHA256, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("request_id", Text),
    Column("status_code", Integer),
    Column("requested_at", BigInteger),
    Column("responded_at", BigInteger),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("total_tokens", Integer),
    Column("cached_read", Integer),
    Column("cached_write", Integer),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    ForeignKeyConstraint(["tree", "sha256"], ["bodies.tree", "bodies.sha256"]),
)

node_responses = table(
    "node_responses",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("response", Integer, nullable=False),
    Column("choice", Integer, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["tree", "response"], ["responses.tree", "responses.key"]),
    sqlite_with_rowid=False,
)

citations = table(
    "citations",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("source", Text),
    Column("title", Text, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)
"""What an answer cites of the sources that it was given; without a source: a number that was not offered."""

tool_results = table(
    "tool_results",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("tool", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("sha256", SHA256, nullable=False),
    Column("size", Integer, nullable=False),
    Column("lines", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
    ForeignKeyConstraint(["tree", "sha256"], ["bodies.tree", "bodies.sha256"]),
)
"""Results of tools that were too large for their turn, whole; the number is their handle."""

timestamps = table(
    "timestamps",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("ulid", ULID, primary_key=True),
    Column("target", ULID, nullable=False),
    Column("statement", Text),
    Column("digest", SHA256, nullable=False),
    Column("authority", Text, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("token", LargeBinary),
    Column("certificates", LargeBinary),
    Column("certified_at", BigInteger),
    Column("attempts", Integer, nullable=False),
    Column("next_try", BigInteger),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "tree", "target"),
)
