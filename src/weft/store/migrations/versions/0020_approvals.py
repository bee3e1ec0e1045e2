"""Requests of agents that a person has to decide."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None
ULID = sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "approvals",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("run", ULID, nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("asker", sa.Integer(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("call", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("decided_by", sa.Integer()),
        sa.Column("decided_at", sa.BigInteger()),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_approvals_trees")),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_approvals_agents")),
        sa.PrimaryKeyConstraint("tree", "ulid", name=op.f("pk_approvals")),
    )
