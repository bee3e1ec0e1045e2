"""Searching a grove: bring the index up to date, look, and show what may be seen."""

import threading
import weakref
from typing import Any

from sqlalchemy import and_, case, or_, select

from weft.errors import InvalidInputError, StorageError, UnavailableError
from weft.runtime.operations.permissions import Actor
from weft.runtime.search.filters import NOTED, TAGGED, Conditions, Narrowing, Search, require_right
from weft.runtime.search.indexer import catch_up, follow_index
from weft.runtime.search.result_page import HitRow, hits_of, is_match
from weft.runtime.search.results import Hit, Hits
from weft.store import schema
from weft.store.base import Store
from weft.store.session import Session
from weft.store.text_index import DOCUMENT, NODE, TAG, target_in, tree_in
from weft.tree.query import Query, parse_query

_MOST = 1_000
_DEEPEST = 100_000
_PATIENCE_SECONDS = 10.0
"""How long a search waits for the index."""

_nodes, _trees, _tags = schema.nodes, schema.trees, schema.tags
_documents, _revisions = schema.documents, schema.revisions


def search(store: Store, actor: Actor, asked: Search) -> Hits[Hit]:
    """Find things; what this process has written is always among what is searched."""
    query = parse_query(asked.query)
    _check_page(asked)
    narrowing = Narrowing.of(asked)
    complete, trouble = _bring_up_to_date(store)
    with store.read() as session:
        allowed = require_right(session, actor, narrowing)
        conditions = Conditions.of(session, actor, asked, narrowing, allowed)
        rows = _rows(session, query, conditions, asked.offset + asked.limit + 1)
        page = rows[asked.offset : asked.offset + asked.limit]
        hits = hits_of(session, query, page)
    return Hits(
        asked.query,
        tuple(hits),
        asked.offset,
        len(rows) > asked.offset + asked.limit,
        complete=complete,
        trouble=trouble,
    )


def _check_page(asked: Search) -> None:
    if not 1 <= asked.limit <= _MOST:
        raise InvalidInputError(f"limit must lie between 1 and {_MOST:,}, got {asked.limit}")
    if not 0 <= asked.offset <= _DEEPEST:
        raise InvalidInputError(
            f"offset must lie between 0 and {_DEEPEST:,}, got {asked.offset}", hint="narrow the search"
        )


_compared: "weakref.WeakSet[Store]" = weakref.WeakSet()
_comparing = threading.Lock()


def _bring_up_to_date(store: Store) -> tuple[bool, str | None]:
    """Index what is new; the first search of a process compares every tree. Says why, if it cannot."""
    trouble = None
    with _comparing:
        first = store not in _compared
        _compared.add(store)
    try:
        complete = catch_up(store, seconds=_PATIENCE_SECONDS, thorough=first)
    except (StorageError, UnavailableError) as error:
        # Where nothing can be written, what is indexed can still be read; the answer says so.
        complete, trouble = False, error.message
    if not complete:
        with _comparing:
            _compared.discard(store)
    if store.background:
        follow_index(store).start()
    return complete, trouble


def _rows(session: Session, query: Query, conditions: Conditions, wanted: int) -> list[HitRow]:
    """The best rows that may be shown, in order.

    First the best of all that have the words, somewhat more than are wanted; where too
    few of them may be shown, all that have them.
    """
    if not conditions.tests:
        return []
    most = None if conditions.selective else 3 * wanted + 100
    rows = _matching(session, query, conditions, wanted, most)
    if len(rows) < wanted and most is not None:
        rows = _matching(session, query, conditions, wanted, None)
    return rows


def _matching(
    session: Session, query: Query, conditions: Conditions, wanted: int, most: int | None
) -> list[HitRow]:
    statement = _statement(session, query, conditions, most)
    rows: list[HitRow] = []
    # Read as it comes: what is unsure is looked at, and not all of it may be what is wanted.
    for row in session.execute(statement if most is None else statement.limit(most)):
        if row.unsure and not is_match(session, query, row.key):
            continue
        rows.append(HitRow(row.key, row.rank, row.created_at))
        if len(rows) == wanted:
            break
    return rows


def _statement(session: Session, query: Query, conditions: Conditions, most: int | None) -> Any:
    best = session.dialect.terms.matching(session, query, conditions.reach, most).subquery("found")
    key = best.c.key
    kind, tree, target = key.bitwise_and(3), tree_in(key), target_in(key)
    joined = (
        best.outerjoin(_trees, _trees.c.key == tree)
        .outerjoin(_nodes, and_(kind == NODE, _nodes.c.tree == tree, _nodes.c.key == target))
        .outerjoin(_documents, and_(kind == DOCUMENT, _documents.c.key == target))
        .outerjoin(
            _revisions,
            and_(_revisions.c.document == _documents.c.key, _revisions.c.revision == _documents.c.revision),
        )
        .outerjoin(_tags, and_(kind == TAG, _tags.c.key == target))
        .outerjoin(
            TAGGED,
            and_(_tags.c.kind == NODE, TAGGED.c.tree == _tags.c.tree, TAGGED.c.key == _tags.c.target),
        )
        .outerjoin(NOTED, and_(_tags.c.kind == DOCUMENT, NOTED.c.key == _tags.c.target))
    )
    moment = case(
        (kind == NODE, _nodes.c.created_at),
        (kind == DOCUMENT, _revisions.c.created_at),
        (kind == TAG, _tags.c.created_at),
        else_=_trees.c.created_at,
    )
    shown = or_(*(and_(kind == number, test) for number, test in conditions.tests.items()))
    statement = (
        select(key, best.c.rank, best.c.unsure, moment.label("created_at"))
        .select_from(joined)
        .where(shown)
        .order_by(best.c.rank.desc(), moment.desc(), key.desc())
    )
    if conditions.trees is not None:
        statement = statement.where(session.dialect.among(tree, sorted(conditions.trees)))
    return statement
