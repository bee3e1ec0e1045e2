"""Two nodes of a tree side by side."""

from weft.runtime.views.reader import Opened, Reader
from weft.store.rows import NodeRow
from weft.store.tree_queries import ancestor_at_depth, node_row
from weft.tree.text_diff import Difference, word_difference
from weft.tree.tree import Mode


class Comparing(Reader):
    """What differs between places, as one agent may look at them."""

    __slots__ = ()

    def nodes(self, tree: str, one: str, other: str, *, paths: bool = False) -> Difference:
        """Where two paths part, and how the two texts differ; with `paths`, all that follows the fork."""
        with self._tree(tree) as opened:
            left, right = self._row(opened, one), self._row(opened, other)
            depth = _fork(opened, left, right)
            common = ancestor_at_depth(opened.session, opened.key, left.position, depth)
            texts = [
                self._text(opened, each, max(1, each.depth - depth) if paths else 1) for each in (left, right)
            ]
            return Difference(
                one=left.local_id,
                other=right.local_id,
                common=node_row(opened.session, opened.key, common).local_id,
                one_beyond=left.depth - depth,
                other_beyond=right.depth - depth,
                words=word_difference(*texts),
            )

    def _text(self, opened: Opened, row: NodeRow, count: int) -> str:
        nodes = self._nodes(opened, self._path_rows(opened, row.ulid, None, count))
        joint = "\n\n" if opened.mode is Mode.DIALOGUE else ""
        return joint.join(node.text for node in nodes)


def _fork(opened: Opened, left: NodeRow, right: NodeRow) -> int:
    """The depth of the deepest place that both paths have."""

    def shared(depth: int) -> bool:
        session, key = opened.session, opened.key
        return ancestor_at_depth(session, key, left.position, depth) == ancestor_at_depth(
            session, key, right.position, depth
        )

    low, high = 0, min(left.depth, right.depth)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if shared(middle) else (low, middle - 1)
    return low
