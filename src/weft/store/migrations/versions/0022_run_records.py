"""Runs that clients can come back to: their calls, their steps, and the wish to stop them."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None
ULID = sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("calls", sa.Column("stopping", sa.Boolean()))
    op.create_table(
        "run_records",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run", ULID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("asker", sa.Integer(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("stopping", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_run_records_trees")),
        sa.ForeignKeyConstraint(["asker"], ["agents.key"], name=op.f("fk_run_records_agents")),
        sa.PrimaryKeyConstraint("tree", "run", name=op.f("pk_run_records")),
    )
    op.create_index(op.f("ix_run_records_run"), "run_records", ["run"], unique=False)
    op.create_index(op.f("ix_run_records_ended_at"), "run_records", ["ended_at"], unique=False)
    op.create_table(
        "run_attempts",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run", ULID, nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("choices", sa.SmallInteger(), nullable=False),
        sa.Column("nodes", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.ForeignKeyConstraint(
            ["tree", "run"],
            ["run_records.tree", "run_records.run"],
            name=op.f("fk_run_attempts_run_records"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tree", "attempt"],
            ["attempts.tree", "attempts.key"],
            name=op.f("fk_run_attempts_attempts"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tree", "attempt", name=op.f("pk_run_attempts")),
    )
    op.create_index(op.f("ix_run_attempts_ulid"), "run_attempts", ["ulid"], unique=False)
    op.create_index(op.f("ix_run_attempts_tree_run"), "run_attempts", ["tree", "run"], unique=False)
    op.create_table(
        "run_steps",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run", ULID, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "run"],
            ["run_records.tree", "run_records.run"],
            name=op.f("fk_run_steps_run_records"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tree", "run", "ordinal", name=op.f("pk_run_steps")),
    )
