"""Tables of records in their streams, and of the index of collapsed groups.

Where a place has no user, project, session or topic, the column is empty, not null: so that one
index finds every stream, and one constraint keeps its ids apart.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    SmallInteger,
    Text,
    UniqueConstraint,
)

from weft.store.schema.columns import LOCAL_ID, ULID, table

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
