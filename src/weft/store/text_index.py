"""The search index: which words are where, kept beside the grove and made from it.

One table of words, in each database's own way (`Terms`). A row's key says what it is
about: tree, thing and kind in one number, so that rows of one tree lie together and no
second table is needed to find the way back. Whether a thing may be shown (pruned,
archived, …) is not copied: it is looked up where it is kept.
"""

from sqlalchemy import ColumnElement, Integer, and_, delete, func, literal, select, update

from weft.store import schema
from weft.store.session import Reach
from weft.store.transaction import GROVE, Transaction
from weft.tree.word_splits import FOLDING, split_words

NODE, TREE, DOCUMENT, TAG = range(4)
"""What a row is about. Stored in its key: append only, at most four."""

_KIND_BITS = 2
_TARGET_BITS = 31
_TREE_SHIFT = _KIND_BITS + _TARGET_BITS
_TARGET_MASK = (1 << _TARGET_BITS) - 1

INDEXED_CHARACTERS = 1_000_000
"""What lies further back in one node or document is not searched."""
_MANY_WORDS = 20_000
_ROOM = 1_000_000
_ROOM_OF_A_WORD = 6
"""PostgreSQL keeps at most a megabyte of different words, with their places, for one row."""


def key_of(tree: int, kind: int, target: int) -> int:
    return (tree << _TREE_SHIFT) | (target << _KIND_BITS) | kind


def split_key(key: int) -> tuple[int, int, int]:
    """Tree, kind and target."""
    return key >> _TREE_SHIFT, key & 3, (key >> _KIND_BITS) & _TARGET_MASK


def tree_in(key: ColumnElement[int]) -> ColumnElement[int]:
    return key.bitwise_rshift(literal(_TREE_SHIFT, Integer))


def target_in(key: ColumnElement[int]) -> ColumnElement[int]:
    return key.bitwise_rshift(literal(_KIND_BITS, Integer)).bitwise_and(_TARGET_MASK)


def reach_of_tree(tree: int) -> Reach:
    return Reach(key_of(tree, 0, 0), key_of(tree + 1, 0, 0) - 1)


def index_words(text: str) -> list[str]:
    """The words of a text that are indexed: all of them, but for endless texts."""
    words = split_words(text[:INDEXED_CHARACTERS])
    if len(words) <= _MANY_WORDS:
        return words
    known: set[str] = set()
    room = _ROOM
    for index, word in enumerate(words):
        if word not in known:
            known.add(word)
            room -= len(word.encode()) + _ROOM_OF_A_WORD
            if room < 0:
                return words[:index]
    return words


_positions = schema.search_positions
_START = {"events": 0, "node": 0, "tag": 0}


def hold_position(transaction: Transaction, tree: int) -> tuple[int, int, int]:
    """How far a tree (or the grove) is indexed: events, node, tag. Locked until the transaction ends."""
    here = _positions.c.tree == tree
    columns = select(_positions.c.events, _positions.c.node, _positions.c.tag).where(here).with_for_update()
    row = transaction.execute(columns).one_or_none()
    if row is None:
        # Waits for another transaction that makes the row at this moment.
        transaction.add_missing(_positions, ("tree",), {"tree": tree, **_START})
        row = transaction.execute(columns).one()
    return row.events, row.node, row.tag


def forget_tree(transaction: Transaction, tree: int) -> None:
    """Part of a tree's deletion: nothing of it is left in the index, and nothing can come back."""
    # Held first: an indexer that has read the tree's texts finds the tree gone when its turn comes.
    hold_position(transaction, tree)
    terms = transaction.dialect.terms
    terms.remove_reach(transaction, reach_of_tree(tree))
    terms.purge(transaction)
    for table in (_positions, schema.search_versions):
        transaction.execute(delete(table).where(table.c.tree == tree))


def forget_document(transaction: Transaction, document: int) -> None:
    """Part of a document's deletion, tags on it included."""
    hold_position(transaction, GROVE)
    terms = transaction.dialect.terms
    tags, versions = schema.tags, schema.search_versions
    labels = transaction.execute(
        select(tags.c.key).where(tags.c.tree == GROVE, tags.c.kind == DOCUMENT, tags.c.target == document)
    ).scalars()
    keys = [key_of(GROVE, TAG, label) for label in labels]
    terms.remove(transaction, [key_of(GROVE, DOCUMENT, document), *keys])
    terms.purge(transaction)
    if keys:
        # The numbers of these tags may be given again.
        left = select(func.coalesce(func.max(tags.c.key), 0)).where(
            tags.c.tree == GROVE, ~and_(tags.c.kind == DOCUMENT, tags.c.target == document)
        )
        lower = update(_positions).where(
            _positions.c.tree == GROVE, _positions.c.tag > left.scalar_subquery()
        )
        transaction.execute(lower.values(tag=left.scalar_subquery()))
    here = and_(versions.c.tree == GROVE, versions.c.kind == DOCUMENT, versions.c.target == document)
    transaction.execute(delete(versions).where(here))
    # The grove has no nodes: its count is moved so that a portion read before is not written after.
    transaction.execute(
        update(_positions).where(_positions.c.tree == GROVE).values(node=_positions.c.node + 1)
    )


def clear_index(transaction: Transaction) -> None:
    """Empty the index; the next search or the indexer fills it."""
    transaction.dialect.terms.clear(transaction)
    for table in (_positions, schema.search_versions):
        transaction.execute(delete(table))
    transaction.replace(
        schema.search_state,
        ("key",),
        {"key": 0, "folding": FOLDING, "transaction": 0, "number": 0},
    )
