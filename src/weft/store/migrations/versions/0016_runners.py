"""A run under way says which runner it is of; without one it is a collaborator's."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("runner", sa.Text()))
