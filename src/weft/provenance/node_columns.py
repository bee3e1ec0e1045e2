"""A whole tree's light values in memory, some two hundred bytes a node."""

from array import array
from bisect import bisect_left
from operator import attrgetter
from typing import Any, NamedTuple

from weft.provenance.damaged_rows import fetch, is_readable, paged
from weft.provenance.findings import Findings
from weft.store import schema
from weft.store.path_queries import walk_up
from weft.store.rows import NodeRow
from weft.store.session import Session

_NONE = -1


class NodeSummary(NamedTuple):
    """What other nodes need to know of a node."""

    ulid: str
    local_id: str
    hash: bytes
    key: int
    position: int
    parent: int | None
    depth: int
    jump: int
    ruler: int
    near_attachments: int | None
    near_instruction: int | None


_TEXTS = ("ulid", "local_id", "hash")
_SUMMARISED = NodeSummary._fields[len(_TEXTS) :]
_NUMBERS = (*_SUMMARISED, "edge_type")
_NULLABLE = frozenset({"parent", "near_attachments", "near_instruction"})
_summarised = attrgetter(*NodeSummary._fields)


def summary_of(row: NodeRow) -> NodeSummary:
    return NodeSummary._make(_summarised(row))


class NodeColumns:
    """Rows by their key, in ascending order."""

    def __init__(self) -> None:
        self._texts: dict[str, list[Any]] = {name: [] for name in _TEXTS}
        self._numbers = {name: array("q") for name in _NUMBERS}
        self.ulids: list[str] = self._texts["ulid"]
        self.keys, self.positions = self._numbers["key"], self._numbers["position"]
        self.parents, self.depths = self._numbers["parent"], self._numbers["depth"]
        self.edge_types = self._numbers["edge_type"]
        self._by_ulid: dict[str, int] | None = None

    @classmethod
    def load(cls, session: Session, findings: Findings, tree: int) -> "NodeColumns":
        columns, nodes = cls(), schema.nodes
        for row in paged(session, findings, nodes, nodes.c.key, nodes.c.tree == tree):
            columns.append(NodeRow._make(row))
        return columns

    def append(self, row: NodeRow) -> None:
        for name, texts in self._texts.items():
            texts.append(getattr(row, name))
        for name, numbers in self._numbers.items():
            value = getattr(row, name)
            numbers.append(_NONE if value is None else value)

    def __len__(self) -> int:
        return len(self.keys)

    def index(self, key: int) -> int | None:
        at = bisect_left(self.keys, key)
        return at if at < len(self.keys) and self.keys[at] == key else None

    def find(self, ulid: object) -> int | None:
        """Where the node of that id is."""
        if self._by_ulid is None:
            self._by_ulid = {name: at for at, name in enumerate(self.ulids)}
        return self._by_ulid.get(ulid) if isinstance(ulid, str) else None

    def name(self, key: int) -> str:
        """The ULID of a node; its key where there is none."""
        at = self.index(key)
        return str(key) if at is None else self.ulids[at]

    def hash_of(self, ulid: str) -> bytes | None:
        at = self.find(ulid)
        return None if at is None else self._texts["hash"][at]

    def parent(self, index: int) -> int | None:
        key = self.parents[index]
        return None if key == _NONE else key

    def light(self, key: int) -> NodeSummary | None:
        at = self.index(key)
        if at is None:
            return None
        texts = (texts[at] for texts in self._texts.values())
        numbers = ((name, self._numbers[name][at]) for name in _SUMMARISED)
        shown = (None if number == _NONE and name in _NULLABLE else number for name, number in numbers)
        return NodeSummary._make((*texts, *shown))


def readable_nodes(session: Session, findings: Findings, tree: int, keys: list[int]) -> dict[int, NodeRow]:
    """These nodes by their key, without those whose rows are damaged."""
    nodes = schema.nodes
    chosen = session.dialect.among(nodes.c.key, [key for key in keys if -(2**31) <= key < 2**31])
    rows = fetch(session, findings, nodes, nodes.c.tree == tree, chosen)
    return {row.key: NodeRow._make(row) for row in rows}


class Neighbours:
    """The same for a few nodes: looked up when asked for."""

    def __init__(self, session: Session, tree: int) -> None:
        self._session = session
        self._tree = tree
        self._known: dict[int, NodeSummary | None] = {}

    def learn(self, rows: list[NodeRow]) -> None:
        """Remember these, and fetch what they mention, all at once."""
        for row in rows:
            self._known[row.key] = summary_of(row)
        for _ in range(2):
            # Twice: a place follows from the parent, and from where the parent's jump leads.
            self._fetch(rows)

    def _fetch(self, rows: list[NodeRow]) -> None:
        wanted: set[int] = set()
        for row in rows:
            mentioned = (row.position, row.parent, row.written_after, row.edited_from)
            wanted.update(key for key in mentioned if key is not None)
            first = self._known.get(row.parent) if row.parent is not None else None
            if first is not None:
                wanted.add(first.jump)
        missing = [key for key in wanted if key not in self._known]
        # Rows that cannot be read are reported where they are checked themselves.
        rows_found = readable_nodes(self._session, Findings(), self._tree, missing)
        for key in missing:
            self._known[key] = summary_of(rows_found[key]) if key in rows_found else None

    def light(self, key: int) -> NodeSummary | None:
        if key not in self._known:
            nodes = readable_nodes(self._session, Findings(), self._tree, [key])
            self._known[key] = summary_of(nodes[key]) if key in nodes else None
        return self._known[key]


_STRIDE = 2_000


def ancestry(session: Session, tree: int, key: int) -> list[int]:
    """Keys of the node and of all it comes from, ascending: one query for every two thousand of them.

    The keys of nodes that are missing or damaged are among them; nothing is known above those.
    """
    known: dict[int, NodeRow | None] = {}
    sources: dict[int, list[int]] = {}
    origins: set[int] = set()
    waiting = [key]
    while waiting:
        lacking: list[int] = []
        while waiting:
            each = waiting.pop()
            if each in origins:
                continue
            if each not in known:
                lacking.append(each)
                continue
            origins.add(each)
            row = known[each]
            if row is not None:
                waiting.extend(sources.get(each) or ([] if row.parent_node is None else [row.parent_node]))
        if lacking:
            _learn(session, tree, lacking, known, sources)
            waiting = lacking
    return sorted(origins)


def _learn(
    session: Session,
    tree: int,
    keys: list[int],
    known: dict[int, NodeRow | None],
    sources: dict[int, list[int]],
) -> None:
    """Fetch these nodes, and the stretch of path above each that is not known yet."""
    fresh = readable_nodes(session, Findings(), tree, keys)
    for row in list(fresh.values()):
        if row.parent is not None and row.parent not in known and row.parent not in fresh:
            fresh.update((above.key, above) for above in _path_above(session, tree, row.parent))
    known.update(dict.fromkeys(keys))
    known.update(fresh)
    table = schema.sources
    listed = list(fresh)
    for start in range(0, len(listed), _STRIDE):
        some = session.dialect.among(table.c.target, listed[start : start + _STRIDE])
        for row in fetch(session, Findings(), table, table.c.tree == tree, some):
            sources.setdefault(row.target, []).append(row.source)


def _path_above(session: Session, tree: int, position: int) -> list[NodeRow]:
    """Readable nodes of the path, many at once; none where one of them cannot be decoded."""
    try:
        rows = walk_up(session, tree, position, _STRIDE)
    except Exception as error:
        # The driver's own error: each database has another class for it.
        if not session.dialect.is_unreadable_text(error):
            raise
        return []
    return [row for row in rows if is_readable(schema.nodes, row)]
