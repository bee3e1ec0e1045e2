"""Search a grove: bring the index up to date, find the best rows, and load the page of results."""

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Table, and_, case, or_, select

from weft.errors import StorageError, UnavailableError
from weft.runtime.operations.node_values import metadata_of
from weft.runtime.operations.permissions import Actor, agent_row
from weft.runtime.operations.references import KINDS, TargetAddress, targets_of
from weft.runtime.search.filters import (
    NOTED,
    NUMBERS,
    TAGGED,
    Conditions,
    SearchFilters,
    conditions_of,
)
from weft.runtime.search.indexer import catch_up, follow_index
from weft.runtime.search.options import SearchOptions
from weft.runtime.search.results import Hit, HitKind, Hits
from weft.store import schema
from weft.store.base import Store
from weft.store.rows import NodeRow
from weft.store.session import Session
from weft.store.text_index import (
    DOCUMENT,
    INDEXED_CHARACTERS,
    NODE,
    TAG,
    TREE,
    searchable_text,
    split_key,
    target_in,
    tree_in,
)
from weft.store.transaction import GROVE
from weft.store.tree_queries import node_rows
from weft.tree.json_names import from_microseconds
from weft.tree.query import Query, parse_query
from weft.tree.reference import Target, TargetKind
from weft.tree.snippet import cut_snippet

_PATIENCE_SECONDS = 10.0
"""How long a search waits for the index."""

_nodes, _trees, _tags = schema.nodes, schema.trees, schema.tags
_documents, _revisions = schema.documents, schema.revisions


class _HitRow(NamedTuple):
    """What the index says of a hit."""

    key: int
    rank: float
    created_at: int


def search(store: Store, actor: Actor, asked: SearchOptions) -> Hits[Hit]:
    """Search a grove; what this process has written is always included."""
    query = parse_query(asked.query)
    filters = SearchFilters.of(asked)
    complete, trouble = _bring_up_to_date(store)
    with store.read() as session:
        conditions = conditions_of(session, actor, filters)
        end = asked.offset + asked.limit
        rows = _rows(session, query, conditions, end + 1)
        hits = _hits_of(session, query, rows[asked.offset : end])
    return Hits(asked.query, tuple(hits), asked.offset, len(rows) > end, complete=complete, trouble=trouble)


_compared: "weakref.WeakSet[Store]" = weakref.WeakSet()
_comparing = threading.Lock()


def _bring_up_to_date(store: Store) -> tuple[bool, str | None]:
    """Index what is new; the first search of a process compares every tree. Returns why, if it cannot."""
    trouble = None
    with _comparing:
        first = store not in _compared
        _compared.add(store)
    try:
        complete = catch_up(store, seconds=_PATIENCE_SECONDS, thorough=first)
    except (StorageError, UnavailableError) as error:
        # If nothing can be written, the index as it is can still be read; the result says so.
        complete, trouble = False, error.message
    if not complete:
        with _comparing:
            _compared.discard(store)
    if store.background:
        follow_index(store).start()
    return complete, trouble


