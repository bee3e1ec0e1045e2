"""Writing: rows are gathered and sent together, and what was read or written is remembered.

A transaction may carry the work of many callers (SQLite commits in groups), so it
keeps what hot paths need in a cache that it doubts whenever another process may have
changed the database.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import Connection, CursorResult, Executable, Table, bindparam, insert, update
from sqlalchemy.sql.elements import ClauseElement

from weft.errors import NotFoundError
from weft.ids import PRIME
from weft.store import schema
from weft.store.rows import MODES, AgentRow, NodeRow, TreeState
from weft.store.session import CompiledStatement, Dialect, Session, T, in_batches
from weft.store.tree_statements import (
    AGENT_BY_KEY,
    CURSOR,
    GROVE_FOR_UPDATE,
    HAS_LIVE_CHILD,
    LAST_EVENT_NUMBER,
    LAST_LOCAL_ID,
    LATER_VERSIONS,
    LOCAL_IDS,
    NODE_BY_KEY,
    TREE_COLUMNS,
    TREE_FOR_UPDATE,
)

GROVE = 0
"""The tree key of the grove itself."""
_CACHE_LIMIT = 50_000
_SMALL_TREE = 256
_LARGE_TREE = 20_000
_SETTLED = 4
"""Transactions without a stranger's write to it, after which even a large tree's ids are worth remembering."""
_COLUMNS = {table: tuple(map(str, table.columns.keys())) for table in schema.metadata.sorted_tables}
_UNNUMBERED = [name for name in _COLUMNS[schema.events] if name not in {"number", "transaction"}]
_ORDER = {table: index for index, table in enumerate(schema.metadata.sorted_tables)}

_INSERTS = {table: insert(table) for table in schema.metadata.sorted_tables}
_COUNTERS = ("next_key", "nodes", "branches", "depth", "events", "head", "updated_at", "leased_until")
_state_row: Callable[[TreeState], tuple[Any, ...]] = attrgetter(*TREE_COLUMNS)
_UPDATE_TREE = (
    update(schema.trees)
    .where(schema.trees.c.key == bindparam("the_key"))
    .values({name: bindparam(name) for name in _COUNTERS})
)
_UPDATE_GROVE = update(schema.grove).values(
    {name: bindparam(name) for name in ("events", "head", "updated_at")}
)


def _hex_of(value: bytes) -> str:
    """Bytes as JSON has them for the database."""
    return "\\x" + value.hex()


@dataclass(slots=True)
class GroveState:
    """The grove's own chain and clock."""

    ulid: str
    owner: int | None
    events: int
    head: bytes | None
    updated_at: int
    changed: bool = False


@dataclass(slots=True)
class KnownTree:
    """What a writer knows of one tree without asking."""

    state: TreeState | None = None
    row: tuple[Any, ...] | None = None
    """Its row when it was last read or committed: as long as it is the same, all of this holds."""
    epoch: int = 0
    """The cache's, when it was last compared with its row."""
    age: int = 0
    """How many transactions it has served."""
    nodes: dict[int, NodeRow] = field(default_factory=dict[int, NodeRow])
    names: dict[str, int] = field(default_factory=dict[str, int])
    """ULID or local id → key."""
    local_ids: set[str] | None = None
    """All of them, where they are worth remembering."""
    parents: dict[int, bool] = field(default_factory=dict[int, bool])
    """Position → whether a live continuation hangs below."""
    versions: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """Position → keys of the nodes at it, oldest first."""
    cursors: dict[int, int | None] = field(default_factory=dict[int, int | None])
    """Agent → its cursor's node."""

    def forget_nodes(self) -> None:
        self.local_ids = None
        for known in (self.nodes, self.names, self.parents, self.versions):
            known.clear()


