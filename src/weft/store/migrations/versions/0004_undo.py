"""What undo needs: things that are hidden, what was typed, and an agent's own events at hand."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ENDS = ["a_tree", "a_kind", "a_key", "b_tree", "b_kind", "b_key"]


def upgrade() -> None:
    for table in ("agents", "documents", "revisions", "trees", "projects", "project_revisions"):
        op.add_column(table, sa.Column("hidden", sa.BigInteger(), nullable=True))
    hidden = sa.column("hidden").is_not(None)
    op.create_index(
        "ix_nodes_hidden", "nodes", ["tree", "hidden"], sqlite_where=hidden, postgresql_where=hidden
    )
    op.create_index(op.f("ix_events_tree_agent_ordinal"), "events", ["tree", "agent", "ordinal"])
    op.create_table(
        "typings",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kept", sa.Integer(), nullable=False),
        sa.Column("removed", sa.Text(), nullable=False),
        sa.Column("added", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_typings_trees")),
        sa.PrimaryKeyConstraint("tree", "ordinal", name=op.f("pk_typings")),
    )
    # A project whose making was undone gives its name free. No grove has any yet, so nothing is lost.
    with op.batch_alter_table("projects") as projects:
        projects.drop_constraint(op.f("uq_projects_name"), type_="unique")
    op.create_index(op.f("ix_projects_name"), "projects", ["name"])
    # A link that was taken away keeps its row, and so its note, when the two are linked again.
    with op.batch_alter_table("links") as links:
        links.drop_constraint(op.f("uq_links_a_tree_a_kind_a_key_b_tree_b_kind_b_key"), type_="unique")
    present = sa.column("removed").is_(None)
    op.create_index(
        "ix_links_ends", "links", _ENDS, unique=True, sqlite_where=present, postgresql_where=present
    )
