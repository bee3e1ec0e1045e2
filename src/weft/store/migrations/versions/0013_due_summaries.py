"""Summaries that are due are jobs: no follower of the event log; jobs are found by kind, however many wait."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_table("followers")
    op.drop_index(op.f("ix_jobs_state_run_after"), "jobs")
    op.drop_index(op.f("ix_jobs_tree"), "jobs")
    op.create_index(op.f("ix_jobs_kind_state_run_after"), "jobs", ["kind", "state", "run_after"])
    jobs = sa.table("jobs", sa.column("kind", sa.Text()))
    op.execute(jobs.update().where(jobs.c.kind.like("summarise-%")).values(kind="summarise"))
