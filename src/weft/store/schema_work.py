"""Tables of work under way: who extends a position, which calls are made once, what is to be done later."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    column,
    literal_column,
)

from weft.store.schema_base import SHA256, ULID, metadata

__all__ = ["idempotency", "jobs", "leases"]

leases = Table(
    "leases",
    metadata,
    Column("tree", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("run", ULID, nullable=False),
    Column("agent", Integer, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["tree"], ["trees.key"]),
    sqlite_with_rowid=False,
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("body", SHA256, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("result", Text),
    Column("holder", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("held_until", BigInteger),
    Index(None, "expires_at"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("tree", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("target", Integer),
    Column("payload", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("run_after", BigInteger, nullable=False),
    Column("holder", Text),
    Column("held_until", BigInteger),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "state", "run_after"),
    Index(None, "tree"),
    Index(
        "ix_jobs_waiting",
        "tree",
        "kind",
        "target",
        unique=True,
        sqlite_where=column("state") == literal_column("0"),
        postgresql_where=column("state") == literal_column("0"),
    ),
)
