"""Runs of collaborators under way."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
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
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("head", sa.Integer(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("batch", sa.Text(), nullable=False),
        sa.Column("attempt", ULID, nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_runs_trees")),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_runs_agents")),
        sa.PrimaryKeyConstraint("tree", "run", name=op.f("pk_runs")),
    )
