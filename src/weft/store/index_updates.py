"""Bringing the search index up to date: what is new is read and cut first, then written in small portions.

Nodes are never changed and get their numbers under their tree's lock, so a tree is indexed
up to a number; titles and documents are compared by version. A portion is written only if
no other process has moved the tree's position since it was read: work is shared between
processes, never doubled, and a process that dies leaves nothing half-done.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import and_, func, or_, select, tuple_, update

from weft.store import schema
from weft.store.events import EventPosition, head_of
from weft.store.rows import KINDS, load_content
from weft.store.session import IndexEntry, Session
from weft.store.text_index import (
    DOCUMENT,
    INDEXED_CHARACTERS,
    NODE,
    TAG,
    TREE,
    clear_index,
    hold_position,
    index_words,
    key_of,
)
from weft.store.transaction import GROVE, Transaction
from weft.tree.content import plain_text
from weft.tree.word_splits import FOLDING

_trees, _nodes, _texts = schema.trees, schema.nodes, schema.texts
_tags, _events = schema.tags, schema.events
_documents, _revisions = schema.documents, schema.revisions
_positions, _versions, _state = schema.search_positions, schema.search_versions, schema.search_state


class Position(NamedTuple):
    """How far one tree (or the grove) is indexed."""

    events: int = 0
    node: int = 0
    tag: int = 0


class Size(NamedTuple):
    """How much is taken at once."""

    things: int
    characters: int


class IndexedVersion(NamedTuple):
    """Which title or revision of a thing that changes is indexed."""

    tree: int
    kind: int
    target: int
    version: int


@dataclass(slots=True)
class Portion:
    """What of one tree is to be written, between two of its positions."""

    tree: int
    before: Position
    after: Position
    complete: bool = True
    """Whether the tree is up to date afterwards."""
    characters: int = 0
    texts: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    """Key, title and body, as read."""
    versions: list[IndexedVersion] = field(default_factory=list[IndexedVersion])
    """Of entries that may replace older ones."""

    def add(self, key: int, title: str, body: str) -> None:
        self.characters += len(title) + len(body)
        self.texts.append((key, title, body))

    def entries(self) -> list[IndexEntry]:
        """The texts cut into words: after reading, as a reader in the way of a checkpoint lets the log grow."""
        return [IndexEntry(key, index_words(title), index_words(body)) for key, title, body in self.texts]


def searchable_text(kind: int, stored: str) -> str:
    """What of a node's stored content is searched."""
    return plain_text(load_content(kind, stored))


def create_index(transaction: Transaction) -> None:
    """Make an empty index, unless another process was faster."""
    if present_mark(transaction) is None:
        clear_index(transaction)


def present_mark(session: Session) -> EventPosition | None:
    """How far all trees are indexed; None: not with the words of today, or not at all."""
    columns = _state.c.transaction, _state.c.number
    row = session.execute(select(*columns).where(_state.c.folding == FOLDING)).one_or_none()
    return None if row is None else EventPosition(row.transaction, row.number)


def changed_trees(session: Session, after: EventPosition) -> tuple[list[int], EventPosition]:
    """Trees with events since the mark, and how far the mark may move once they are indexed.

    Not over events whose neighbours may still come: commits are not in the order of numbers.
    """
    later = tuple_(_events.c.transaction, _events.c.number) > tuple(after)
    trees = sorted(session.execute(select(_events.c.tree).where(later).distinct()).scalars())
    return trees, max(after, head_of(session))


def lagging_trees(session: Session) -> list[int]:
    """Every tree that is not indexed to its end, however it came here; the grove is 0."""
    behind = or_(
        _positions.c.tree.is_(None),
        _positions.c.events != _trees.c.events,
        _positions.c.node < _trees.c.next_key - 1,
    )
    joined = _trees.outerjoin(_positions, _positions.c.tree == _trees.c.key)
    keys = session.execute(select(_trees.c.key).select_from(joined).where(behind).order_by(_trees.c.key))
    return [GROVE, *keys.scalars()]


def count_unindexed(session: Session) -> int:
    """About how many nodes are still to be indexed."""
    joined = _trees.outerjoin(_positions, _positions.c.tree == _trees.c.key)
    missing = _trees.c.next_key - 1 - func.coalesce(_positions.c.node, 0)
    return int(session.execute(select(func.coalesce(func.sum(missing), 0)).select_from(joined)).scalar_one())


def prepare(session: Session, tree: int, size: Size) -> Portion | None:
    """Read and cut the next portion of a tree; None: it is up to date, or gone."""
    columns = _positions.c.events, _positions.c.node, _positions.c.tag
    row = session.execute(select(*columns).where(_positions.c.tree == tree)).one_or_none()
    before = Position() if row is None else Position(*row)
    portion = (
        _prepare_grove(session, before, size) if tree == GROVE else _prepare_tree(session, tree, before, size)
    )
    if portion is None or (portion.after == before and not portion.texts):
        return None
    return portion


def _prepare_tree(session: Session, tree: int, before: Position, size: Size) -> Portion | None:
    here = select(_trees.c.events, _trees.c.next_key, _trees.c.title, _trees.c.description)
    row = session.execute(here.where(_trees.c.key == tree)).one_or_none()
    if row is None:
        return None
    portion = Portion(tree, before, before)
    _add_title(session, portion, row.title, row.description)
    node = _add_nodes(session, portion, size)
    tag = _add_tags(session, portion)
    if portion.complete:
        # Numbers are also given to what is not a node; all there are have been seen.
        portion.after = Position(row.events, row.next_key - 1, tag)
    else:
        portion.after = Position(before.events, node, tag)
    return portion


