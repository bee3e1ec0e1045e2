"""Sessions of other programs that the context proxy records."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None
ULID = sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")
SHA256 = sa.LargeBinary(length=32)


def upgrade() -> None:
    op.create_table(
        "proxy_sessions",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("tree", sa.Integer(), nullable=False),
        sa.Column("parent", sa.Integer()),
        sa.Column("call_tree", sa.Integer()),
        sa.Column("call_node", sa.Integer()),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("window", sa.Text(), nullable=False),
        sa.Column("head", sa.Integer()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_proxy_sessions")),
    )
    op.create_table(
        "proxy_requests",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("tree", sa.Integer(), nullable=False),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("attempt", ULID, nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("wire", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("linked", sa.Text(), nullable=False),
        sa.Column("node", sa.Integer()),
        sa.Column("reply", sa.Integer()),
        sa.Column("status", sa.Integer()),
        sa.Column("has_tools", sa.Boolean(), nullable=False),
        sa.Column("system_hash", SHA256, nullable=False),
        sa.Column("tools_hash", SHA256, nullable=False),
        sa.Column("received", SHA256, nullable=False),
        sa.Column("changed", sa.Text(), nullable=False),
        sa.Column("added", sa.Integer(), nullable=False),
        sa.Column("first_byte", sa.Integer()),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer()),
        sa.Column("cached_tokens", sa.Integer()),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_proxy_requests")),
    )
    op.create_table(
        "proxy_keys",
        sa.Column("key", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("digest", SHA256, nullable=False),
        sa.Column("tree", sa.Integer(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("more", SHA256),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_proxy_keys")),
    )
    op.create_table(
        "proxy_segments",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("summary", sa.Integer()),
        sa.Column("replaced", sa.Integer()),
        sa.Column("kept", sa.Integer()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tree", "node", name=op.f("pk_proxy_segments")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_proxy_sessions_token_identity_agent_id"),
        "proxy_sessions",
        ["token", "identity", "agent_id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_proxy_sessions_token_updated_at"), "proxy_sessions", ["token", "updated_at"], unique=False
    )
    op.create_index(op.f("ix_proxy_sessions_parent"), "proxy_sessions", ["parent"], unique=False)
    op.create_index(op.f("ix_proxy_sessions_tree"), "proxy_sessions", ["tree"], unique=False)
    op.create_index(op.f("ix_proxy_requests_session_key"), "proxy_requests", ["session", "key"], unique=False)
    op.create_index(
        op.f("ix_proxy_requests_token_purpose_key"),
        "proxy_requests",
        ["token", "purpose", "key"],
        unique=False,
    )
    op.create_index(
        op.f("ix_proxy_requests_token_started_at"), "proxy_requests", ["token", "started_at"], unique=False
    )
    op.create_index(op.f("ix_proxy_requests_tree_key"), "proxy_requests", ["tree", "key"], unique=False)
    op.create_index(op.f("ix_proxy_keys_token_digest"), "proxy_keys", ["token", "digest"], unique=False)
    op.create_index(op.f("ix_proxy_keys_tree_node"), "proxy_keys", ["tree", "node"], unique=False)
