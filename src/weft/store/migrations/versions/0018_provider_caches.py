"""Caches that providers hold for conversations."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None
ULID = sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "provider_caches",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("in_tree", sa.Integer(), nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.LargeBinary(length=32), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("lifetime", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.Column("attempt", ULID),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_provider_caches_agents")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_provider_caches")),
    )
    op.create_index(
        op.f("ix_provider_caches_in_tree_model"), "provider_caches", ["in_tree", "model"], unique=False
    )
