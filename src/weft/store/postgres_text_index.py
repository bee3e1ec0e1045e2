"""The table of words in PostgreSQL: vectors of words with their places, under a GIN index.

A vector knows at most 256 places of a word, and none beyond the first 16,383. Longer
texts are marked: phrases in them are looked for as single words, and the caller checks
the text itself.
"""

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Float,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    and_,
    cast,
    func,
    literal,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR

from weft.store.session import Session
from weft.store.text_index import IndexEntry, Reach, split_key
from weft.store.transaction import Transaction
from weft.tree.query import Atom, Query

_PLACES_OF_A_WORD = 255
_LAST_PLACE = 16_383
_NUMBERS = [str(place) for place in range(1, _LAST_PLACE + 1)]
_WEIGHTS = [0.1, 0.1, 0.25, 1.0]
"""Of a body's words (the first) and a title's (the last)."""
_BY_LENGTH = 1

_terms = Table(
    "search_terms",
    MetaData(),
    Column("tree", Integer, primary_key=True),
    Column("key", BigInteger, primary_key=True),
    Column("terms", TSVECTOR),
    Column("long", Boolean),
)
_INSERT = text(
    "INSERT INTO search_terms (tree, key, terms, long) SELECT * FROM unnest("
    "CAST(:trees AS integer[]), CAST(:keys AS bigint[]), CAST(CAST(:vectors AS text[]) AS tsvector[]), "
    "CAST(:longs AS boolean[]))"
)


class PostgresTerms:
    """One table with a vector for each thing."""

    def add(self, transaction: Transaction, entries: Sequence[IndexEntry]) -> None:
        if not entries:
            return
        vectors = [_vector(entry) for entry in entries]
        transaction.execute(
            _INSERT,
            {
                "trees": [split_key(entry.key)[0] for entry in entries],
                "keys": [entry.key for entry in entries],
                "vectors": [vector for vector, _ in vectors],
                "longs": [long for _, long in vectors],
            },
        )

    def remove(self, transaction: Transaction, keys: Sequence[int]) -> None:
        if keys:
            transaction.execute(_terms.delete().where(_terms.c.key.in_(keys)))

    def remove_reach(self, transaction: Transaction, reach: Reach) -> None:
        trees = split_key(reach.low)[0], split_key(reach.high)[0]
        transaction.execute(_terms.delete().where(_terms.c.tree.between(*trees), _within(reach)))

    def purge(self, transaction: Transaction) -> None:
        """Left to the server, which clears away dead rows by itself."""

    def clear(self, transaction: Transaction) -> None:
        transaction.execute(text("TRUNCATE search_terms"))

    def matching(
        self, session: Session, query: Query, reach: Reach, most: int | None
    ) -> Select[*tuple[Any, ...]]:
        found: ColumnElement[bool] = _terms.c.terms.op("@@")(_tsquery(_strict(query)))
        if any(len(atom.words) > 1 for atom in (*query.atoms, *query.without)):
            loosely = _terms.c.terms.op("@@")(_tsquery(_loose(query)))
            found = or_(found, and_(_terms.c.long, loosely))
        conditions = [found, _within(reach)]
        trees = split_key(reach.low)[0], split_key(reach.high)[0]
        if trees[0] == trees[1]:
            conditions.append(_terms.c.tree == trees[0])
        rank = _rank(session, query.atoms)
        best = (
            select(_terms.c.key, rank.label("rank"), _terms.c.long.label("unsure"))
            .where(*conditions)
            .order_by(rank.desc(), _terms.c.key.desc())
            .limit(most)
            .subquery("best")
        )
        return select(best.c.key, best.c.rank, best.c.unsure)

    def settled(self, session: Session) -> int | None:
        oldest = text("SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)")
        return session.execute(oldest).scalar_one()


def _within(reach: Reach) -> ColumnElement[bool]:
    return _terms.c.key.between(reach.low, reach.high)


