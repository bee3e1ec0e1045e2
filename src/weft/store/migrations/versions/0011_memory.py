"""What an agent keeps in mind can be let go of and taken back: pins and stashes are marked, not destroyed."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("memory", sa.Column("removed", sa.BigInteger(), nullable=True))
