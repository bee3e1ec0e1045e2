"""Tables of the context proxy: sessions of other programs, their requests, and the keys that find their nodes."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Text

from weft.store.schema.columns import SHA256, ULID, table

proxy_sessions = table(
    "proxy_sessions",
    Column("key", Integer, primary_key=True),
    Column("token", Integer, nullable=False),
    Column("identity", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("client", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("tree", Integer, nullable=False),
    Column("parent", Integer),
    Column("call_tree", Integer),
    Column("call_node", Integer),
    Column("call_id", Text, nullable=False),
    Column("window", Text, nullable=False),
    Column("head", Integer),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Index(None, "token", "identity", "agent_id"),
    Index(None, "token", "updated_at"),
    Index(None, "parent"),
    Index(None, "tree"),
)
"""A program's session with one token. Token 0 is the owner's own key. `head` is the node of its last turn."""

proxy_requests = table(
    "proxy_requests",
    Column("key", Integer, primary_key=True),
    Column("tree", Integer, nullable=False),
    Column("session", Integer, nullable=False),
    Column("token", Integer, nullable=False),
    Column("attempt", ULID, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("wire", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("linked", Text, nullable=False),
    Column("node", Integer),
    Column("reply", Integer),
    Column("status", Integer),
    Column("has_tools", Boolean, nullable=False),
    Column("system_hash", SHA256, nullable=False),
    Column("tools_hash", SHA256, nullable=False),
    Column("received", SHA256, nullable=False),
    Column("changed", Text, nullable=False),
    Column("added", Integer, nullable=False),
    Column("first_byte", Integer),
    Column("error", Text, nullable=False),
    Column("prompt_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("started_at", BigInteger, nullable=False),
    Index(None, "session", "key"),
    Index(None, "token", "purpose", "key"),
    Index(None, "token", "started_at"),
    Index(None, "tree", "key"),
)
"""Requests of other programs. Times are microseconds: `added` is Weft's share of the time to the first byte."""

proxy_keys = table(
    "proxy_keys",
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("token", Integer, nullable=False),
    Column("digest", SHA256, nullable=False),
    Column("tree", Integer, nullable=False),
    Column("node", Integer, nullable=False),
    Column("more", SHA256),
    Index(None, "token", "digest"),
    Index(None, "tree", "node"),
)
"""Hashes of histories up to a node, of replies and of their ids. `more` is what else must agree, or the history's."""

proxy_segments = table(
    "proxy_segments",
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("node", Integer, primary_key=True, autoincrement=False),
    Column("summary", Integer),
    Column("replaced", Integer),
    Column("kept", Integer),
    Column("created_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""Nodes that a history begins with again, after the client put a summary in the place of the nodes before."""
