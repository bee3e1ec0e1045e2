"""Nodes that no context shows are found by their depth, however long the path is."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_LEFT_OUT = "(flags & 65) <> 0 OR pruned IS NOT NULL OR hidden IS NOT NULL OR edge_type = 1 OR role = 2"


def upgrade() -> None:
    op.create_index(
        "ix_nodes_left_out",
        "nodes",
        ["tree", "depth"],
        sqlite_where=sa.text(_LEFT_OUT),
        postgresql_where=sa.text(_LEFT_OUT),
    )
