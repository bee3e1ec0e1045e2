"""What all tables are made of: one collection of them, and the few types of their own."""

from typing import Any

from sqlalchemy import LargeBinary, MetaData, String, Table, Text
from sqlalchemy.schema import SchemaItem

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
"""Indexes name the rows they cover in `info["where"]`: an option of a dialect would import that dialect,
PostgreSQL's too (8 % of the start of every command), and only migrations create indexes."""

ULID = String(26).with_variant(String(26, collation="C"), "postgresql")
LOCAL_ID = Text().with_variant(Text(collation="C"), "postgresql")
"""Compared byte by byte everywhere, so that prefix ranges mean the same."""
SHA256 = LargeBinary(32)


def table(name: str, *parts: SchemaItem, **options: Any) -> Table:
    """A table of the grove."""
    return Table(name, metadata, *parts, **options)
