"""Large trees in seconds: rows as the operations would have made them, sent in bulk, without events."""

import json
import random
from collections.abc import Sequence

from sqlalchemy import Table, func, select
from sqlalchemy import text as sql

import weft
from weft.ids import local_id_candidates, new_ulid
from weft.runtime.operations.nodes import Append
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.base import Store
from weft.store.rows import (
    EDGE_TYPES,
    KINDS,
    MODES,
    ROLES,
    STATUSES,
    AgentRow,
    NodeRow,
    PositionRow,
    TreeState,
    place_below,
    place_of_root,
)
from weft.store.transaction import Transaction
from weft.tree.edge import EdgeType
from weft.tree.measure import measure
from weft.tree.node import Role, Status
from weft.tree.tree import Mode

__all__ = ["GROWN_HASH", "grow", "grow_forest", "say_many"]

GROWN_HASH = bytes(32)
"""Grown nodes are not in the chain: they are for shape and size, not for proof."""

_CHUNK = 5_000
_TOGETHER = 2_000
_TEXT = "And so it went on."


def say_many(grove: weft.Grove, title: str, texts: Sequence[str], count: int) -> None:
    """What `say` does, with hashes and events, many times a transaction: a tree that can be proved."""
    tree = grove.plant(title, "root")
    gate = grove.caller.executor  # pyright: ignore[reportPrivateUsage] - below the surface, for speed
    actor = grove.caller.actor  # pyright: ignore[reportPrivateUsage]

    def say(transaction: Transaction, first: int) -> None:
        parent: str | None = None
        for index in range(first, min(first + _TOGETHER, count)):
            scope = Scope(transaction, actor, Append.access, gate.clock, gate.entropy, gate.store.blobs, True)
            said = Append(tree=tree.id, content=texts[index % len(texts)], parent=parent).apply(scope)
            parent = None if index % 3 else said.id

    for first in range(0, count, _TOGETHER):
        gate.store.write(lambda transaction, first=first: say(transaction, first))


def grow(
    store: Store, tree_key: int, parent_row: NodeRow, count: int, *, zigzag: bool = False, text: str = _TEXT
) -> NodeRow:
    """Grow a path `count` nodes long below a node; return its leaf.

    A zigzag path goes through the youngest of two or three children at every step,
    so it has two and a half times as many nodes. Ids follow from the place: the
    random part is the same in every run.
    """
    if count < 1:
        raise ValueError("a path has at least one node")

    def work(transaction: Transaction) -> NodeRow:
        state = transaction.tree_state(tree_key)
        local_ids = select(schema.nodes.c.local_id).where(schema.nodes.c.tree == tree_key)
        sender = _Sender(transaction, text)
        grower = _Grower(sender, state, set(transaction.execute(local_ids).scalars()))
        state.branches += transaction.has_live_child(tree_key, parent_row.position)
        tip = parent_row
        for step in range(count):
            siblings = 2 + step % 2 if zigzag else 1
            tip = [grower.add_child(tip) for _ in range(siblings)][-1]
            state.branches += siblings - 1
        state.depth = max(state.depth, tip.depth)
        state.changed = True
        sender.flush()
        transaction.forget_nodes()
        return tip

    return store.write(work)


def grow_forest(store: Store, author: AgentRow, trees: int, *, nodes: int = 10, text: str = _TEXT) -> None:
    """Grow many trees, each one straight path of `nodes` nodes."""

    def work(transaction: Transaction) -> None:
        last = transaction.execute(select(func.max(schema.trees.c.key))).scalar() or 0
        states = [_tree(transaction, author, last + index + 1, nodes) for index in range(trees)]
        transaction.flush_rows()
        sender = _Sender(transaction, text)
        for state, root_ulid in states:
            grower = _Grower(sender, state, set())
            tip = grower.add_root(author, root_ulid)
            for _ in range(nodes - 1):
                tip = grower.add_child(tip)
        sender.flush()
        transaction.forget_nodes()

    store.write(work)


def _tree(transaction: Transaction, author: AgentRow, key: int, nodes: int) -> tuple[TreeState, str]:
    """A tree's row with its counters as they will be; the state is for those who make its nodes."""
    entropy = random.Random(key).randbytes
    moment = author.created_at + key * 1_000
    ulid, root_ulid = new_ulid(moment, entropy), new_ulid(moment, entropy)
    transaction.add(
        schema.trees,
        {
            "key": key,
            "ulid": ulid,
            "title": f"Tree {key}",
            "description": "",
            "summary": None,
            "mode": MODES.index(Mode.DIALOGUE),
            "system_context": "",
            "buffer_mode_system_context": False,
            "preferences": "{}",
            "project": None,
            "root": 1,
            "root_ulid": root_ulid,
            "created_at": moment,
            "updated_at": moment + nodes,
            "archived_at": None,
            "next_key": nodes + 1,
            "nodes": nodes,
            "branches": 1,
            "depth": nodes - 1,
            "events": 0,
            "head": None,
        },
    )
    state = TreeState(
        key=key,
        ulid=ulid,
        mode=Mode.DIALOGUE,
        root=1,
        archived_at=None,
        updated_at=moment,
        next_key=1,
        nodes=0,
        branches=1,
        depth=0,
        events=0,
        head=None,
    )
    return state, root_ulid


