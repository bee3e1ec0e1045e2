"""A page of hits, made from the rows that were found: a few queries for each tree on it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Table, and_, select

from weft.runtime.operations.node_values import metadata_of
from weft.runtime.operations.permissions import agent_row
from weft.runtime.operations.references import KINDS, TargetAddress, targets_of
from weft.runtime.search.filters import NUMBERS
from weft.runtime.search.results import Hit, HitKind
from weft.store import schema
from weft.store.index_updates import searchable_text
from weft.store.rows import NodeRow
from weft.store.session import Session
from weft.store.text_index import DOCUMENT, INDEXED_CHARACTERS, NODE, TAG, TREE, split_key
from weft.store.transaction import GROVE
from weft.store.tree_queries import node_rows
from weft.tree.json_names import from_microseconds
from weft.tree.query import Query
from weft.tree.reference import Target, TargetKind
from weft.tree.snippet import cut_snippet

_KIND_OF = {number: kind for kind, number in NUMBERS.items()}
_trees, _tags = schema.trees, schema.tags
_documents, _revisions = schema.documents, schema.revisions


class HitRow(NamedTuple):
    """What the index says of a hit."""

    key: int
    rank: float
    created_at: int


def is_match(session: Session, query: Query, key: int) -> bool:
    tree, kind, target = split_key(key)
    match kind:
        case value if value == NODE:
            row = node_rows(session, tree, [target])[target]
            return query.matches(_node_texts(session, tree, [row])[target][:INDEXED_CHARACTERS])
        case value if value == TREE:
            found = session.execute(
                select(_trees.c.title, _trees.c.description).where(_trees.c.key == tree)
            ).one()
            return query.matches(found.title, found.description[:INDEXED_CHARACTERS])
        case value if value == DOCUMENT:
            found = _document_rows(session, [target])[target]
            return query.matches(found.title, found.content[:INDEXED_CHARACTERS])
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
    found = session.execute(statement.where(session.dialect.among(_documents.c.key, keys)))
    return {row.key: row for row in found}


def hits_of(session: Session, query: Query, rows: Sequence[HitRow]) -> list[Hit]:
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
            found = node_rows(session, tree, keys)
            nodes.update({(tree, key): row for key, row in found.items()})
            words = _node_texts(session, tree, list(found.values()))
            texts.update({(tree, key): text for key, text in words.items()})
        for place in addresses:
            if KINDS[place.kind] is TargetKind.NODE and (place.tree, place.key) not in nodes:
                nodes.update(
                    {
                        (place.tree, key): row
                        for key, row in node_rows(session, place.tree, [place.key]).items()
                    }
                )
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

    def hit(self, query: Query, row: HitRow) -> Hit | None:
        tree, kind, target = split_key(row.key)
        match _KIND_OF[kind]:
            case HitKind.NODE:
                return self._node(query, row, tree, target)
            case HitKind.TREE:
                return self._tree(query, row, tree)
            case HitKind.DOCUMENT:
                return self._document(query, row, target)
            case HitKind.TAG:
                return self._tag(query, row, target)

    def _node(self, query: Query, row: HitRow, tree: int, key: int) -> Hit:
        node, home = self.nodes[tree, key], self.trees[tree]
        author = self.agents[node.author]
        return Hit(
            kind=HitKind.NODE,
            id=node.ulid,
            local_id=node.local_id,
            tree_id=home.ulid,
            title=home.title,
            snippet=cut_snippet(self.texts[tree, key], query),
            rank=row.rank,
            created_at=from_microseconds(row.created_at),
            author_id=author.ulid,
            author=author.name,
            target=Target(TargetKind.NODE, node.ulid),
            metadata=metadata_of(node),
        )

    def _tree(self, query: Query, row: HitRow, tree: int) -> Hit:
        home = self.trees[tree]
        # A match in the description is shown there; otherwise the title itself is what was found.
        shown = home.description if query.places(home.description[:INDEXED_CHARACTERS]) else home.title
        return Hit(
            kind=HitKind.TREE,
            id=home.ulid,
            tree_id=home.ulid,
            title=home.title,
            snippet=cut_snippet(shown, query),
            rank=row.rank,
            created_at=from_microseconds(row.created_at),
            target=Target(TargetKind.TREE, home.ulid),
        )

    def _document(self, query: Query, row: HitRow, key: int) -> Hit:
        document = self.documents[key]
        author = self.agents[document.author]
        return Hit(
            kind=HitKind.DOCUMENT,
            id=document.ulid,
            title=document.title,
            snippet=cut_snippet(document.content, query),
            rank=row.rank,
            created_at=from_microseconds(row.created_at),
            author_id=author.ulid,
            author=author.name,
            target=Target(TargetKind.DOCUMENT, document.ulid),
        )

    def _tag(self, query: Query, row: HitRow, key: int) -> Hit | None:
        tag = self.tags[key]
        target = self.targets.get(TargetAddress(tag.tree, tag.kind, tag.target))
        if target is None:
            return None
        node = self.nodes.get((tag.tree, tag.target)) if target.kind is TargetKind.NODE else None
        home = self.trees.get(tag.tree)
        title = self.documents[tag.target].title if home is None else home.title
        return Hit(
            kind=HitKind.TAG,
            id=target.id,
            local_id=None if node is None else node.local_id,
            tree_id=None if home is None else home.ulid,
            title=title,
            snippet=cut_snippet(tag.label, query),
            rank=row.rank,
            created_at=from_microseconds(row.created_at),
            target=target,
            metadata=None if node is None else metadata_of(node),
        )
