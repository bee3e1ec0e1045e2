"""Notes of mounted vaults are indexed: their passages, words and vectors."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _key(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.Integer(), autoincrement=False, nullable=False)


def upgrade() -> None:
    op.create_table(
        "vault_states",
        _key("vault"),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("next_note", sa.Integer(), nullable=False),
        sa.Column("next_passage", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("vault", name=op.f("pk_vault_states")),
    )
    op.create_table(
        "vault_notes",
        _key("vault"),
        _key("key"),
        sa.Column("path", _PATH, nullable=False),
        sa.Column("stamp", sa.Text(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(32)),
        sa.Column("modified", sa.BigInteger(), nullable=False),
        sa.Column("form", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("skipped", sa.Text()),
        sa.PrimaryKeyConstraint("vault", "key", name=op.f("pk_vault_notes")),
    )
    op.create_table(
        "vault_passages",
        _key("vault"),
        _key("key"),
        sa.Column("note", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("heading", sa.Text(), nullable=False),
        sa.Column("first_line", sa.Integer(), nullable=False),
        sa.Column("last_line", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("vault", "key", name=op.f("pk_vault_passages")),
    )
    op.create_index(op.f("ix_vault_passages_vault_note"), "vault_passages", ["vault", "note"])
    if op.get_context().dialect.supports_sequences:
        _create_vectors()
    else:
        op.execute("CREATE VIRTUAL TABLE vault_terms USING fts5(title, body, tokenize = 'ascii')")
        op.execute("INSERT INTO vault_terms (vault_terms, rank) VALUES ('rank', 'bm25(4.0, 1.0)')")


def _create_vectors() -> None:
    """The same kind of table as search_terms; `tree` holds the vault."""
    op.create_table(
        "vault_terms",
        _key("tree"),
        sa.Column("key", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("terms", TSVECTOR(), nullable=False),
        sa.Column("long", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("tree", "key", name="pk_vault_terms"),
    )
    op.create_index(
        "ix_vault_terms_terms",
        "vault_terms",
        ["terms"],
        postgresql_using="gin",
        postgresql_with={"gin_pending_list_limit": 512},
    )
