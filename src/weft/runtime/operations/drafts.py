"""What people are typing at nodes, and what they have read: durable, theirs alone, and no part of any history."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, select

from weft.errors import InvalidInputError
from weft.runtime.operations.cursors import (
    BeforeWriting,
    CommitBuffer,
    TypeText,
    cursor_row,
    move_cursor,
    record_nodes,
    undo_cursor,
    working_buffer,
)
from weft.runtime.operations.executor import Caller, Editing
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.permissions import require_permission, tree_for
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.drafts import draft_at, drop_draft
from weft.store.rows import NodeRow, TreeState
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.store.tree_queries import find_node
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.content import Text, check_text
from weft.tree.edge import SourceRole
from weft.tree.json_names import from_microseconds
from weft.tree.node import Node
from weft.tree.tree import Mode

_drafts, _marks, _nodes = schema.drafts, schema.read_marks, schema.nodes
_MOST_NODES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftText:
    """What is being typed at a node."""

    node: str
    text: str
    updated_at: datetime


class CommitDraft(Editing, verb="commit"):
    """Make a node of what is typed at a node; nothing happens if that is nothing."""

    tree: str
    node: str

    def apply(self, scope: Scope) -> Node | None:
        tree = scope.open_tree(self.tree)
        parent = scope.live_node(tree, self.node, "continue from")
        if is_working_buffer(scope, tree, parent):
            return CommitBuffer(tree=self.tree).apply(scope)
        text = draft_at(scope.transaction, tree.key, scope.actor.agent, parent.key)
        if not text:
            return None
        before = BeforeWriting(undo_cursor(scope, tree))
        node, row = write_node(
            scope, tree, Draft(content=Text(text), sources=((parent, SourceRole.PRIMARY),))
        )
        drop_draft(scope.transaction, tree.key, scope.actor.agent, parent.key)
        move_cursor(scope, tree, row.key)
        record_nodes(scope, tree, self.verb, before, [node], parent=parent.ulid)
        return node


def is_working_buffer(scope: Scope, tree: TreeState, row: NodeRow) -> bool:
    """In a document, what is typed at its end is the working buffer."""
    return tree.mode is Mode.BUFFER and cursor_row(scope, tree).position == row.position


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafts of one agent."""

    caller: Caller

    def all(self, tree: str) -> list[DraftText]:
        """Everything that it types in a tree, the latest first."""
        agent = self.caller.actor.agent
        with self.caller.reading() as session:
            key = tree_for(session, self.caller.actor, tree)
            here = _drafts.c.tree == key, _drafts.c.agent == agent, _nodes.c.hidden.is_(None)
            node = and_(_nodes.c.tree == _drafts.c.tree, _nodes.c.key == _drafts.c.node)
            rows = session.execute(
                select(_nodes.c.ulid, _drafts.c.text, _drafts.c.updated_at)
                .select_from(_drafts)
                .join(_nodes, node)
                .where(*here)
                .order_by(_drafts.c.updated_at.desc())
            )
            return [
                DraftText(node=row.ulid, text=row.text, updated_at=from_microseconds(row.updated_at))
                for row in rows
            ]

    def read(self, tree: str, node: str) -> str:
        """What it types at a node."""
        return self._at(tree, node, None)

    def keep(self, tree: str, node: str, text: str) -> str:
        """Keep what it types at a node, in place of what was there; empty: nothing is typed there."""
        return self._at(tree, node, check_text(text))

    def commit(self, tree: str, node: str) -> Node | None:
        """Make a node of it."""
        return self.caller.perform(CommitDraft(tree=tree, node=node))

    def _at(self, tree: str, node: str, text: str | None) -> str:
        executor, actor = self.caller.executor, self.caller.actor

        def work(transaction: Transaction) -> str | None:
            role = MemberRole.READER if text is None else MemberRole.EDITOR
            permission = Permission.LOOM_AWARE if text is None else Permission.LOOM_WRITE
            require_permission(transaction, actor, permission, "type")
            scope = executor.scope(transaction, actor, role)
            state = scope.open_tree(tree, archived=text is None)
            row = scope.node(state, node)
            if is_working_buffer(scope, state, row):
                return working_buffer(scope, state) if text is None else None
            if text is None:
                return draft_at(transaction, state.key, actor.agent, row.key)
            drop_draft(transaction, state.key, actor.agent, row.key)
            if text:
                values = {"text": text, "updated_at": scope.now}
                transaction.add(_drafts, {"tree": state.key, "agent": actor.agent, "node": row.key, **values})
            return text

        kept = executor.store.write(work)
        if kept is None:
            self.caller.perform(TypeText(tree=tree, text=text or ""))
            return text or ""
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadState:
    """What a person has read of a tree; what it wrote itself counts as read."""

    read: str
    """Base64 of bits: bit n, from the lowest of the first byte on, is the node with the number n."""
    unread: int


