"""What layers need: envelopes by turn, what is shown of an item besides its content, vaults that come and go."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attachments", sa.Column("about", sa.Text(), nullable=True))
    op.create_table(
        "envelopes",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("attempt", sa.String(26).with_variant(sa.String(26, collation="C"), "postgresql")),
        sa.Column("legacy", sa.Boolean(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(32), nullable=False),
        sa.Column("gzip", sa.LargeBinary(), nullable=False),
        sa.Column("prefix", sa.LargeBinary(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("predicted", sa.Integer(), nullable=False),
        sa.Column("cached", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_envelopes_agents")),
        sa.ForeignKeyConstraint(
            ["tree", "node"], ["nodes.tree", "nodes.key"], name=op.f("fk_envelopes_nodes"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tree", "node", "ordinal", name=op.f("pk_envelopes")),
    )
    op.create_index(op.f("ix_envelopes_tree_created_at"), "envelopes", ["tree", "created_at"])
    legacy = sa.column("legacy").is_(True)
    op.create_index(
        "ix_envelopes_legacy", "envelopes", ["tree"], sqlite_where=legacy, postgresql_where=legacy
    )
    # A folder that was taken away gives its name free, and may come back by undo.
    op.add_column("vaults", sa.Column("removed", sa.BigInteger(), nullable=True))
    with op.batch_alter_table("vaults") as vaults:
        vaults.drop_constraint(op.f("uq_vaults_name"), type_="unique")
    present = sa.column("removed").is_(None)
    op.create_index(
        "ix_vaults_name", "vaults", ["name"], unique=True, sqlite_where=present, postgresql_where=present
    )
