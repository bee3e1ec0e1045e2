"""The tables of a grove.

The tree's key leads every primary key and index of what belongs to a tree, so that
rows of one tree lie together and a database can be sharded by tree. Inside, rows use
integer keys that count up within their tree; ULIDs and local ids are for the border.
Times are microseconds since 1970, UTC. Tree 0 stands for the grove itself.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Sequence,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    column,
    literal_column,
)

__all__ = [
    "agents",
    "attachments",
    "attempts",
    "bodies",
    "buffers",
    "cursors",
    "derived",
    "documents",
    "event_numbers",
    "events",
    "groups",
    "grove",
    "idempotency",
    "jobs",
    "leases",
    "links",
    "manifests",
    "memberships",
    "memory",
    "metadata",
    "node_responses",
    "nodes",
    "project_revisions",
    "projects",
    "records",
    "requests",
    "responses",
    "revisions",
    "search_positions",
    "search_state",
    "search_versions",
    "selections",
    "sources",
    "tags",
    "texts",
    "timestamps",
    "tokens",
    "trees",
    "typings",
    "users",
    "vaults",
]

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

event_numbers = Sequence("event_numbers", metadata=metadata)
"""Numbers events across trees where the database has sequences; elsewhere the one writer counts."""

_ULID = String(26).with_variant(String(26, collation="C"), "postgresql")
_LOCAL_ID = Text().with_variant(Text(collation="C"), "postgresql")
"""Compared byte by byte everywhere, so that prefix ranges mean the same."""
_SHA256 = LargeBinary(32)

grove = Table(
    "grove",
    metadata,
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("ulid", _ULID, nullable=False),
    Column("owner", Integer),
    Column("preferences", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("head", _SHA256),
    CheckConstraint("key = 0", name="one"),
)

agents = Table(
    "agents",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("ulid", _ULID, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
    Column("model_ref", Text),
    Column("configuration", Text, nullable=False),
    Column("permissions", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    Column("hidden", BigInteger),
    Index(None, "name"),
)

users = Table(
    "users",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("ulid", _ULID, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("agent", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
)

tokens = Table(
    "tokens",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("ulid", _ULID, nullable=False, unique=True),
    Column("user", Integer, nullable=False),
    Column("hash", _SHA256, nullable=False, unique=True),
    Column("label", Text, nullable=False),
    Column("service", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    ForeignKeyConstraint(["user"], ["users.key"], ondelete="CASCADE"),
)

memberships = Table(
    "memberships",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("user", Integer, primary_key=True, autoincrement=False),
    Column("role", SmallInteger, nullable=False),
    ForeignKeyConstraint(["user"], ["users.key"], ondelete="CASCADE"),
)

projects = Table(
    "projects",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("ulid", _ULID, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("system_prompt", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    Column("revision", Integer, nullable=False, server_default="1"),
    Column("hidden", BigInteger),
    Index(None, "name"),
)

project_revisions = Table(
    "project_revisions",
    metadata,
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("system_prompt", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("author", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("hidden", BigInteger),
    ForeignKeyConstraint(["project"], ["projects.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["author"], ["agents.key"]),
)

vaults = Table(
    "vaults",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("ulid", _ULID, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("path", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

trees = Table(
    "trees",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("ulid", _ULID, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("summary", Text),
    Column("mode", SmallInteger, nullable=False),
    Column("system_context", Text, nullable=False),
    Column("buffer_mode_system_context", Boolean, nullable=False),
    Column("preferences", Text, nullable=False),
    Column("project", Integer),
    Column("root", Integer, nullable=False),
    Column("root_ulid", _ULID, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    Column("next_key", Integer, nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("branches", Integer, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("head", _SHA256),
    Column("leased_until", BigInteger),
    Column("hidden", BigInteger),
    ForeignKeyConstraint(["project"], ["projects.key"]),
    Index(None, "updated_at"),
    sqlite_autoincrement=True,
)

nodes = Table(
    "nodes",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("ulid", _ULID, nullable=False),
    Column("local_id", _LOCAL_ID, nullable=False),
    Column("position", Integer, nullable=False),
    Column("parent", Integer),
    Column("depth", Integer, nullable=False),
    Column("jump", Integer, nullable=False),
    Column("written_after", Integer),
    Column("edge_type", SmallInteger, nullable=False),
    Column("edited_from", Integer),
    Column("author", Integer, nullable=False),
    Column("author_type", SmallInteger, nullable=False),
    Column("role", SmallInteger, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("narrow", Integer, nullable=False),
    Column("wide", Integer, nullable=False),
    Column("ruler", BigInteger, nullable=False),
    Column("near_attachments", Integer),
    Column("near_instruction", Integer),
    Column("flags", SmallInteger, nullable=False),
    Column("pruned", BigInteger),
    Column("hidden", BigInteger),
    Column("bookmark_label", Text),
    Column("hash", _SHA256, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    ForeignKeyConstraint(["author"], ["agents.key"]),
    UniqueConstraint("tree", "ulid"),
    UniqueConstraint("tree", "local_id"),
    Index("ix_nodes_children", "tree", "parent", "key"),
    Index(
        "ix_nodes_versions",
        "tree",
        "position",
        "key",
        sqlite_where=column("key") != column("position"),
        postgresql_where=column("key") != column("position"),
    ),
    Index(
        "ix_nodes_pruned",
        "tree",
        "pruned",
        sqlite_where=column("pruned").is_not(None),
        postgresql_where=column("pruned").is_not(None),
    ),
    Index(
        "ix_nodes_hidden",
        "tree",
        "hidden",
        sqlite_where=column("hidden").is_not(None),
        postgresql_where=column("hidden").is_not(None),
    ),
    sqlite_with_rowid=False,
)

texts = Table(
    "texts",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("summary", Text),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
)

sources = Table(
    "sources",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("target", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", SmallInteger, primary_key=True, autoincrement=False),
    Column("source", Integer, nullable=False),
    Column("role", SmallInteger, nullable=False),
    ForeignKeyConstraint(["tree", "target"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    Index(None, "tree", "source"),
    sqlite_with_rowid=False,
)

bodies = Table(
    "bodies",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("sha256", _SHA256, primary_key=True),
    Column("gzip", LargeBinary, nullable=False),
)

attachments = Table(
    "attachments",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", SmallInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("sha256", _SHA256, nullable=False),
    Column("recoverable", Boolean, nullable=False),
    Column("attached_by", BigInteger),
    Column("detached_by", BigInteger),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["tree", "sha256"], ["bodies.tree", "bodies.sha256"]),
)

attempts = Table(
    "attempts",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("ulid", _ULID, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("parent", Integer, nullable=False),
    Column("outcome", SmallInteger, nullable=False),
    Column("idempotency_key", Text),
    Column("request", _SHA256),
    Column("response", Integer),
    Column("partial", LargeBinary),
    Column("error", Text),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
    UniqueConstraint("tree", "ulid"),
)

requests = Table(
    "requests",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("segment", _SHA256, nullable=False),
    ForeignKeyConstraint(["tree", "attempt"], ["attempts.tree", "attempts.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["tree", "segment"], ["bodies.tree", "bodies.sha256"]),
)

manifests = Table(
    "manifests",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("sha256", _SHA256, nullable=False),
    Column("gzip", LargeBinary, nullable=False),
    ForeignKeyConstraint(["tree", "attempt"], ["attempts.tree", "attempts.key"], ondelete="CASCADE"),
)

responses = Table(
    "responses",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("sha256", _SHA256, nullable=False),
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

node_responses = Table(
    "node_responses",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("response", Integer, nullable=False),
    Column("choice", Integer, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["tree", "response"], ["responses.tree", "responses.key"]),
    sqlite_with_rowid=False,
)

events = Table(
    "events",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("transaction", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("payload", Text, nullable=False),
    Column("inverse", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("previous", _SHA256),
    Column("hash", _SHA256, nullable=False),
    Index(None, "transaction", "number"),
    Index(None, "tree", "agent", "ordinal"),
)

timestamps = Table(
    "timestamps",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("ulid", _ULID, primary_key=True),
    Column("target", _ULID, nullable=False),
    Column("statement", Text),
    Column("digest", _SHA256, nullable=False),
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

cursors = Table(
    "cursors",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
    Index(None, "agent", "updated_at"),
    sqlite_with_rowid=False,
)

selections = Table(
    "selections",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)

buffers = Table(
    "buffers",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
)

typings = Table(
    "typings",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("kept", Integer, nullable=False),
    Column("removed", Text, nullable=False),
    Column("added", Text, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
)
"""What one `type` changed in a working buffer, after the characters it kept: events hold no text."""

leases = Table(
    "leases",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("run", _ULID, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    sqlite_with_rowid=False,
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("body", _SHA256, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("result", Text),
    Column("holder", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("held_until", BigInteger),
    Index(None, "expires_at"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("tree", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("target", Integer),
    Column("payload", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("run_after", BigInteger, nullable=False),
    Column("holder", Text),
    Column("held_until", BigInteger),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "state", "run_after"),
    Index(None, "tree"),
    Index(
        "ix_jobs_waiting",
        "tree",
        "kind",
        "target",
        unique=True,
        sqlite_where=column("state") == literal_column("0"),
        postgresql_where=column("state") == literal_column("0"),
    ),
)

memory = Table(
    "memory",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, nullable=False),
    Column("label", Text),
    Column("body", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
)

documents = Table(
    "documents",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("ulid", _ULID, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("summary", Text),
    Column("revision", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    Column("hidden", BigInteger),
    Index(None, "title"),
)

revisions = Table(
    "revisions",
    metadata,
    Column("document", Integer, primary_key=True, autoincrement=False),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("author", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("hidden", BigInteger),
    ForeignKeyConstraint(["document"], ["documents.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["author"], ["agents.key"]),
)

links = Table(
    "links",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("ulid", _ULID, nullable=False, unique=True),
    Column("a_tree", Integer, nullable=False),
    Column("a_kind", SmallInteger, nullable=False),
    Column("a_key", Integer, nullable=False),
    Column("b_tree", Integer, nullable=False),
    Column("b_kind", SmallInteger, nullable=False),
    Column("b_key", Integer, nullable=False),
    Column("note", Text, nullable=False),
    Column("author", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("removed", BigInteger),
    ForeignKeyConstraint(["author"], ["agents.key"]),
    Index(
        "ix_links_ends",
        "a_tree",
        "a_kind",
        "a_key",
        "b_tree",
        "b_kind",
        "b_key",
        unique=True,
        sqlite_where=column("removed").is_(None),
        postgresql_where=column("removed").is_(None),
    ),
    Index(None, "b_tree", "b_kind", "b_key"),
)

tags = Table(
    "tags",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("tree", Integer, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("target", Integer, nullable=False),
    Column("label", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("removed", BigInteger),
    UniqueConstraint("tree", "kind", "target", "label"),
    Index(None, "label"),
)

groups = Table(
    "groups",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("ulid", _ULID, nullable=False),
    Column("description", Text, nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer, nullable=False),
    Column("expanded", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
)

records = Table(
    "records",
    metadata,
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("user", Text),
    Column("project", Text),
    Column("session", Text),
    Column("stream", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("create_time", Float(53), nullable=False),
    Column("value", Text, nullable=False),
    Index(None, "user", "session", "stream", "name", "create_time"),
)

derived = MetaData(naming_convention=metadata.naming_convention)
"""Tables made from the others, behind the back of operations: no part of what a grove holds.

The table of words itself, search_terms, is each database's own kind: see Terms in search.py.
"""

search_state = Table(
    "search_state",
    derived,
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("folding", Integer, nullable=False),
    Column("transaction", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False),
    CheckConstraint("key = 0", name="one"),
)

search_positions = Table(
    "search_positions",
    derived,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("events", BigInteger, nullable=False),
    Column("node", Integer, nullable=False),
    Column("tag", Integer, nullable=False),
)

search_versions = Table(
    "search_versions",
    derived,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, primary_key=True, autoincrement=False),
    Column("target", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
)
