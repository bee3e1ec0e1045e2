"""What nodes say, kept at hand: nodes never change, and a conversation reads the same ones again and again."""

import threading
from collections import OrderedDict
from collections.abc import Iterable

from weft.runtime.operations.node_values import contents_of
from weft.store.rows import NodeRow
from weft.store.session import Session
from weft.tree.content import Content

_ROOM = 32_000_000
"""Characters, roughly."""
_OVERHEAD = 200


class ContentCache:
    """The contents read last, up to a fixed amount of memory. Safe to share between threads."""

    def __init__(self, room: int = _ROOM) -> None:
        self._room = room
        self._used = 0
        self._kept: OrderedDict[tuple[int, int], tuple[Content, int]] = OrderedDict()
        self._lock = threading.Lock()

    def contents(self, session: Session, tree: int, rows: Iterable[NodeRow]) -> dict[int, Content]:
        """Contents by key: one query for those that are not at hand, none if all are."""
        wanted = {row.key: row for row in rows}
        found: dict[int, Content] = {}
        with self._lock:
            for key in wanted:
                held = self._kept.get((tree, key))
                if held is not None:
                    self._kept.move_to_end((tree, key))
                    found[key] = held[0]
        missing = [row for key, row in wanted.items() if key not in found]
        for key, (content, _) in contents_of(session, tree, missing).items():
            found[key] = content
            row = wanted[key]
            self._keep((tree, key), content, row.narrow + row.wide + _OVERHEAD)
        return found

    def _keep(self, place: tuple[int, int], content: Content, size: int) -> None:
        if size > self._room // 4:
            return
        with self._lock:
            if place in self._kept:
                return
            self._kept[place] = content, size
            self._used += size
            while self._used > self._room:
                _, (_, gone) = self._kept.popitem(last=False)
                self._used -= gone

    def clear(self) -> None:
        """Forget everything: of what was destroyed nothing stays in memory."""
        with self._lock:
            self._kept.clear()
            self._used = 0
