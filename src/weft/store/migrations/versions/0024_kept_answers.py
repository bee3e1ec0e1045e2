"""Answers to repeated requests, drafts, and what people have read."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "kept_answers",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tree", "scope", "key", name=op.f("pk_kept_answers")),
    )
    op.create_table(
        "drafts",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "node"], ["nodes.tree", "nodes.key"], name=op.f("fk_drafts_nodes"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_drafts_agents")),
        sa.PrimaryKeyConstraint("tree", "agent", "node", name=op.f("pk_drafts")),
    )
    op.create_table(
        "read_marks",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("reader", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("nodes", sa.LargeBinary(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_read_marks_trees")),
        sa.PrimaryKeyConstraint("tree", "reader", name=op.f("pk_read_marks")),
    )
