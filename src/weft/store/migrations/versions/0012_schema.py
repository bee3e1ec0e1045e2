"""The schema of a new grove.

It is frozen: a later change of the schema is a numbered file of its own. Its number is that of
the last of the steps it replaces, so that groves that those steps made are open to it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.schema import CreateSequence

revision = "0012"
down_revision = None
branch_labels = None
depends_on = None

ULID = sa.String(length=26).with_variant(sa.String(length=26, collation="C"), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:  # noqa: PLR0915 - a statement for each table and index
    if op.get_context().dialect.supports_sequences:
        op.execute(CreateSequence(sa.Sequence("event_numbers")))
    op.create_table(
        "agents",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.SmallInteger(), nullable=False),
        sa.Column("model_ref", sa.Text(), nullable=True),
        sa.Column("configuration", sa.Text(), nullable=False),
        sa.Column("permissions", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.BigInteger(), nullable=True),
        sa.Column("hidden", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_agents")),
        sa.UniqueConstraint("ulid", name=op.f("uq_agents_ulid")),
    )
    op.create_index(op.f("ix_agents_name"), "agents", ["name"], unique=False)
    op.create_table(
        "bodies",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("gzip", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tree", "sha256", name=op.f("pk_bodies")),
    )
    op.create_table(
        "documents",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.BigInteger(), nullable=True),
        sa.Column("hidden", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_documents")),
        sa.UniqueConstraint("ulid", name=op.f("uq_documents_ulid")),
    )
    op.create_index(op.f("ix_documents_title"), "documents", ["title"], unique=False)
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
    op.create_index(op.f("ix_events_transaction_number"), "events", ["transaction", "number"], unique=False)
    op.create_index(
        op.f("ix_events_tree_agent_ordinal"), "events", ["tree", "agent", "ordinal"], unique=False
    )
    op.create_table(
        "followers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_followers")),
    )
    op.create_table(
        "group_index",
        sa.Column("user", TEXT, nullable=False),
        sa.Column("session", TEXT, nullable=False),
        sa.Column("shelf", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("user", "session", "shelf", "name", name=op.f("pk_group_index")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "grove",
        sa.Column("key", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("owner", sa.Integer(), nullable=True),
        sa.Column("preferences", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.LargeBinary(length=32), nullable=True),
        sa.CheckConstraint("key = 0", name=op.f("ck_grove_one")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_grove")),
    )
    op.create_table(
        "idempotency",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(length=32), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("scope", "key", name=op.f("pk_idempotency")),
    )
    op.create_index(op.f("ix_idempotency_expires_at"), "idempotency", ["expires_at"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("key", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tree", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("target", sa.Integer(), nullable=True),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("run_after", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("held_until", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_state_run_after"), "jobs", ["state", "run_after"], unique=False)
    op.create_index(op.f("ix_jobs_tree"), "jobs", ["tree"], unique=False)
    op.create_index(
        "ix_jobs_waiting",
        "jobs",
        ["tree", "kind", "target"],
        unique=True,
        sqlite_where=sa.text("state = 0"),
        postgresql_where=sa.text("state = 0"),
    )
    op.create_table(
        "projects",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("system_prompt", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.BigInteger(), nullable=True),
        sa.Column("revision", sa.Integer(), server_default="1", nullable=False),
        sa.Column("hidden", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_projects")),
        sa.UniqueConstraint("ulid", name=op.f("uq_projects_ulid")),
    )
    op.create_index(op.f("ix_projects_name"), "projects", ["name"], unique=False)
    op.create_table(
        "records",
        sa.Column("key", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("project", TEXT, nullable=False),
        sa.Column("session", TEXT, nullable=False),
        sa.Column("topic", TEXT, nullable=False),
        sa.Column("stream", TEXT, nullable=False),
        sa.Column("id", TEXT, nullable=False),
        sa.Column("create_time", sa.Float(precision=53), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("hidden", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_records")),
        sa.UniqueConstraint("ulid", name=op.f("uq_records_ulid")),
        sa.UniqueConstraint("user", "project", "session", "topic", "stream", "id", name="uq_records_place"),
    )
    op.create_index(
        "ix_records_window",
        "records",
        ["user", "project", "session", "topic", "stream", "create_time", "id"],
        unique=False,
    )
    op.create_table(
        "tags",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("tree", sa.Integer(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("target", sa.Integer(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_tags")),
        sa.UniqueConstraint("tree", "kind", "target", "label", name=op.f("uq_tags_tree_kind_target_label")),
    )
    op.create_index(op.f("ix_tags_label"), "tags", ["label"], unique=False)
    op.create_table(
        "timestamps",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("target", ULID, nullable=False),
        sa.Column("statement", sa.Text(), nullable=True),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("authority", sa.Text(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("token", sa.LargeBinary(), nullable=True),
        sa.Column("certificates", sa.LargeBinary(), nullable=True),
        sa.Column("certified_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_try", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tree", "ulid", name=op.f("pk_timestamps")),
    )
    op.create_index(op.f("ix_timestamps_tree_target"), "timestamps", ["tree", "target"], unique=False)
    op.create_table(
        "vaults",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_vaults")),
        sa.UniqueConstraint("ulid", name=op.f("uq_vaults_ulid")),
    )
    op.create_index(
        "ix_vaults_name",
        "vaults",
        ["name"],
        unique=True,
        sqlite_where=sa.text("removed IS NULL"),
        postgresql_where=sa.text("removed IS NULL"),
    )
    op.create_table(
        "links",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("a_tree", sa.Integer(), nullable=False),
        sa.Column("a_kind", sa.SmallInteger(), nullable=False),
        sa.Column("a_key", sa.Integer(), nullable=False),
        sa.Column("b_tree", sa.Integer(), nullable=False),
        sa.Column("b_kind", sa.SmallInteger(), nullable=False),
        sa.Column("b_key", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("author", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["author"], ["agents.key"], name=op.f("fk_links_agents")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_links")),
        sa.UniqueConstraint("ulid", name=op.f("uq_links_ulid")),
    )
    op.create_index(
        op.f("ix_links_b_tree_b_kind_b_key"), "links", ["b_tree", "b_kind", "b_key"], unique=False
    )
    op.create_index(
        "ix_links_ends",
        "links",
        ["a_tree", "a_kind", "a_key", "b_tree", "b_kind", "b_key"],
        unique=True,
        sqlite_where=sa.text("removed IS NULL"),
        postgresql_where=sa.text("removed IS NULL"),
    )
    op.create_table(
        "project_revisions",
        sa.Column("project", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("system_prompt", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("author", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("hidden", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["author"], ["agents.key"], name=op.f("fk_project_revisions_agents")),
        sa.ForeignKeyConstraint(
            ["project"], ["projects.key"], name=op.f("fk_project_revisions_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project", "revision", name=op.f("pk_project_revisions")),
    )
    op.create_table(
        "revisions",
        sa.Column("document", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("author", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("hidden", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["author"], ["agents.key"], name=op.f("fk_revisions_agents")),
        sa.ForeignKeyConstraint(
            ["document"], ["documents.key"], name=op.f("fk_revisions_documents"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document", "revision", name=op.f("pk_revisions")),
    )
    op.create_table(
        "spending",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("attempt", ULID, nullable=False),
        sa.Column("in_tree", sa.Integer(), nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.Column("is_settled", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_spending_agents")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_spending")),
        sa.UniqueConstraint("attempt", name=op.f("uq_spending_attempt")),
    )
    op.create_index(op.f("ix_spending_agent"), "spending", ["agent"], unique=False)
    op.create_index(op.f("ix_spending_day"), "spending", ["day"], unique=False)
    op.create_index(op.f("ix_spending_in_tree"), "spending", ["in_tree"], unique=False)
    op.create_table(
        "trees",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("mode", sa.SmallInteger(), nullable=False),
        sa.Column("system_context", sa.Text(), nullable=False),
        sa.Column("buffer_mode_system_context", sa.Boolean(), nullable=False),
        sa.Column("preferences", sa.Text(), nullable=False),
        sa.Column("project", sa.Integer(), nullable=True),
        sa.Column("root", sa.Integer(), nullable=False),
        sa.Column("root_ulid", ULID, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.BigInteger(), nullable=True),
        sa.Column("next_key", sa.Integer(), nullable=False),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("branches", sa.Integer(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.LargeBinary(length=32), nullable=True),
        sa.Column("leased_until", sa.BigInteger(), nullable=True),
        sa.Column("hidden", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["project"], ["projects.key"], name=op.f("fk_trees_projects")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_trees")),
        sa.UniqueConstraint("ulid", name=op.f("uq_trees_ulid")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_trees_updated_at"), "trees", ["updated_at"], unique=False)
    op.create_table(
        "users",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_users_agents")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
        sa.UniqueConstraint("ulid", name=op.f("uq_users_ulid")),
    )
    op.create_table(
        "attempts",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("parent", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.SmallInteger(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("request", sa.LargeBinary(length=32), nullable=True),
        sa.Column("response", sa.Integer(), nullable=True),
        sa.Column("partial", sa.LargeBinary(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_attempts_agents")),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_attempts_trees")),
        sa.PrimaryKeyConstraint("tree", "key", name=op.f("pk_attempts")),
        sa.UniqueConstraint("tree", "ulid", name=op.f("uq_attempts_tree_ulid")),
    )
    op.create_table(
        "buffers",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_buffers_trees")),
        sa.PrimaryKeyConstraint("tree", "agent", name=op.f("pk_buffers")),
    )
    op.create_table(
        "groups",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("expanded", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_groups_trees")),
        sa.PrimaryKeyConstraint("tree", "name", name=op.f("pk_groups")),
    )
    op.create_table(
        "leases",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run", ULID, nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_leases_trees")),
        sa.PrimaryKeyConstraint("tree", "position", name=op.f("pk_leases")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "memberships",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("user", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("role", sa.SmallInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user"], ["users.key"], name=op.f("fk_memberships_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tree", "user", name=op.f("pk_memberships")),
    )
    op.create_table(
        "memory",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_memory_agents")),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_memory_trees")),
        sa.PrimaryKeyConstraint("tree", "agent", "ordinal", name=op.f("pk_memory")),
    )
    op.create_table(
        "nodes",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("local_id", TEXT, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("parent", sa.Integer(), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("jump", sa.Integer(), nullable=False),
        sa.Column("written_after", sa.Integer(), nullable=True),
        sa.Column("edge_type", sa.SmallInteger(), nullable=False),
        sa.Column("edited_from", sa.Integer(), nullable=True),
        sa.Column("author", sa.Integer(), nullable=False),
        sa.Column("author_type", sa.SmallInteger(), nullable=False),
        sa.Column("role", sa.SmallInteger(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("narrow", sa.Integer(), nullable=False),
        sa.Column("wide", sa.Integer(), nullable=False),
        sa.Column("ruler", sa.BigInteger(), nullable=False),
        sa.Column("near_attachments", sa.Integer(), nullable=True),
        sa.Column("near_instruction", sa.Integer(), nullable=True),
        sa.Column("flags", sa.SmallInteger(), nullable=False),
        sa.Column("pruned", sa.BigInteger(), nullable=True),
        sa.Column("hidden", sa.BigInteger(), nullable=True),
        sa.Column("bookmark_label", sa.Text(), nullable=True),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["author"], ["agents.key"], name=op.f("fk_nodes_agents")),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_nodes_trees")),
        sa.PrimaryKeyConstraint("tree", "key", name=op.f("pk_nodes")),
        sa.UniqueConstraint("tree", "local_id", name=op.f("uq_nodes_tree_local_id")),
        sa.UniqueConstraint("tree", "ulid", name=op.f("uq_nodes_tree_ulid")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_nodes_children", "nodes", ["tree", "parent", "key"], unique=False)
    op.create_index(
        "ix_nodes_hidden",
        "nodes",
        ["tree", "hidden"],
        unique=False,
        sqlite_where=sa.text("hidden IS NOT NULL"),
        postgresql_where=sa.text("hidden IS NOT NULL"),
    )
    op.create_index(
        "ix_nodes_notes",
        "nodes",
        ["tree", "parent", "key"],
        unique=False,
        sqlite_where=sa.text("edge_type = 1"),
        postgresql_where=sa.text("edge_type = 1"),
    )
    op.create_index(
        "ix_nodes_pruned",
        "nodes",
        ["tree", "pruned"],
        unique=False,
        sqlite_where=sa.text("pruned IS NOT NULL"),
        postgresql_where=sa.text("pruned IS NOT NULL"),
    )
    op.create_index(
        "ix_nodes_versions",
        "nodes",
        ["tree", "position", "key"],
        unique=False,
        sqlite_where=sa.text("key != position"),
        postgresql_where=sa.text("key != position"),
    )
    op.create_table(
        "responses",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("status_code", sa.Integer(), nullable=True),
        sa.Column("requested_at", sa.BigInteger(), nullable=True),
        sa.Column("responded_at", sa.BigInteger(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("total_tokens", sa.Integer(), nullable=True),
        sa.Column("cached_read", sa.Integer(), nullable=True),
        sa.Column("cached_write", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tree", "sha256"], ["bodies.tree", "bodies.sha256"], name=op.f("fk_responses_bodies")
        ),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_responses_trees")),
        sa.PrimaryKeyConstraint("tree", "key", name=op.f("pk_responses")),
    )
    op.create_table(
        "runs",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run", ULID, nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("asker", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("head", sa.Integer(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("batch", sa.Text(), nullable=False),
        sa.Column("attempt", ULID, nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_runs_agents")),
        sa.ForeignKeyConstraint(["tree"], ["trees.key"], name=op.f("fk_runs_trees")),
        sa.PrimaryKeyConstraint("tree", "run", name=op.f("pk_runs")),
    )
    op.create_table(
        "tokens",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("ulid", ULID, nullable=False),
        sa.Column("user", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("service", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user"], ["users.key"], name=op.f("fk_tokens_users"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
        sa.UniqueConstraint("ulid", name=op.f("uq_tokens_ulid")),
    )
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
    op.create_table(
        "attachments",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("recoverable", sa.Boolean(), nullable=False),
        sa.Column("attached_by", sa.BigInteger(), nullable=True),
        sa.Column("detached_by", sa.BigInteger(), nullable=True),
        sa.Column("about", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tree", "node"],
            ["nodes.tree", "nodes.key"],
            name=op.f("fk_attachments_nodes"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tree", "sha256"], ["bodies.tree", "bodies.sha256"], name=op.f("fk_attachments_bodies")
        ),
        sa.PrimaryKeyConstraint("tree", "node", "ordinal", name=op.f("pk_attachments")),
    )
    op.create_table(
        "calls",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("asker", sa.Integer(), nullable=False),
        sa.Column("sources", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("run", ULID, nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["asker"], ["agents.key"], name=op.f("fk_calls_agents")),
        sa.ForeignKeyConstraint(
            ["tree", "attempt"],
            ["attempts.tree", "attempts.key"],
            name=op.f("fk_calls_attempts"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tree", "attempt", name=op.f("pk_calls")),
    )
    op.create_table(
        "cursors",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name=op.f("fk_cursors_agents")),
        sa.ForeignKeyConstraint(
            ["tree", "node"], ["nodes.tree", "nodes.key"], name=op.f("fk_cursors_nodes"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tree", "agent", name=op.f("pk_cursors")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_cursors_agent_updated_at"), "cursors", ["agent", "updated_at"], unique=False)
    op.create_table(
        "envelopes",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("agent", sa.Integer(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("attempt", ULID, nullable=True),
        sa.Column("legacy", sa.Boolean(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
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
    op.create_index(
        "ix_envelopes_legacy",
        "envelopes",
        ["tree"],
        unique=False,
        sqlite_where=sa.column("legacy").is_(True),
        postgresql_where=sa.column("legacy").is_(True),
    )
    op.create_index(op.f("ix_envelopes_tree_created_at"), "envelopes", ["tree", "created_at"], unique=False)
    op.create_table(
        "manifests",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("gzip", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "attempt"],
            ["attempts.tree", "attempts.key"],
            name=op.f("fk_manifests_attempts"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tree", "attempt", name=op.f("pk_manifests")),
    )
    op.create_table(
        "node_responses",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("response", sa.Integer(), nullable=False),
        sa.Column("choice", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "node"],
            ["nodes.tree", "nodes.key"],
            name=op.f("fk_node_responses_nodes"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tree", "response"],
            ["responses.tree", "responses.key"],
            name=op.f("fk_node_responses_responses"),
        ),
        sa.PrimaryKeyConstraint("tree", "node", name=op.f("pk_node_responses")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "requests",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("segment", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "attempt"],
            ["attempts.tree", "attempts.key"],
            name=op.f("fk_requests_attempts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tree", "segment"], ["bodies.tree", "bodies.sha256"], name=op.f("fk_requests_bodies")
        ),
        sa.PrimaryKeyConstraint("tree", "attempt", "ordinal", name=op.f("pk_requests")),
    )
    op.create_table(
        "selections",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "node"],
            ["nodes.tree", "nodes.key"],
            name=op.f("fk_selections_nodes"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tree", "agent", "position", name=op.f("pk_selections")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sources",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("target", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("source", sa.Integer(), nullable=False),
        sa.Column("role", sa.SmallInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "target"], ["nodes.tree", "nodes.key"], name=op.f("fk_sources_nodes"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tree", "target", "ordinal", name=op.f("pk_sources")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_sources_tree_source"), "sources", ["tree", "source"], unique=False)
    op.create_table(
        "texts",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tree", "node"], ["nodes.tree", "nodes.key"], name=op.f("fk_texts_nodes"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tree", "node", name=op.f("pk_texts")),
    )
    op.create_table(
        "pieces",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("wire", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tree", "attempt"],
            ["calls.tree", "calls.attempt"],
            name=op.f("fk_pieces_calls"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tree", "attempt", "ordinal", name=op.f("pk_pieces")),
    )
    op.create_table(
        "search_positions",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("tag", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tree", name=op.f("pk_search_positions")),
    )
    op.create_table(
        "search_state",
        sa.Column("key", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("folding", sa.Integer(), nullable=False),
        sa.Column("transaction", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("key = 0", name=op.f("ck_search_state_one")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_search_state")),
    )
    op.create_table(
        "search_versions",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("target", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tree", "kind", "target", name=op.f("pk_search_versions")),
    )
    if op.get_context().dialect.supports_sequences:
        _create_vectors()
    else:
        # Words come cut and folded, with spaces between: nothing is left for the tokenizer to decide.
        op.execute("CREATE VIRTUAL TABLE search_terms USING fts5(title, body, tokenize = 'ascii')")
        op.execute("INSERT INTO search_terms (search_terms, rank) VALUES ('rank', 'bm25(4.0, 1.0)')")


def _create_vectors() -> None:
    op.create_table(
        "search_terms",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("terms", TSVECTOR(), nullable=False),
        sa.Column("long", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("tree", "key", name="pk_search_terms"),
    )
    # New words wait in a list that every search reads: a short one, so that searching stays fast.
    op.create_index(
        "ix_search_terms_terms",
        "search_terms",
        ["terms"],
        postgresql_using="gin",
        postgresql_with={"gin_pending_list_limit": 512},
    )
