"""The search index, which is made from the rest and may be made anew at any time."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
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
        "search_positions",
        sa.Column("tree", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("tag", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tree", name=op.f("pk_search_positions")),
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