def _rows(session: Session, query: Query, conditions: Conditions, wanted: int) -> list[_HitRow]:
    """The best rows that may be shown, in order.

    First the best of all that match, somewhat more than wanted; if too few of these may be shown, all.
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
) -> list[_HitRow]:
    statement = _statement(session, query, conditions, most)
    rows: list[_HitRow] = []
    # Read lazily: each unsure row costs a query, and the first rows may be enough.
    for row in session.execute(statement if most is None else statement.limit(most)):
        if row.unsure and not _is_match(session, query, row.key):
            continue
        rows.append(_HitRow(row.key, row.rank, row.created_at))
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


_KIND_OF = {number: kind for kind, number in NUMBERS.items()}


def _is_match(session: Session, query: Query, key: int) -> bool:
    tree, kind, target = split_key(key)
    match kind:
        case value if value == NODE:
            row = node_rows(session, tree, [target])[target]
            return query.matches(_node_texts(session, tree, [row])[target][:INDEXED_CHARACTERS])
        case value if value == TREE:
            row = session.execute(
                select(_trees.c.title, _trees.c.description).where(_trees.c.key == tree)
            ).one()
            return query.matches(row.title, row.description[:INDEXED_CHARACTERS])
        case value if value == DOCUMENT:
            row = _document_rows(session, [target])[target]
            return query.matches(row.title, row.content[:INDEXED_CHARACTERS])
        case _:
            return True


def _node_texts(session: Session, tree: int, rows: Sequence[NodeRow]) -> dict[int, str]:
    texts = schema.texts
    kinds = {row.key: row.kind for row in rows}
    statement = select(texts.c.node, texts.c.content).where(
        texts.c.tree == tree, session.dialect.among(texts.c.node, list(kinds))
    )
    return {row.node: searchable_text(kinds[row.node], row.content) for row in session.execute(statement)}


def _rows_by_key(session: Session, table: Table, keys: Sequence[int]) -> dict[int, Any]:
    if not keys:
        return {}
    statement = select(table).where(session.dialect.among(table.c.key, keys))
    return {row.key: row for row in session.execute(statement)}


def _document_rows(session: Session, keys: Sequence[int]) -> dict[int, Any]:
    if not keys:
        return {}
    present = and_(_revisions.c.document == _documents.c.key, _revisions.c.revision == _documents.c.revision)
    statement = select(
        _documents.c.key, _documents.c.ulid, _revisions.c.title, _revisions.c.content, _revisions.c.author
    ).join(_revisions, present)
    rows = session.execute(statement.where(session.dialect.among(_documents.c.key, keys)))
    return {row.key: row for row in rows}


def _hits_of(session: Session, query: Query, rows: Sequence[_HitRow]) -> list[Hit]:
    """Whole hits for a page of rows: a few queries for each tree on it."""
    by_kind: dict[int, dict[int, list[int]]] = {}
    for row in rows:
        tree, kind, target = split_key(row.key)
        by_kind.setdefault(kind, {}).setdefault(tree, []).append(target)
    page = _Page.of(session, by_kind)
    return [hit for row in rows if (hit := page.hit(query, row)) is not None]


class _Page(NamedTuple):
    """Everything that a page of hits shows."""

    trees: dict[int, Any]
    nodes: dict[tuple[int, int], NodeRow]
    texts: dict[tuple[int, int], str]
    documents: dict[int, Any]
    tags: dict[int, Any]
    targets: dict[TargetAddress, Target]
    agents: dict[int, Any]

    @classmethod
    def of(cls, session: Session, by_kind: Mapping[int, Mapping[int, list[int]]]) -> "_Page":
        tag_keys = [key for keys in by_kind.get(TAG, {}).values() for key in keys]
        tags = _rows_by_key(session, _tags, tag_keys)
        addresses = {TargetAddress(row.tree, row.kind, row.target) for row in tags.values()}
        nodes: dict[tuple[int, int], NodeRow] = {}
        texts: dict[tuple[int, int], str] = {}
        for tree, keys in by_kind.get(NODE, {}).items():
            rows = node_rows(session, tree, keys)
            nodes.update({(tree, key): row for key, row in rows.items()})
            words = _node_texts(session, tree, list(rows.values()))
            texts.update({(tree, key): text for key, text in words.items()})
        for place in addresses:
            if KINDS[place.kind] is TargetKind.NODE and (place.tree, place.key) not in nodes:
                tagged = node_rows(session, place.tree, [place.key])
                nodes.update({(place.tree, key): row for key, row in tagged.items()})
        noted = [place.key for place in addresses if KINDS[place.kind] is TargetKind.DOCUMENT]
        document_keys = [*by_kind.get(DOCUMENT, {}).get(GROVE, []), *noted]
        documents = _document_rows(session, document_keys)
        tree_keys = sorted({tree for kinds in by_kind.values() for tree in kinds if tree != GROVE})
        trees = _rows_by_key(session, _trees, tree_keys)
        authors = {row.author for row in nodes.values()} | {row.author for row in documents.values()}
        return cls(
            trees,
            nodes,
            texts,
            documents,
            tags,
            targets_of(session, addresses),
            {key: agent_row(session, key) for key in authors},
        )

    def hit(self, query: Query, row: _HitRow) -> Hit | None:
        tree, kind, key = split_key(row.key)
        home: Any = self.trees.get(tree)
        node, author, text = None, None, ""
        match _KIND_OF[kind]:
            case HitKind.NODE:
                node = self.nodes[tree, key]
                target, title, text = Target(TargetKind.NODE, node.ulid), home.title, self.texts[tree, key]
                author = self.agents[node.author]
            case HitKind.TREE:
                target, title = Target(TargetKind.TREE, home.ulid), home.title
                # A match in the description is shown there; otherwise the title is what matches.
                in_description = query.places(home.description[:INDEXED_CHARACTERS])
                text = home.description if in_description else title
            case HitKind.DOCUMENT:
                document = self.documents[key]
                target, title, text = (
                    Target(TargetKind.DOCUMENT, document.ulid),
                    document.title,
                    document.content,
                )
                author = self.agents[document.author]
            case HitKind.TAG:
                tag = self.tags[key]
                target, text = self.targets.get(TargetAddress(tag.tree, tag.kind, tag.target)), tag.label
                if target is None:
                    return None
                node = self.nodes.get((tag.tree, tag.target)) if target.kind is TargetKind.NODE else None
                title = self.documents[tag.target].title if home is None else home.title
        return Hit(
            kind=_KIND_OF[kind],
            id=target.id,
            local_id=None if node is None else node.local_id,
            tree_id=None if home is None else home.ulid,
            title=title,
            snippet=cut_snippet(text, query),
            rank=row.rank,
            created_at=from_microseconds(row.created_at),
            author_id=None if author is None else author.ulid,
            author=None if author is None else author.name,
            target=target,
            metadata=None if node is None else metadata_of(node),
        )
