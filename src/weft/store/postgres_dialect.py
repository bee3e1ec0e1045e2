"""What PostgreSQL says in its own way: statements, errors, and the table of words.

Words are kept as vectors with their places, under a GIN index.

A vector knows at most 256 places of a word, and none beyond the first 16,383. Longer
texts are marked: phrases in them are looked for as single words, and the caller checks
the text itself.
"""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

import psycopg
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Float,
    Insert,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    and_,
    any_,
    bindparam,
    cast,
    func,
    insert,
    literal,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.exc import DBAPIError

from weft.errors import StorageError, UnavailableError, WeftError
from weft.store import schema
from weft.store.session import IndexEntry, Reach, Session, upsert_with
from weft.store.text_index import split_key
from weft.tree.query import Atom, Query

_PLACES_OF_A_WORD = 255
_LAST_PLACE = 16_383
_NUMBERS = [str(place) for place in range(1, _LAST_PLACE + 1)]
_BY_LENGTH = 1


class PostgresTerms:
    """A table with a vector for each thing."""

    def __init__(self, name: str, body: float) -> None:
        self._weights = [body, 0.1, 0.25, 1.0]
        """Of a body's words (the first) and a title's (the last)."""
        self._table = Table(
            name,
            MetaData(),
            Column("tree", Integer, primary_key=True),
            Column("key", BigInteger, primary_key=True),
            Column("terms", TSVECTOR),
            Column("long", Boolean),
        )
        self._insert = text(
            f"INSERT INTO {name} (tree, key, terms, long) SELECT * FROM unnest("
            "CAST(:trees AS integer[]), CAST(:keys AS bigint[]), "
            "CAST(CAST(:vectors AS text[]) AS tsvector[]), CAST(:longs AS boolean[]))"
        )

    def add(self, transaction: Session, entries: Sequence[IndexEntry]) -> None:
        if not entries:
            return
        vectors = [_vector(entry) for entry in entries]
        transaction.execute(
            self._insert,
            {
                "trees": [split_key(entry.key)[0] for entry in entries],
                "keys": [entry.key for entry in entries],
                "vectors": [vector for vector, _ in vectors],
                "longs": [long for _, long in vectors],
            },
        )

    def remove(self, transaction: Session, keys: Sequence[int]) -> None:
        if keys:
            transaction.execute(self._table.delete().where(self._table.c.key.in_(keys)))

    def remove_reach(self, transaction: Session, reach: Reach) -> None:
        trees = split_key(reach.low)[0], split_key(reach.high)[0]
        within = self._table.c.tree.between(*trees), self._within(reach)
        transaction.execute(self._table.delete().where(*within))

    def purge(self, transaction: Session) -> None:
        """Left to the server, which clears away dead rows by itself."""

    def clear(self, transaction: Session) -> None:
        transaction.execute(text(f"TRUNCATE {self._table.name}"))

    def matching(
        self, session: Session, query: Query, reach: Reach, most: int | None
    ) -> Select[*tuple[Any, ...]]:
        terms = self._table.c.terms
        matches: ColumnElement[bool] = terms.op("@@")(_tsquery(_strict(query)))
        if any(len(atom.words) > 1 for atom in (*query.atoms, *query.without)):
            loosely = terms.op("@@")(_tsquery(_loose(query)))
            matches = or_(matches, and_(self._table.c.long, loosely))
        conditions = [matches, self._within(reach)]
        trees = split_key(reach.low)[0], split_key(reach.high)[0]
        if trees[0] == trees[1]:
            conditions.append(self._table.c.tree == trees[0])
        rank = self._rank(session, query.atoms)
        best = (
            select(self._table.c.key, rank.label("rank"), self._table.c.long.label("unsure"))
            .where(*conditions)
            .order_by(rank.desc(), self._table.c.key.desc())
            .limit(most)
            .subquery("best")
        )
        return select(best.c.key, best.c.rank, best.c.unsure)

    def _within(self, reach: Reach) -> ColumnElement[bool]:
        return self._table.c.key.between(reach.low, reach.high)

    def _rank(self, session: Session, atoms: Sequence[Atom]) -> ColumnElement[float]:
        """The sum over what is looked for: how rare it is, times how much of the text it is."""
        weights = cast(literal(self._weights, ARRAY(Float)), ARRAY(Float(24)))
        parts: list[ColumnElement[float]] = [
            literal(rarity, Float)
            * func.ts_rank(
                weights, self._table.c.terms, _tsquery(_atom(atom, " & ")), _BY_LENGTH, type_=Float
            )
            for atom, rarity in zip(atoms, self._rarities(session, atoms), strict=True)
        ]
        return reduce(add, parts)

    def _rarities(self, session: Session, atoms: Sequence[Atom]) -> list[float]:
        """Inverse document frequencies, as BM25 has them; of one word alone it does not matter."""
        if len(atoms) == 1:
            return [1.0]
        counts = [
            select(func.count())
            .select_from(self._table)
            .where(self._table.c.terms.op("@@")(_tsquery(_atom(atom, " & "))))
            for atom in atoms
        ]
        everything = select(func.count()).select_from(self._table)
        total, *numbers = session.execute(
            select(*(each.scalar_subquery() for each in (everything, *counts)))
        ).one()
        return [math.log(1 + (total - number + 0.5) / (number + 0.5)) for number in numbers]


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


