"""Records by place and time, with what they were kept as; the index of collapsed groups."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_ULID = sa.String(length=26).with_variant(sa.String(length=26, collation="C"), "postgresql")
_NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_PLACE = ("user", "project", "session", "topic", "stream")


def upgrade() -> None:
    # Nothing has ever written to the first shape of this table.
    op.drop_table("records")
    op.create_table(
        "records",
        sa.Column("key", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ulid", _ULID, nullable=False),
        *(sa.Column(name, _NAME, nullable=False) for name in (*_PLACE, "id")),
        sa.Column("create_time", sa.Float(53), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("hidden", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_records")),
        sa.UniqueConstraint("ulid", name=op.f("uq_records_ulid")),
        sa.UniqueConstraint(*_PLACE, "id", name="uq_records_place"),
    )
    op.create_index("ix_records_window", "records", [*_PLACE, "create_time", "id"], unique=False)
    op.create_table(
        "group_index",
        *(sa.Column(name, _NAME, nullable=False) for name in ("user", "session")),
        sa.Column("shelf", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("user", "session", "shelf", "name", name=op.f("pk_group_index")),
        sqlite_with_rowid=False,
    )
