"""Summaries that are due: a row for each, written in the transaction that makes it due."""

from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, Select, and_, select

from weft.store import schema
from weft.store.jobs import SUMMARY_JOB, JobState, enqueue
from weft.store.rows import Flag, NodeRow, TreeState
from weft.store.transaction import Transaction
from weft.store.tree_statements import INCLUDED, LIVE

_TREE_EVERY = 10
"""New nodes after which a tree is summarised again."""
_AT_ONCE = 500
_nodes, _texts, _jobs = schema.nodes, schema.texts, schema.jobs


def queue_new(transaction: Transaction, tree: TreeState, row: NodeRow, *, now: int) -> None:
    """Queue the summary of a new node, and with every tenth that of its tree."""
    _queue(transaction, [row], now)
    if tree.nodes % _TREE_EVERY == 0:
        enqueue(transaction, SUMMARY_JOB, now=now, tree=tree.key)


def queue_imported(transaction: Transaction, tree: int, *, now: int, limit: int) -> int:
    """Queue the newest nodes of a tree that have no summary; returns how many."""
    statement = _unsummarised(_nodes.c.tree == tree).order_by(_nodes.c.key.desc()).limit(limit)
    return _queue(transaction, [NodeRow._make(row) for row in transaction.execute(statement)], now)


def queue_missing(transaction: Transaction, tree: int, ids: Sequence[str], *, now: int) -> None:
    """Queue nodes that a context shows as extracts, except those whose summary was tried and is due again."""
    tried = (
        select(_jobs.c.key)
        .where(
            _jobs.c.kind == SUMMARY_JOB,
            _jobs.c.state.in_([JobState.RUNNING, JobState.RETRYING, JobState.FAILED]),
            _jobs.c.tree == tree,
            _jobs.c.target == _nodes.c.key,
        )
        .exists()
    )
    for start in range(0, len(ids), _AT_ONCE):
        some = _nodes.c.ulid.in_(ids[start : start + _AT_ONCE])
        statement = _unsummarised(and_(_nodes.c.tree == tree, some, ~tried))
        _queue(transaction, [NodeRow._make(row) for row in transaction.execute(statement)], now)


def _unsummarised(where: ColumnElement[bool]) -> Select[*tuple[object, ...]]:
    text = and_(_texts.c.tree == _nodes.c.tree, _texts.c.node == _nodes.c.key)
    return select(_nodes).join(_texts, text).where(where, _texts.c.summary.is_(None), LIVE, INCLUDED)


def _queue(transaction: Transaction, rows: Iterable[NodeRow], now: int) -> int:
    """Nodes that say nothing have no summary."""
    spoken = [row for row in rows if (row.narrow or row.wide) and not row.flags & Flag.BLANK]
    for row in spoken:
        enqueue(transaction, SUMMARY_JOB, now=now, tree=row.tree, target=row.key)
    return len(spoken)