class PostgresDialect:
    """What PostgreSQL says in its own way."""

    counts_events = False
    terms = PostgresTerms("search_terms", body=0.1)
    passage_terms = PostgresTerms("vault_terms", body=0.5)

    def among(self, column: ColumnElement[int], keys: Sequence[int]) -> ColumnElement[bool]:
        return column == any_(literal(list(keys), ARRAY(Integer)))

    def among_given(self, column: ColumnElement[int], name: str) -> ColumnElement[bool]:
        return column == any_(cast(bindparam(name, type_=Text()), ARRAY(Integer)))

    def keys(self, keys: Sequence[int]) -> object:
        # As text, which the server reads: the driver would look at every item in Python.
        return f"{{{','.join(map(str, keys))}}}"

    def fetch(self, driver: Any, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        return driver.execute(sql, parameters, binary=True).fetchall()

    def send(self, driver: Any, sql: str, rows: Sequence[Any]) -> None:
        with driver.cursor() as cursor:
            cursor.executemany(sql, rows)

    def stop_reading(self, driver: Any) -> None:
        # Foreign keys are checked by queries, and each check would be planned again.
        driver.execute("SET LOCAL plan_cache_mode = auto")

    def batch(self, table: Table) -> str | None:
        return _BATCHES.get(table)

    def together(self, driver: Any) -> contextlib.AbstractContextManager[object]:
        return driver.pipeline()

    def upsert(self, table: Table, key: Sequence[str], update: Sequence[str]) -> Insert:
        return upsert_with(postgres_insert, table, tuple(key), tuple(update))

    def insert_events(self) -> Insert:
        return _INSERT_EVENTS

    def is_unreadable_text(self, error: Exception) -> bool:  # noqa: ARG002 - the database checks texts itself
        return False

    def last_key(self, session: Session, table: Table) -> int:
        sequence = f"{table.name}_{table.c.key.name}_seq"
        highest = text(f'SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "{sequence}"')
        return int(session.execute(highest).scalar_one())

    def reserve_keys(self, session: Session, table: Table, last: int) -> None:
        sequence = f"{table.name}_{table.c.key.name}_seq"
        if last > self.last_key(session, table):
            session.execute(select(func.setval(sequence, last)))

    def reserve_event_numbers(self, session: Session, last: int) -> None:
        if last:
            session.execute(select(func.setval(schema.event_numbers.name, last)))

    def leave_traces(self) -> None:
        """The server's own vacuum frees what deleted rows held."""

    def settled(self, transaction: ColumnElement[int]) -> ColumnElement[bool]:
        return transaction < transaction_number(func.pg_snapshot_xmin(func.pg_current_snapshot()))

    def horizon(self) -> ColumnElement[int]:
        return transaction_number(func.pg_snapshot_xmax(func.pg_current_snapshot()))


def transaction_number(transaction: ColumnElement[Any]) -> ColumnElement[int]:
    """PostgreSQL's type for transaction ids has no direct way to a number."""
    return cast(cast(transaction, Text), BigInteger)


_INSERT_EVENTS = insert(schema.events).values(
    number=schema.event_numbers.next_value(),
    transaction=transaction_number(func.pg_current_xact_id()),
)


def _batch(table: Table, names: Sequence[str], also: Mapping[str, str], conflict: str = "") -> str:
    columns = ", ".join(names)
    into = ", ".join([columns, *also])
    values = ", ".join([columns, *also.values()])
    return (
        f"INSERT INTO {table.name} ({into}) SELECT {values} "
        f"FROM json_populate_recordset(NULL::{table.name}, %s){conflict}"
    )


_BATCHES = {
    schema.nodes: _batch(schema.nodes, schema.nodes.c.keys(), {}),
    schema.texts: _batch(schema.texts, schema.texts.c.keys(), {}),
    schema.events: _batch(
        schema.events,
        [column.name for column in schema.events.c if column.name not in {"number", "transaction"}],
        {
            "number": f"nextval('{schema.event_numbers.name}')",
            "transaction": "pg_current_xact_id()::text::bigint",
        },
    ),
    schema.jobs: _batch(
        schema.jobs,
        [column.name for column in schema.jobs.c if column.name != "key"],
        {},
        " ON CONFLICT DO NOTHING",
    ),
    schema.cursors: _batch(
        schema.cursors,
        schema.cursors.c.keys(),
        {},
        " ON CONFLICT (tree, agent) DO UPDATE SET node = excluded.node, updated_at = excluded.updated_at",
    ),
}
"""What a new node is made of: a statement for each row would cost the server, and the driver, far more."""


DIALECT = PostgresDialect()
"""One for all: statements are kept by it."""


def _origin(error: DBAPIError | psycopg.Error) -> BaseException | None:
    return error.orig if isinstance(error, DBAPIError) else error


def state_of(error: DBAPIError | psycopg.Error) -> str:
    origin = _origin(error)
    return (origin.sqlstate or "") if isinstance(origin, psycopg.Error) else ""


def explain(error: DBAPIError | psycopg.Error, name: str) -> WeftError:
    state = state_of(error)
    lost = isinstance(_origin(error), psycopg.OperationalError | psycopg.InterfaceError) and not state
    if lost or state[:2] in {"08", "57"}:
        return UnavailableError(
            f"the database {name} does not answer: {_first_line(error)}",
            hint="check that the server runs; Weft goes on by itself once it is back",
        )
    if state == "53100":
        return StorageError(f"the disk of {name} is full", hint="free some space; nothing was half-written")
    if state[:2] == "53":
        return UnavailableError(f"the database {name} is out of resources", hint="try again later")
    if state == "25006":
        return StorageError(f"{name} is read-only", hint="connect to the primary server")
    if state[:2] in {"28", "3D", "42"} or state == "42501":
        return StorageError(f"{name} refuses: {_first_line(error)}", hint="check the address and the rights")
    return StorageError(f"{name}: {_first_line(error)}", hint="nothing was half-written")


def _first_line(error: DBAPIError | psycopg.Error) -> str:
    return (str(_origin(error)).strip().splitlines() or ["no reason given"])[0]
