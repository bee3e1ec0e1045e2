"""Tables that the search index keeps, made from the others."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, MetaData, SmallInteger, Table

from weft.store.schema.columns import metadata

derived = MetaData(naming_convention=metadata.naming_convention)
"""Tables made from the others, behind the back of operations: no part of what a grove holds.

The table of words itself, search_terms, is each database's own kind: see Terms in search.py.
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
