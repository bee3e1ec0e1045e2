"""Pending jobs that coalesce, leases seen from the tree, claims that are held, projects with revisions."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_jobs_waiting",
        "jobs",
        ["tree", "kind", "target"],
        unique=True,
        sqlite_where=sa.text("state = 0"),
        postgresql_where=sa.text("state = 0"),
    )
    op.add_column("trees", sa.Column("leased_until", sa.BigInteger(), nullable=True))
    op.add_column("idempotency", sa.Column("held_until", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_idempotency_expires_at"), "idempotency", ["expires_at"], unique=False)
    op.add_column("projects", sa.Column("revision", sa.Integer(), server_default="1", nullable=False))
    op.create_table(
        "project_revisions",
        sa.Column("project", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("system_prompt", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("author", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["author"], ["agents.key"], name=op.f("fk_project_revisions_agents")),
        sa.ForeignKeyConstraint(
            ["project"],
            ["projects.key"],
            name=op.f("fk_project_revisions_projects"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project", "revision", name=op.f("pk_project_revisions")),
    )