class _Sender:
    """Gathers rows and sends them together."""

    def __init__(self, transaction: Transaction, text: str) -> None:
        self.transaction = transaction
        self.text = text
        self.size = measure(text)
        self._pending: list[NodeRow] = []

    def add(self, row: NodeRow) -> None:
        self._pending.append(row)
        if len(self._pending) == _CHUNK:
            self.flush()

    def flush(self) -> None:
        rows, self._pending = self._pending, []
        self._send(schema.nodes, [row._asdict() for row in rows])
        self._send(
            schema.texts,
            [{"tree": row.tree, "node": row.key, "content": self.text, "summary": None} for row in rows],
        )
        self.transaction.flush_rows()

    def _send(self, table: Table, rows: list[dict[str, object]]) -> None:
        if self.transaction.dialect.counts_events:
            for row in rows:
                self.transaction.add(table, row)
            return
        # PostgreSQL takes one large value faster than many small ones.
        rowset = f"json_populate_recordset(NULL::{table.name}, :rows)"
        statement = sql(f"INSERT INTO {table.name} SELECT * FROM {rowset}")
        self.transaction.execute(statement, {"rows": json.dumps(rows, default=_bytea)})


def _bytea(value: object) -> str:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    raise TypeError(f"not a column's value: {value!r}")


class _Grower:
    """Makes the rows of one tree, remembering what the next one needs."""

    def __init__(self, sender: _Sender, state: TreeState, taken: set[str]) -> None:
        self._sender = sender
        self._state = state
        self._taken = taken
        self._entropy = random.Random(f"{state.key}:{state.next_key}").randbytes
        self._rows: dict[int, NodeRow] = {}

    def add_root(self, author: AgentRow, ulid: str) -> NodeRow:
        local_id = next(local_id_candidates(ulid))
        self._taken.add(local_id)
        key = self._take_key()
        place = place_of_root(key, self._sender.size, attachments=False)
        return self._keep(
            key, (ulid, local_id), place, None, (author.key, author.type, ROLES.index(Role.USER))
        )

    def add_child(self, parent: NodeRow) -> NodeRow:
        key = self._take_key()
        first = self._at(parent.position)
        place = place_below(
            first, self._at(first.jump).jump, key, self._sender.size, attachments=False, instructs=False
        )
        written_after = None if parent.key == parent.position else parent.key
        return self._keep(
            key, self._name(), place, written_after, (parent.author, parent.author_type, parent.role)
        )

    def _take_key(self) -> int:
        state = self._state
        key = state.next_key
        state.next_key += 1
        state.nodes += 1
        state.updated_at += 1
        return key

    def _keep(
        self,
        key: int,
        name: tuple[str, str],
        place: PositionRow,
        written_after: int | None,
        speaker: tuple[int, int, int],
    ) -> NodeRow:
        ulid, local_id = name
        author, author_type, role = speaker
        row = NodeRow(
            tree=self._state.key,
            key=key,
            ulid=ulid,
            local_id=local_id,
            position=place.position,
            parent=place.parent,
            depth=place.depth,
            jump=place.jump,
            written_after=written_after,
            edge_type=EDGE_TYPES.index(EdgeType.CONTINUATION),
            edited_from=None,
            author=author,
            author_type=author_type,
            role=role,
            kind=KINDS.index("text"),
            status=STATUSES.index(Status.COMPLETE),
            narrow=self._sender.size.narrow,
            wide=self._sender.size.wide,
            ruler=place.ruler,
            near_attachments=place.near_attachments,
            near_instruction=place.near_instruction,
            flags=0,
            pruned=None,
            hidden=None,
            bookmark_label=None,
            hash=GROWN_HASH,
            created_at=self._state.updated_at,
        )
        self._rows[key] = row
        self._sender.add(row)
        return row

    def _at(self, position: int) -> NodeRow:
        found = self._rows.get(position)
        return self._sender.transaction.node(self._state.key, position) if found is None else found

    def _name(self) -> tuple[str, str]:
        """As for any node: the shortest beginning of the random part that is free."""
        while True:
            ulid = new_ulid(self._state.updated_at, self._entropy)
            local_id = next((name for name in local_id_candidates(ulid) if name not in self._taken), None)
            if local_id is not None:
                self._taken.add(local_id)
                return ulid, local_id
