"""Tables of records in their streams, of the index of collapsed groups, and of the search index.

Where a place has no user, project, session or topic, the column is empty, not null: so that one
index finds every stream, and one constraint keeps its ids apart.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

from weft.store.schema.columns import LOCAL_ID, ULID, metadata, table

PLACE = ("user", "project", "session", "topic", "stream")
"""Whose a record is, and of which stream."""

records = table(
    "records",
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("ulid", ULID, nullable=False, unique=True),
    Column("user", LOCAL_ID, nullable=False),
    Column("project", LOCAL_ID, nullable=False),
    Column("session", LOCAL_ID, nullable=False),
    Column("topic", LOCAL_ID, nullable=False),
    Column("stream", LOCAL_ID, nullable=False),
    Column("id", LOCAL_ID, nullable=False),
    Column("create_time", Float(53), nullable=False),
    Column("document", Text, nullable=False),
    Column("hidden", BigInteger),
    UniqueConstraint(*PLACE, "id", name="uq_records_place"),
    Index("ix_records_window", *PLACE, "create_time", "id"),
)

group_index = table(
    "group_index",
    Column("user", LOCAL_ID, primary_key=True),
    Column("session", LOCAL_ID, primary_key=True),
    Column("shelf", SmallInteger, primary_key=True, autoincrement=False),
    Column("name", LOCAL_ID, primary_key=True),
    Column("document", Text, nullable=False),
    sqlite_with_rowid=False,
)
"""Which message is in which collapsed groups, and which response made them: made again by indexing again."""


derived = MetaData(naming_convention=metadata.naming_convention)
"""Tables made from the others, behind the back of operations: no part of what a grove holds.

The table of words itself, search_terms, is each database's own kind: see `Terms`.
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
