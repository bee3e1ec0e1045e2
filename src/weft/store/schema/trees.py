"""Tables of trees and their nodes, and of all else that a grove holds."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Sequence,
    SmallInteger,
    Text,
    UniqueConstraint,
    column,
    text,
)

from weft.store.schema.columns import LOCAL_ID, SHA256, ULID, metadata, table

event_numbers = Sequence("event_numbers", metadata=metadata)
"""Numbers events across trees where the database has sequences; elsewhere the one writer counts."""

grove = table(
    "grove",
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("ulid", ULID, nullable=False),
    Column("owner", Integer),
    Column("preferences", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("head", SHA256),
    CheckConstraint("key = 0", name="one"),
)

agents = table(
    "agents",
    Column("key", Integer, primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
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

users = table(
    "users",
    Column("key", Integer, primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("agent", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
)

tokens = table(
    "tokens",
    Column("key", Integer, primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
    Column("user", Integer, nullable=False),
    Column("hash", SHA256, nullable=False, unique=True),
    Column("label", Text, nullable=False),
    Column("service", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("used_at", BigInteger),
    ForeignKeyConstraint(["user"], ["users.key"], ondelete="CASCADE"),
)

memberships = table(
    "memberships",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("user", Integer, primary_key=True, autoincrement=False),
    Column("role", SmallInteger, nullable=False),
    ForeignKeyConstraint(["user"], ["users.key"], ondelete="CASCADE"),
)

projects = table(
    "projects",
    Column("key", Integer, primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("system_prompt", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    Column("revision", Integer, nullable=False, server_default="1"),
    Column("hidden", BigInteger),
    Index(None, "name"),
)

project_revisions = table(
    "project_revisions",
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

vaults = table(
    "vaults",
    Column("key", Integer, primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("removed", BigInteger),
    Index(
        "ix_vaults_name",
        "name",
        unique=True,
        info={"where": column("removed").is_(None)},
    ),
)

trees = table(
    "trees",
    Column("key", Integer, primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("summary", Text),
    Column("mode", SmallInteger, nullable=False),
    Column("system_context", Text, nullable=False),
    Column("buffer_mode_system_context", Boolean, nullable=False),
    Column("preferences", Text, nullable=False),
    Column("project", Integer),
    Column("root", Integer, nullable=False),
    Column("root_ulid", ULID, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    Column("next_key", Integer, nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("branches", Integer, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("head", SHA256),
    Column("leased_until", BigInteger),
    Column("hidden", BigInteger),
    ForeignKeyConstraint(["project"], ["projects.key"]),
    Index(None, "updated_at"),
    sqlite_autoincrement=True,
)

LEFT_OUT = "(flags & 65) <> 0 OR pruned IS NOT NULL OR hidden IS NOT NULL OR edge_type = 1 OR role = 2"
"""Excluded or blank, pruned, hidden, annotations, system messages: what contexts leave out of a path."""
nodes = table(
    "nodes",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("ulid", ULID, nullable=False),
    Column("local_id", LOCAL_ID, nullable=False),
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
    Column("hash", SHA256, nullable=False),
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
        info={"where": column("key") != column("position")},
    ),
    Index(
        "ix_nodes_notes",
        "tree",
        "parent",
        "key",
        info={"where": text("edge_type = 1")},
    ),
    Index(
        "ix_nodes_left_out",
        "tree",
        "depth",
        info={"where": text(LEFT_OUT)},
    ),
    Index(
        "ix_nodes_pruned",
        "tree",
        "pruned",
        info={"where": column("pruned").is_not(None)},
    ),
    Index(
        "ix_nodes_hidden",
        "tree",
        "hidden",
        info={"where": column("hidden").is_not(None)},
    ),
    sqlite_with_rowid=False,
)

texts = table(
    "texts",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("summary", Text),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
)

sources = table(
    "sources",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("target", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", SmallInteger, primary_key=True, autoincrement=False),
    Column("source", Integer, nullable=False),
    Column("role", SmallInteger, nullable=False),
    ForeignKeyConstraint(["tree", "target"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    Index(None, "tree", "source"),
    sqlite_with_rowid=False,
)

attachments = table(
    "attachments",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", SmallInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("sha256", SHA256, nullable=False),
    Column("recoverable", Boolean, nullable=False),
    Column("attached_by", BigInteger),
    Column("detached_by", BigInteger),
    Column("about", Text),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["tree", "sha256"], ["bodies.tree", "bodies.sha256"]),
)

events = table(
    "events",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("transaction", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("payload", Text, nullable=False),
    Column("inverse", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("previous", SHA256),
    Column("hash", SHA256, nullable=False),
    Index(None, "transaction", "number"),
    Index(None, "tree", "agent", "ordinal"),
)

cursors = table(
    "cursors",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
    Index(None, "agent", "updated_at"),
    sqlite_with_rowid=False,
)

selections = table(
    "selections",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)

buffers = table(
    "buffers",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
)

drafts = table(
    "drafts",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree", "node"], ["nodes.tree", "nodes.key"], ondelete="CASCADE"),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
)
"""What agents are typing at nodes; at the end of a document that is its working buffer."""

read_marks = table(
    "read_marks",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("reader", Integer, primary_key=True, autoincrement=False),
    Column("nodes", LargeBinary, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
)
"""What each person has read of a tree: a bit for each number of a node. `reader` is the person's agent."""

typings = table(
    "typings",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("kept", Integer, nullable=False),
    Column("removed", Text, nullable=False),
    Column("added", Text, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
)
"""What one `type` changed in a working buffer, after the characters it kept: events hold no text."""

memory = table(
    "memory",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("agent", Integer, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, nullable=False),
    Column("label", Text),
    Column("body", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("removed", BigInteger),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    ForeignKeyConstraint(["agent"], ["agents.key"]),
)
"""Of one agent in one tree: pins, stashes, what it did and thought. Let go of: `removed`, so that undo has it."""

documents = table(
    "documents",
    Column("key", Integer, primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("summary", Text),
    Column("revision", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    Column("hidden", BigInteger),
    Index(None, "title"),
)

revisions = table(
    "revisions",
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

links = table(
    "links",
    Column("key", Integer, primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
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
        info={"where": column("removed").is_(None)},
    ),
    Index(None, "b_tree", "b_kind", "b_key"),
)

tags = table(
    "tags",
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

groups = table(
    "groups",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("ulid", ULID, nullable=False),
    Column("description", Text, nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer, nullable=False),
    Column("expanded", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
)