@dataclass(frozen=True, slots=True)
class ReadMarks:
    """What the person that acts has read."""

    caller: Caller

    @property
    def _reader(self) -> int:
        """The person behind the agents that act for it."""
        return [link.agent for link in self.caller.actor.chain()][-1]

    def state(self, tree: str) -> ReadState:
        """Which nodes of a tree were read."""
        with self.caller.reading() as session:
            key = tree_for(session, self.caller.actor, tree)
            bits = self._bits(session, key)
            here = _nodes.c.tree == key, _nodes.c.hidden.is_(None)
            seen = session.execute(select(_nodes.c.key, _nodes.c.author, _nodes.c.pruned).where(*here)).all()
        for row in seen:
            if row.author == self._reader:
                _set(bits, row.key)
        unread = sum(1 for row in seen if row.pruned is None and not _is_set(bits, row.key))
        return ReadState(read=base64.b64encode(bytes(bits)).decode(), unread=unread)

    def mark(self, tree: str, nodes: Sequence[str] | None = None, *, read: bool = True) -> ReadState:
        """Note that nodes were read, or are to be read again; without nodes, all of the tree."""
        if nodes is not None and len(nodes) > _MOST_NODES:
            raise InvalidInputError(f"at most {_MOST_NODES:,} nodes at once", path="nodes")
        actor, clock = self.caller.actor, self.caller.executor.clock

        def work(transaction: Transaction) -> None:
            require_permission(transaction, actor, Permission.LOOM_AWARE, "look")
            key = tree_for(transaction, actor, tree)
            # Two clients of one person mark at once: neither may undo what the other did.
            transaction.tree_state(key)
            bits = self._bits(transaction, key)
            if nodes is None:
                known = select(_nodes.c.key).where(_nodes.c.tree == key)
                keys = list(transaction.execute(known).scalars())
            else:
                keys = [find_node(transaction, key, each).key for each in nodes]
            for each in keys:
                _set(bits, each, value=read)
            row = {"tree": key, "reader": self._reader, "nodes": bytes(bits), "updated_at": clock()}
            transaction.replace(_marks, ("tree", "reader"), row)

        self.caller.store.write(work)
        return self.state(tree)

    def _bits(self, session: Session, tree: int) -> bytearray:
        mine = _marks.c.tree == tree, _marks.c.reader == self._reader
        stored = session.execute(select(_marks.c.nodes).where(*mine)).scalar_one_or_none()
        return bytearray(stored or b"")


def _set(bits: bytearray, number: int, *, value: bool = True) -> None:
    if number >= 8 * len(bits):
        bits.extend(bytes(number // 8 + 1 - len(bits)))
    if value:
        bits[number // 8] |= 1 << number % 8
    else:
        bits[number // 8] &= ~(1 << number % 8)


def _is_set(bits: bytearray, number: int) -> bool:
    return number < 8 * len(bits) and bool(bits[number // 8] & 1 << number % 8)
