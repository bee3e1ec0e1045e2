"""The notes on a node, found without looking at its other children."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    notes = sa.text("edge_type = 1")
    op.create_index(
        "ix_nodes_notes", "nodes", ["tree", "parent", "key"], sqlite_where=notes, postgresql_where=notes
    )
