"""Timestamps by outside authorities, and those still to be had."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ULID = sa.String(length=26).with_variant(sa.String(length=26, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "timestamps",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ulid", _ULID, nullable=False),
        sa.Column("target", _ULID, nullable=False),
        sa.Column("statement", sa.Text(), nullable=True),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("authority", sa.Text(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("token", sa.LargeBinary(), nullable=True),
        sa.Column("certificates", sa.LargeBinary(), nullable=True),
        sa.Column("certified_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_try", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tree", "ulid", name=op.f("pk_timestamps")),
    )
    op.create_index(op.f("ix_timestamps_tree_target"), "timestamps", ["tree", "target"], unique=False)