def _vector(entry: IndexEntry) -> tuple[str, bool]:
    """Words with their places, the title's marked A; and whether some places had to be left out.

    Nothing in a word needs to be escaped: it consists of letters, digits, marks and pictures.
    """
    if not entry.title and len(entry.body) <= _PLACES_OF_A_WORD:
        return _short_vector(entry.body), False
    places: dict[str, list[str]] = {}
    for number, word in zip(_NUMBERS, entry.title, strict=False):
        places.setdefault(word, []).append(number + "A")
    # A gap, so that no phrase reaches from the title into the body.
    first = min(len(entry.title) + 1, _LAST_PLACE - 1)
    for number, word in zip(_NUMBERS[first:], entry.body, strict=False):
        places.setdefault(word, []).append(number)
    for word in entry.body[_LAST_PLACE - first :]:
        places.setdefault(word, [_NUMBERS[-1]])
    long = len(entry.title) + len(entry.body) >= _LAST_PLACE - 1
    long = long or any(len(known) > _PLACES_OF_A_WORD for known in places.values())
    shown = {word: ",".join(known[:_PLACES_OF_A_WORD]) for word, known in places.items()}
    return " ".join([f"'{word}':{known}" for word, known in shown.items()]), long


def _short_vector(words: Sequence[str]) -> str:
    """The same for what most nodes are, in half the time."""
    places: dict[str, str] = {}
    for number, word in zip(_NUMBERS, words, strict=False):
        if word in places:
            places[word] += "," + number
        else:
            places[word] = number
    return " ".join([f"'{word}':{known}" for word, known in places.items()])


def _tsquery(words: str) -> ColumnElement[Any]:
    return cast(literal(words, Text), TSQUERY)


def _strict(query: Query) -> str:
    return " & ".join(_clauses(query, " <-> ") + [f"!({_atom(atom, ' <-> ')})" for atom in query.without])


def _loose(query: Query) -> str:
    return " & ".join(_clauses(query, " & "))


def _clauses(query: Query, between: str) -> list[str]:
    return [
        "(" + " | ".join(f"({_atom(atom, between)})" for atom in clause) + ")" for clause in query.clauses
    ]


def _atom(atom: Atom, between: str) -> str:
    return between.join(_lexemes(atom))


def _lexemes(atom: Atom) -> Iterator[str]:
    for index, word in enumerate(atom.words, 1):
        yield _quoted(word) + (":*" if atom.prefix and index == len(atom.words) else "")


def _quoted(word: str) -> str:
    """Words consist of letters, digits and marks; should that ever change, nothing breaks out."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _rank(session: Session, atoms: Sequence[Atom]) -> ColumnElement[float]:
    """The sum over what is looked for: how rare it is, times how much of the text it is."""
    weights = cast(literal(_WEIGHTS, ARRAY(Float)), ARRAY(Float(24)))
    rarities = _rarities(session, atoms)
    parts: list[ColumnElement[float]] = [
        literal(rarity, Float)
        * func.ts_rank(weights, _terms.c.terms, _tsquery(_atom(atom, " & ")), _BY_LENGTH, type_=Float)
        for atom, rarity in zip(atoms, rarities, strict=True)
    ]
    return reduce(add, parts)


def _rarities(session: Session, atoms: Sequence[Atom]) -> list[float]:
    """Inverse document frequencies, as BM25 has them; of one word alone it does not matter."""
    if len(atoms) == 1:
        return [1.0]
    counts = [
        select(func.count()).select_from(_terms).where(_terms.c.terms.op("@@")(_tsquery(_atom(atom, " & "))))
        for atom in atoms
    ]
    everything = select(func.count()).select_from(_terms)
    total, *found = session.execute(select(*(each.scalar_subquery() for each in (everything, *counts)))).one()
    return [math.log(1 + (total - number + 0.5) / (number + 0.5)) for number in found]
