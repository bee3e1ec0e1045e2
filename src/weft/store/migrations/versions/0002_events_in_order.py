"""Events lie in the order they were written.

Clustered by tree, each event of a busy grove fell on a page of its own: most of what a
group commit wrote was those pages.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS = 'tree, ordinal, number, "transaction", kind, agent, payload, inverse, created_at, previous, hash'


def upgrade() -> None:
    if op.get_context().dialect.supports_sequences:
        # Tables with a heap were never clustered.
        return
    op.drop_index(op.f("ix_events_transaction_number"), "events")
    op.rename_table("events", "clustered_events")
    op.create_table(
        "events",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("transaction", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("inverse", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("previous", sa.LargeBinary(length=32), nullable=True),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("tree", "ordinal", name=op.f("pk_events")),
    )
    op.execute(
        f"INSERT INTO events ({_COLUMNS}) SELECT {_COLUMNS} FROM clustered_events "
        'ORDER BY "transaction", number'
    )
    op.drop_table("clustered_events")
    op.create_index(op.f("ix_events_transaction_number"), "events", ["transaction", "number"])
