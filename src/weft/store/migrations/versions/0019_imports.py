"""Imports over HTTP, and what became of each conversation."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None
ULID = sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "imports",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("user", sa.Integer()),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_imports_agents")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_imports")),
        sa.UniqueConstraint("ulid", name=op.f("uq_imports_ulid")),
    )
    op.create_table(
        "imported_conversations",
        sa.Column("import", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["import"],
            ["imports.key"],
            name=op.f("fk_imported_conversations_imports"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("import", "ordinal", name=op.f("pk_imported_conversations")),
    )
