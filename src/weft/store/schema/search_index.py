"""Tables of the search indexes: of what the grove holds, and of the notes of mounted vaults."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
)

from weft.store.schema.columns import LOCAL_ID, SHA256, metadata

derived = MetaData(naming_convention=metadata.naming_convention)
"""Tables made from the others, behind the back of operations: no part of what a grove holds.

The tables of words, search_terms and vault_terms, are each database's own kind: see `Terms`.
"""

search_state = Table(
    "search_state",
    derived,
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("folding", Integer, nullable=False),
    Column("transaction", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False),
    CheckConstraint("key = 0", name="one"),
)

search_positions = Table(
    "search_positions",
    derived,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("events", BigInteger, nullable=False),
    Column("node", Integer, nullable=False),
    Column("tag", Integer, nullable=False),
)

search_versions = Table(
    "search_versions",
    derived,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, primary_key=True, autoincrement=False),
    Column("target", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
)

vault_states = Table(
    "vault_states",
    derived,
    Column("vault", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("next_note", Integer, nullable=False),
    Column("next_passage", Integer, nullable=False),
)
"""How often a vault's index was written; keys are never given twice, so vectors in memory stay true."""

vault_notes = Table(
    "vault_notes",
    derived,
    Column("vault", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("path", LOCAL_ID, nullable=False),
    Column("stamp", Text, nullable=False),
    Column("sha256", SHA256),
    Column("modified", BigInteger, nullable=False),
    Column("form", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("skipped", Text),
)
"""Files of vaults that are notes by name. `about` holds front matter, tags, links and headings as JSON;
`form` says how it was cut and by which model embedded; `skipped` why a file is not searched."""

vault_passages = Table(
    "vault_passages",
    derived,
    Column("vault", Integer, primary_key=True, autoincrement=False),
    Column("key", Integer, primary_key=True, autoincrement=False),
    Column("note", Integer, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("heading", Text, nullable=False),
    Column("first_line", Integer, nullable=False),
    Column("last_line", Integer, nullable=False),
    Column("vector", LargeBinary),
    Index(None, "vault", "note"),
)
"""Lines of a note. Their text stays in the note, which is read when it is shown."""
