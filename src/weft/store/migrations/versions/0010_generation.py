"""Calls of models under way, what came of them so far, and what they cost."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

ULID = sa.String(length=26).with_variant(sa.String(length=26, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "calls",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("asker", sa.Integer(), nullable=False),
        sa.Column("sources", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("run", ULID, nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["asker"], ["agents.key"], name=op.f("fk_calls_asker_agents")),
        sa.ForeignKeyConstraint(
            ["tree", "attempt"],
            ["attempts.tree", "attempts.key"],
            name=op.f("fk_calls_tree_attempts"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tree", "attempt", name=op.f("pk_calls")),
    )
    op.create_table(
        "pieces",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("wire", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "attempt"],
            ["calls.tree", "calls.attempt"],
            name=op.f("fk_pieces_tree_calls"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tree", "attempt", "ordinal", name=op.f("pk_pieces")),
    )
    op.create_table(
        "spending",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("attempt", ULID, nullable=False),
        sa.Column("in_tree", sa.Integer(), nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.Column("is_settled", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_spending_agent_agents")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_spending")),
        sa.UniqueConstraint("attempt", name=op.f("uq_spending_attempt")),
    )
    for column in ("day", "in_tree", "agent"):
        op.create_index(op.f(f"ix_spending_{column}"), "spending", [column])
    op.create_table(
        "followers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_followers")),
    )
