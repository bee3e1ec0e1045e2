"""A tree's counters, kept true when a few nodes are hidden or shown, without counting all of it."""

from collections import Counter

from sqlalchemy import func, select

from weft.runtime.operations.metadata import lives, recount
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.rows import NodeRow, TreeState
from weft.store.statements import CONTINUATION, LIVE

__all__ = ["Counting"]

_nodes = schema.nodes


class Counting:
    """What hiding or showing these nodes does to the counters: none of them is pruned."""

    def __init__(self, scope: Scope, tree: TreeState, rows: list[NodeRow]) -> None:
        self._scope = scope
        self._tree = tree
        self._rows = rows
        places = [row for row in rows if row.key == row.position and row.edge_type == CONTINUATION]
        self._depth = max((row.depth for row in places), default=-1)
        self._below = Counter(row.parent for row in places if row.parent is not None)
        self._had_children: dict[int, bool] = {}
        self._revives = False

    def before_showing(self) -> None:
        """Look at what only can be seen before."""
        self._had_children = self._children()
        own = {row.key for row in self._rows}
        # An edit may stand in for versions that were pruned with all below them meanwhile.
        self._revives = any(
            row.key != row.position
            and row.position not in own
            and not lives(self._scope, self._tree, row.position)
            for row in self._rows
        )

    def finish(self, *, shown: bool) -> None:
        """Set the counters, now that the nodes are shown or hidden."""
        if self._revives:
            recount(self._scope, self._tree)
            return
        tree, sign = self._tree, 1 if shown else -1
        tree.changed = True
        tree.nodes += sign * len(self._rows)
        others = self._had_children if shown else self._children()
        # The first continuation of a leaf takes its place; every further one is a branch more.
        tree.branches += sign * sum(
            count if others[parent] else count - 1 for parent, count in self._below.items()
        )
        if shown:
            tree.depth = max(tree.depth, self._depth)
        elif self._depth == tree.depth:
            deepest = select(func.max(_nodes.c.depth)).where(
                _nodes.c.tree == tree.key, _nodes.c.edge_type == CONTINUATION, LIVE
            )
            tree.depth = self._scope.transaction.execute(deepest).scalar_one()

    def _children(self) -> dict[int, bool]:
        transaction, tree = self._scope.transaction, self._tree.key
        return {parent: transaction.has_live_child(tree, parent) for parent in self._below}
