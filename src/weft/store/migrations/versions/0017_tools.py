"""Citations of answers, and results of tools that were put aside."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "citations",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text()),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "node"], ["nodes.tree", "nodes.key"], name=op.f("fk_citations_nodes"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tree", "node", "ordinal", name=op.f("pk_citations")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tool_results",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("lines", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "node"],
            ["nodes.tree", "nodes.key"],
            name=op.f("fk_tool_results_nodes"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_tool_results_agents")),
        sa.ForeignKeyConstraint(
            ["tree", "sha256"], ["bodies.tree", "bodies.sha256"], name=op.f("fk_tool_results_bodies")
        ),
        sa.PrimaryKeyConstraint("tree", "number", name=op.f("pk_tool_results")),
    )
