"""The table of words in SQLite: FTS5, fed with words that are cut already."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Float,
    Select,
    bindparam,
    column,
    literal_column,
    select,
    table,
    text,
)

from weft.store.session import Session
from weft.store.text_index import IndexEntry, Reach
from weft.store.transaction import Transaction
from weft.tree.query import Atom, Query

_INSERT = text("INSERT INTO search_terms (rowid, title, body) VALUES (:key, :title, :body)")
_DELETE = text("DELETE FROM search_terms WHERE rowid = :key")
_DELETE_REACH = text("DELETE FROM search_terms WHERE rowid BETWEEN :low AND :high")
# Faster than taking row after row out of the index: what it is made from, then the index itself.
_DELETE_ALL = text("DELETE FROM search_terms_content")
_REBUILD = text("INSERT INTO search_terms (search_terms) VALUES ('rebuild')")
# Removed words stay in the older parts of the index until those are merged with the newer.
_PURGE = text("INSERT INTO search_terms (search_terms) VALUES ('optimize')")

_terms = table("search_terms", column("rowid", BigInteger), column("rank", Float), column("search_terms"))
_EVERYTHING = -1


class SqliteTerms:
    """One FTS5 table. A rowid is a key."""

    def add(self, transaction: Transaction, entries: Sequence[IndexEntry]) -> None:
        rows = [
            {"key": entry.key, "title": " ".join(entry.title), "body": " ".join(entry.body)}
            for entry in sorted(entries)
        ]
        transaction.execute_many(_INSERT, rows)

    def remove(self, transaction: Transaction, keys: Sequence[int]) -> None:
        transaction.execute_many(_DELETE, [{"key": key} for key in sorted(keys)])

    def remove_reach(self, transaction: Transaction, reach: Reach) -> None:
        transaction.execute(_DELETE_REACH, reach._asdict())

    def purge(self, transaction: Transaction) -> None:
        transaction.execute(_PURGE)

    def clear(self, transaction: Transaction) -> None:
        transaction.execute(_DELETE_ALL)
        transaction.execute(_REBUILD)

    def matching(
        self, session: Session, query: Query, reach: Reach, most: int | None
    ) -> Select[*tuple[Any, ...]]:
        del session
        best = (
            select(_terms.c.rowid.label("key"), (-_terms.c.rank).label("rank"))
            .where(
                _terms.c.search_terms.match(bindparam("match", _match(query))),
                _terms.c.rowid.between(reach.low, reach.high),
            )
            .order_by(_terms.c.rank)
            .limit(_EVERYTHING if most is None else most)
            .subquery("best")
        )
        return select(best.c.key, best.c.rank, literal_column("0", Boolean).label("unsure"))

    def settled(self, session: Session) -> int | None:
        del session
        return None


def _match(query: Query) -> str:
    """The query in FTS5's language. Words consist of letters, digits and marks: quotes hold them."""
    wanted = " AND ".join(f"({_any(clause)})" for clause in query.clauses)
    return f"({wanted}) NOT ({_any(query.without)})" if query.without else wanted


def _any(atoms: Sequence[Atom]) -> str:
    return " OR ".join(_phrase(atom) for atom in atoms)


def _phrase(atom: Atom) -> str:
    return f'"{" ".join(atom.words)}"' + (" *" if atom.prefix else "")