@dataclass(slots=True)
class Cache:
    """What a writer knows without asking.

    If others may have written since (`doubt`), what is known of a tree is used from the moment at which
    its row is locked and is what it was: every change of a tree is in the chain that it heads. Agents,
    and which trees there are, change with the grove's own chain.
    """

    epoch: int = 0
    trees: dict[int, KnownTree] = field(default_factory=dict[int, KnownTree])
    size: int = 0
    """How many nodes it knows, more or less."""
    agents: dict[int, AgentRow] = field(default_factory=dict[int, AgentRow])
    keys: dict[str, int] = field(default_factory=dict[str, int])
    """ULIDs of trees and agents → key."""
    grove: GroveState | None = None
    grove_events: int | None = None
    """How many events the grove had when it was last doubted."""
    event_number: int | None = None

    def clear(self) -> None:
        for known in (self.trees, self.agents, self.keys):
            known.clear()
        self.grove = None
        self.grove_events = None
        self.event_number = None
        self.size = 0

    def doubt(self, grove_events: int | None) -> None:
        """Others may have written; this many events the grove has now, if it is made."""
        self.epoch += 1
        self.grove = None
        self.event_number = None
        if grove_events is None or grove_events != self.grove_events:
            self.agents.clear()
            self.keys.clear()
            self.grove_events = grove_events

    def forget_nodes(self) -> None:
        self.size = 0
        for tree in self.trees.values():
            tree.forget_nodes()


