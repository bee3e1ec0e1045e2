"""Sub-agents of other programs: each hangs under the call that started it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import and_, select

from weft.runtime.proxy.client_signs import ClientSigns
from weft.runtime.proxy.history import HistoryPart, Side, canonical, digest_of
from weft.runtime.proxy.parent_search import reply_key, squashed
from weft.store import schema
from weft.store.proxy_rows import (
    SessionRow,
    change_session,
    live_keys,
    session_named,
    sessions_below,
    sessions_of,
)
from weft.store.rows import TreeState, load_content
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.content import ToolCall, blocks_of

_NAMED = re.compile(
    r"""agent_?id["']?\s*[:=]\s*["']?([\w.:-]+)|<task\s[^>]*\bid=["']([\w.:-]+)""", re.IGNORECASE
)
"""Where the result of a call names the sub-agent that it was."""


class CallPlace(NamedTuple):
    """A call in a tree."""

    tree: int
    node: int
    call: str


def calling_place(
    session: Session, token: int, signs: ClientSigns, parts: Sequence[HistoryPart]
) -> tuple[SessionRow | None, CallPlace | None]:
    """The session that a sub-agent was started from, and the call, as far as that can be told yet.

    Of calls that are under way, the one whose arguments have the sub-agent's first words; else the first
    that no other sub-agent was started by. The call's result names its sub-agent later.
    """
    parent = session_named(session, token, signs.parent)
    if parent is None:
        return None, None
    first = next((part.text for part in parts if part.side is Side.CLIENT and part.text), "")
    taken = {row.call_id for row in sessions_below(session, parent.key)}
    callers = [parent, *(row for row in sessions_of(session, token, signs.parent) if row.key != parent.key)]
    free: CallPlace | None = None
    for row in callers:
        if row.head is None:
            continue
        for call in _calls_at(session, row.tree, row.head):
            place = CallPlace(row.tree, row.head, call.id)
            if call.id in taken:
                continue
            if first and squashed(first) in squashed(_text_of(call)):
                return row, place
            free = free or place
    return parent, free


def _calls_at(session: Session, tree: int, node: int) -> list[ToolCall]:
    nodes, texts = schema.nodes, schema.texts
    there = (
        select(nodes.c.kind, texts.c.content)
        .join(texts, and_(texts.c.tree == nodes.c.tree, texts.c.node == nodes.c.key))
        .where(nodes.c.tree == tree, nodes.c.key == node)
    )
    row = session.execute(there).one()
    content = load_content(row.kind, row.content)
    return [block for block in blocks_of(content) if isinstance(block, ToolCall)]


def _text_of(call: ToolCall) -> str:
    given = call.arguments
    if isinstance(given, dict):
        return " ".join(value if isinstance(value, str) else canonical(value) for value in given.values())
    return given if isinstance(given, str) else canonical(given)


def name_callers(
    transaction: Transaction, session: SessionRow, tree: TreeState, parts: Sequence[HistoryPart]
) -> None:
    """Where new results name sub-agents of this session, note the calls that they answer."""
    named = {
        match.group(1) or match.group(2): part
        for part in parts
        if part.result
        for match in _NAMED.finditer(part.text)
    }
    if not named:
        return
    for row in sessions_below(transaction, session.key):
        part = named.get(row.agent_id)
        if part is None or part.result == row.call_id:
            continue
        call = HistoryPart(side=Side.MODEL, message=0, key=digest_of("call", part.result))
        places = live_keys(transaction, session.token, [reply_key(call)])
        node = next((each.node for each in reversed(places) if each.tree == tree.key), row.call_node)
        change_session(transaction, row, call_id=part.result, call_node=node, call_tree=tree.key)
