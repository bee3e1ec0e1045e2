"""Runs of collaborators."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0010"
branch_labels = None
depends_on = None

ULID = sa.String(length=26).with_variant(sa.String(length=26, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run", ULID, nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("asker", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("head", sa.Integer(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("batch", sa.Text(), nullable=False),
        sa.Column("attempt", ULID, nullable=True),
        sa.Column("reply", sa.Integer(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_runs_tree_trees")),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_runs_agent_agents")),
        sa.PrimaryKeyConstraint("tree", "run", name=op.f("pk_runs")),
    )
    under_way = sa.column("state") == sa.literal_column("0")
    op.create_index(
        "ix_runs_under_way", "runs", ["tree"], sqlite_where=under_way, postgresql_where=under_way
    )
    op.create_index(op.f("ix_runs_tree_agent_ordinal"), "runs", ["tree", "agent", "ordinal"])