class Transaction(Session):
    """One atomic change. Nothing is visible to others, or kept, until it commits."""

    def __init__(self, connection: Connection, dialect: Dialect, cache: Cache) -> None:
        super().__init__(connection, dialect)
        self.cache = cache
        self.writes = 0
        self.last_event: tuple[int, int, bytes] | None = None
        """Tree, ordinal and hash of the last event that this transaction adds: there if it was committed."""
        self.require_wanted: Callable[[], None] | None = None
        """Raises an error if the caller has gone: called before rows are sent."""
        self._pending: dict[Table, list[dict[str, Any]]] = {}
        self._in_order: dict[Table, list[tuple[Any, ...]]] = {}
        self._cursors: dict[tuple[int, int], dict[str, Any]] = {}
        self._trees: dict[int, KnownTree] = {}
        """Those that it has to do with."""
        if cache.size > _CACHE_LIMIT:
            cache.forget_nodes()

    def execute(self, statement: Executable, values: Mapping[str, Any] | None = None) -> CursorResult[Any]:
        self.flush_rows()
        if getattr(statement, "is_dml", False):
            self.writes += 1
        return self._connection.execute(statement, values)

    def rows(self, statement: ClauseElement, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        self.flush_rows()
        return super().rows(statement, values)

    def once(self, key: Hashable, read: Callable[[], T]) -> T:
        """Read again each time: what was written since would be missed."""
        del key
        return read()

    def execute_many(self, statement: Executable, rows: Sequence[Mapping[str, Any]]) -> None:
        self.flush_rows()
        self.writes += bool(rows)
        super().execute_many(statement, rows)

    def add(self, table: Table, row: dict[str, Any]) -> None:
        """Insert a row, together with others of its table."""
        self.writes += 1
        self._pending.setdefault(table, []).append(row)

    def add_in_order(self, table: Table, row: tuple[Any, ...]) -> None:
        """The same, with a value for every column in the table's order: for what is written most."""
        self.writes += 1
        rows = self._in_order.get(table)
        if rows is None:
            self._in_order[table] = [row]
        else:
            rows.append(row)

    def insert(self, table: Table, row: Mapping[str, Any]) -> int:
        """Insert a row now; return the key the database gave it."""
        key = self.execute(_INSERTS[table], row).inserted_primary_key
        if key is None:
            raise RuntimeError(f"{table.name} has no key of one column")
        return int(key[0])

    def put(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows of one shape as they are: keys, numbers and all."""
        self.flush_rows()
        self.writes += len(rows)
        self._send(_INSERTS[table], rows, tuple(map(str, rows[0])))

    def add_missing(self, table: Table, key: Iterable[str], row: dict[str, Any]) -> None:
        """Insert a row unless its key is there."""
        self.execute(self.dialect.upsert(table, tuple(key), ()), row)

    def replace(self, table: Table, key: Iterable[str], row: dict[str, Any]) -> None:
        """Insert a row, or overwrite the one with its key."""
        names = tuple(key)
        self.execute(self.dialect.upsert(table, names, tuple(n for n in row if n not in names)), row)

    def flush_rows(self) -> None:
        """Send what was gathered, parents before children."""
        if self.require_wanted is not None:
            self.require_wanted()
        if not self._pending and not self._in_order and not self._cursors:
            return
        pending, self._pending = self._pending, {}
        in_order, self._in_order = self._in_order, {}
        moved, self._cursors = self._cursors, {}
        with self.dialect.together(self.driver):
            for table in sorted(pending.keys() | in_order.keys(), key=_ORDER.__getitem__):
                values, rows, batch = in_order.get(table), pending.get(table), self.dialect.batch(table)
                if batch is not None:
                    columns = _COLUMNS[table]
                    named = [dict(zip(columns, row, strict=True)) for row in values or ()]
                    self._send_batch(batch, [*named, *(rows or ())])
                    continue
                if values:
                    prepared = CompiledStatement.of(self._connection, self._insert(table), _COLUMNS[table])
                    self.dialect.send(self.driver, prepared.sql, prepared.in_order(values))
                if rows:
                    self._send(self._insert(table), rows, tuple(rows[0]))
            if moved:
                batch = self.dialect.batch(schema.cursors)
                if batch is not None:
                    self._send_batch(batch, list(moved.values()))
                else:
                    places = self.dialect.upsert(schema.cursors, ("tree", "agent"), ("node", "updated_at"))
                    self._send(places, list(moved.values()))

    def _send_batch(self, batch: str, rows: Sequence[Mapping[str, Any]]) -> None:
        for part in in_batches(rows):
            self.dialect.send(self.driver, batch, [(orjson.dumps(part, default=_hex_of).decode(),)])

    def _insert(self, table: Table) -> ClauseElement:
        if table is schema.events:
            return self.dialect.insert_events()
        # A job that waits already is not queued again.
        return self.dialect.upsert(table, (), ()) if table is schema.jobs else _INSERTS[table]

    def _send(
        self,
        statement: ClauseElement,
        rows: Sequence[Mapping[str, Any]],
        columns: tuple[str, ...] | None = None,
    ) -> None:
        prepared = CompiledStatement.of(self._connection, statement, columns)
        self.dialect.send(self.driver, prepared.sql, [prepared.parameters(row) for row in rows])

    def flush(self) -> None:
        """Send everything, counters too; the last thing before a commit."""
        with self.dialect.together(self.driver):
            self.dialect.stop_reading(self.driver)
            self.flush_rows()
            changed: list[dict[str, Any]] = []
            for known in self._trees.values():
                state = known.state
                if state is not None and state.changed:
                    values: dict[str, Any] = {name: getattr(state, name) for name in _COUNTERS}
                    changed.append(values | {"the_key": state.key})
                    state.changed = False
            if changed:
                self._send(_UPDATE_TREE, changed)
            grove = self.cache.grove
            if grove is not None and grove.changed:
                heads = {"events": grove.events, "head": grove.head, "updated_at": grove.updated_at}
                self._send(_UPDATE_GROVE, [heads])
                grove.changed = False

    def grove_state(self) -> GroveState:
        """The grove's row, locked until the transaction ends."""
        if self.cache.grove is None:
            self.cache.grove = GroveState(*super().rows(GROVE_FOR_UPDATE, {})[0])
        return self.cache.grove

    def known(self, tree: int) -> KnownTree:
        """What is known of a tree, as far as this transaction may rely on it."""
        known = self._trees.get(tree)
        if known is None:
            cache = self.cache
            known = cache.trees.get(tree)
            if known is None:
                known = cache.trees[tree] = KnownTree(epoch=cache.epoch)
            elif known.epoch == cache.epoch:
                known.age += 1
            else:
                # It may turn out to be right, but not before its row is read.
                known = KnownTree(epoch=cache.epoch)
            self._trees[tree] = known
        return known

    def tree_state(self, key: int) -> TreeState:
        """A tree's row, locked until the transaction ends."""
        state = self.known(key).state
        if state is None:
            rows = super().rows(TREE_FOR_UPDATE, {"in_tree": key})
            if not rows:
                raise NotFoundError("the tree does not exist any more")
            state = self.hold_tree(rows[0])
        return state

    def hold_tree(self, row: tuple[Any, ...]) -> TreeState:
        """Take over a tree's row that was just read and locked."""
        number, ulid, mode, *rest = row
        known = self.cache.trees.get(number)
        if known is None or known.row != row or known.state is None:
            known = self.known(number)
            known.state = TreeState(number, ulid, MODES[int(mode)], *rest)
            known.row = row
            self.cache.trees[number] = known
        elif known.epoch != self.cache.epoch:
            known.epoch = self.cache.epoch
            known.age += 1
        self._trees[number] = known
        return known.state

    def add_tree(self, state: TreeState) -> None:
        """A tree that this transaction has inserted."""
        self._trees[state.key] = self.cache.trees[state.key] = KnownTree(state, epoch=self.cache.epoch)
        self.cache.keys[state.ulid] = state.key

    def keep_known(self) -> None:
        """After the commit: remember the rows of the trees as they are now."""
        for known in self._trees.values():
            if known.state is not None:
                key, ulid, mode, *rest = _state_row(known.state)
                known.row = (key, ulid, MODES.index(mode), *rest)

    def forget(self) -> None:
        """After statements that changed everything; what was gathered must have been sent."""
        self._trees.clear()
        self.cache.clear()

    def take_key(self, state: TreeState) -> int:
        """The next key of a tree: for nodes, attempts and responses alike."""
        key = state.next_key
        state.next_key += 1
        state.changed = True
        return key

    def agent(self, key: int) -> AgentRow:
        agent = self.cache.agents.get(key)
        if agent is None:
            agent = AgentRow._make(super().rows(AGENT_BY_KEY, {"by_agent": key})[0])
            self.cache.agents[key] = agent
        return agent

    def node(self, tree: int, key: int) -> NodeRow:
        """A node that is known to exist."""
        node = self.known(tree).nodes.get(key)
        if node is None:
            (row,) = self.rows(NODE_BY_KEY, {"in_tree": tree, "the_node": key})
            node = self.remember(NodeRow._make(row))
        return node

    def remember(self, row: NodeRow) -> NodeRow:
        known = self.known(row.tree)
        known.nodes[row.key] = row
        known.names[row.ulid] = known.names[row.local_id] = row.key
        self.cache.size += 1
        return row

    def add_node(self, row: NodeRow, content: str) -> NodeRow:
        self.add_in_order(schema.nodes, row)
        self.add_in_order(schema.texts, (row.tree, row.key, content, None))
        known = self.known(row.tree)
        if known.local_ids is not None:
            known.local_ids.add(row.local_id)
        if row.position == row.key:
            known.parents[row.position] = False
            known.versions[row.position] = (row.key,)
        elif row.position in known.versions:
            known.versions[row.position] += (row.key,)
        return self.remember(row)

    def add_event(
        self,
        *,
        tree: int,
        ordinal: int,
        kind: str,
        agent: int,
        payload: str,
        inverse: str,
        created_at: int,
        previous: bytes | None,
        digest: bytes,
    ) -> None:
        """Append an event; who numbers it depends on the database."""
        self.last_event = tree, ordinal, digest
        own = kind, agent, payload, inverse, created_at, previous, digest
        if self.dialect.counts_events:
            self.add_in_order(schema.events, (tree, ordinal, self.next_event_number(), 0, *own))
        else:
            self.add(schema.events, dict(zip(_UNNUMBERED, (tree, ordinal, *own), strict=True)))

    def versions(self, tree: int, position: int) -> tuple[int, ...]:
        """Keys of all nodes at a position, oldest first."""
        known = self.known(tree).versions
        keys = known.get(position)
        if keys is None:
            rows = self.rows(LATER_VERSIONS, {"in_tree": tree, "at_position": position})
            later = [self.remember(NodeRow._make(row)).key for row in rows]
            keys = known[position] = (position, *later)
        return keys

    def free_local_id(self, tree: int, candidates: Iterable[str]) -> str | None:
        """The first of the candidates (each a beginning of the next) that is not in use."""
        known = self._known_local_ids(tree)
        if known is not None:
            return next((name for name in candidates if name not in known), None)
        wanted = list(candidates)
        taken = self._local_ids(tree, wanted[0], wanted[0] + "~")
        names = self.known(tree).names
        return next((name for name in wanted if name not in taken and name not in names), None)

    def _known_local_ids(self, tree: int) -> set[str] | None:
        """All local ids of a tree, if remembering them is worth it: asking costs more where many write."""
        known = self.known(tree)
        if known.local_ids is None:
            worth = _SMALL_TREE if known.age < _SETTLED else _LARGE_TREE
            if self.tree_state(tree).next_key > worth:
                return None
            self.flush_rows()
            known.local_ids = self._local_ids(tree, "", "~")
        return known.local_ids

    def next_primed_id(self, tree: int, base: str) -> str:
        """The original's id with one prime more than any edit of it has."""
        values = {"in_tree": tree, "low": base + PRIME, "high": base + chr(ord(PRIME) + 1)}
        longest = super().rows(LAST_LOCAL_ID, values)
        name = (longest[0][0] or base) + PRIME
        names = self.known(tree).names
        while name in names:
            name += PRIME
        return name

    def _local_ids(self, tree: int, low: str, high: str) -> set[str]:
        # Rows not sent yet are all in the cache, so what was gathered need not be flushed.
        values = {"in_tree": tree, "low": low, "high": high}
        return {row[0] for row in super().rows(LOCAL_IDS, values)}

    def update_node(self, row: NodeRow, **changes: Any) -> NodeRow:
        """Change metadata columns of one node."""
        nodes = schema.nodes
        self.execute(update(nodes).where(nodes.c.tree == row.tree, nodes.c.key == row.key).values(**changes))
        return self.remember(row._replace(**changes))

    def has_live_child(self, tree: int, position: int) -> bool:
        parents = self.known(tree).parents
        known = parents.get(position)
        if known is None:
            known = bool(self.rows(HAS_LIVE_CHILD, {"in_tree": tree, "at_position": position}))
            parents[position] = known
        return known

    def note_child(self, tree: int, position: int) -> None:
        self.known(tree).parents[position] = True

    def cursor(self, tree: int, agent: int) -> int | None:
        """The node at an agent's cursor."""
        cursors = self.known(tree).cursors
        if agent not in cursors:
            rows = self.rows(CURSOR, {"in_tree": tree, "by_agent": agent})
            cursors[agent] = rows[0][0] if rows else None
        return cursors[agent]

    def move_cursor(self, tree: int, agent: int, node: int, at: int) -> None:
        self.writes += 1
        self.known(tree).cursors[agent] = node
        self._cursors[tree, agent] = {"tree": tree, "agent": agent, "node": node, "updated_at": at}

    def last_event_number(self) -> int:
        """The highest number given out, where the writer counts."""
        if self.cache.event_number is None:
            self.flush_rows()
            self.cache.event_number = int(self._connection.execute(LAST_EVENT_NUMBER).scalar() or 0)
        return self.cache.event_number

    def next_event_number(self) -> int:
        """Counted by the writer where the database does not number events."""
        number = self.last_event_number() + 1
        self.cache.event_number = number
        return number

    def forget_nodes(self) -> None:
        """After a statement that changed many nodes at once."""
        for known in self._trees.values():
            known.forget_nodes()