def _add_title(session: Session, portion: Portion, title: str, description: str) -> None:
    digest = hashlib.sha256(json.dumps([title, description]).encode()).digest()
    version = IndexedVersion(portion.tree, TREE, 0, int.from_bytes(digest[:8], "big", signed=True))
    known = session.execute(
        select(_versions.c.version).where(
            _versions.c.tree == portion.tree, _versions.c.kind == TREE, _versions.c.target == 0
        )
    ).scalar_one_or_none()
    if known != version.version:
        portion.add(key_of(portion.tree, TREE, 0), title, description)
        portion.versions.append(version)


def _add_nodes(session: Session, portion: Portion, size: Size) -> int:
    """Nodes after the position, as many as fit; the last one's key."""
    statement = (
        select(_nodes.c.key, _nodes.c.kind, func.substr(_texts.c.content, 1, INDEXED_CHARACTERS).label("cut"))
        .add_columns(func.length(_texts.c.content).label("length"))
        .join(_texts, and_(_texts.c.tree == _nodes.c.tree, _texts.c.node == _nodes.c.key))
        .where(_nodes.c.tree == portion.tree, _nodes.c.key > portion.before.node)
        .order_by(_nodes.c.key)
        .limit(size.things)
    )
    last, seen = portion.before.node, 0
    for row in session.execute(statement):
        if seen and portion.characters >= size.characters:
            portion.complete = False
            break
        whole = row.cut
        if KINDS[row.kind] != "text" and row.length > INDEXED_CHARACTERS:
            # Cut JSON cannot be read.
            text = select(_texts.c.content).where(_texts.c.tree == portion.tree, _texts.c.node == row.key)
            whole = session.execute(text).scalar_one()
        portion.add(key_of(portion.tree, NODE, row.key), "", searchable_text(row.kind, whole))
        last = row.key
        seen += 1
    if seen == size.things:
        portion.complete = False
    return last


def _add_tags(session: Session, portion: Portion) -> int:
    """All new tags: each is short, and a tree gets few at once."""
    statement = select(_tags.c.key, _tags.c.label).where(
        _tags.c.tree == portion.tree, _tags.c.key > portion.before.tag
    )
    last = portion.before.tag
    for row in session.execute(statement.order_by(_tags.c.key)):
        portion.add(key_of(portion.tree, TAG, row.key), "", row.label)
        last = row.key
    return last


def _prepare_grove(session: Session, before: Position, size: Size) -> Portion:
    """Documents whose present revision is not the one that is indexed, and tags on documents."""
    events = session.execute(select(schema.grove.c.events)).scalar_one_or_none() or 0
    portion = Portion(GROVE, before, before)
    known = and_(
        _versions.c.tree == GROVE, _versions.c.kind == DOCUMENT, _versions.c.target == _documents.c.key
    )
    present = and_(_revisions.c.document == _documents.c.key, _revisions.c.revision == _documents.c.revision)
    changed = or_(_versions.c.version.is_(None), _versions.c.version != _revisions.c.created_at)
    content = func.substr(_revisions.c.content, 1, INDEXED_CHARACTERS).label("content")
    statement = (
        select(_documents.c.key, _revisions.c.title, content, _revisions.c.created_at)
        .select_from(_documents.join(_revisions, present).outerjoin(_versions, known))
        .where(changed)
        .order_by(_documents.c.key)
        .limit(size.things)
    )
    for row in session.execute(statement):
        if portion.texts and portion.characters >= size.characters:
            portion.complete = False
            break
        portion.add(key_of(GROVE, DOCUMENT, row.key), row.title, row.content)
        portion.versions.append(IndexedVersion(GROVE, DOCUMENT, row.key, row.created_at))
    if len(portion.texts) == size.things:
        portion.complete = False
    tag = _add_tags(session, portion)
    portion.after = Position(events if portion.complete else before.events, before.node, tag)
    return portion


def write_portions(
    transaction: Transaction, portions: Sequence[Portion], entries: Sequence[Sequence[IndexEntry]]
) -> list[bool]:
    """Write what was prepared; a portion that another process wrote meanwhile is left out (False)."""
    if present_mark(transaction) is None:
        return [False for _ in portions]
    # In one order everywhere, so that two who hold several trees never wait for each other.
    held = {portion.tree: _hold(transaction, portion) for portion in sorted(portions, key=_tree_of)}
    current = [portion for portion in portions if held[portion.tree]]
    terms = transaction.dialect.terms
    changing = {key_of(each.tree, each.kind, each.target) for portion in current for each in portion.versions}
    terms.remove(transaction, sorted(changing))
    words = zip(portions, entries, strict=True)
    terms.add(transaction, [entry for portion, cut in words if held[portion.tree] for entry in cut])
    for portion in current:
        for version in portion.versions:
            transaction.replace(_versions, ("tree", "kind", "target"), version._asdict())
        moved = update(_positions).where(_positions.c.tree == portion.tree).values(**portion.after._asdict())
        transaction.execute(moved)
    return [held[portion.tree] for portion in portions]


def _tree_of(portion: Portion) -> int:
    return portion.tree


def _hold(transaction: Transaction, portion: Portion) -> bool:
    """Whether the tree's position is still what it was when the portion was read; it is kept there."""
    if hold_position(transaction, portion.tree) != portion.before:
        return False
    if portion.tree != GROVE:
        there = transaction.execute(select(_trees.c.key).where(_trees.c.key == portion.tree)).first()
        if there is None:
            transaction.execute(_positions.delete().where(_positions.c.tree == portion.tree))
            return False
    return True


def move_mark(transaction: Transaction, mark: EventPosition) -> None:
    """All trees are indexed up to here; never back."""
    earlier = or_(
        _state.c.transaction < mark.transaction,
        and_(_state.c.transaction == mark.transaction, _state.c.number < mark.number),
    )
    transaction.execute(update(_state).where(earlier).values(**mark._asdict()))
