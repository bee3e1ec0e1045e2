"""From what somebody wants to say to a node in its place: the one way nodes are made."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError
from weft.ids import base_of, local_id_candidates
from weft.provenance.chain import NodeFacts, content_hash
from weft.provenance.facts import choice_fact, items_fact, response_fact
from weft.runtime.scope import Scope
from weft.store import schema
from weft.store.bodies import add_body
from weft.store.contents import dump_content
from weft.store.rows import (
    AGENT_TYPES,
    EDGE_TYPES,
    KINDS,
    ROLES,
    SOURCE_ROLES,
    STATUSES,
    AgentRow,
    Flag,
    NodeRow,
    Place,
    TreeState,
    place_below,
    place_of_root,
)
from weft.store.transaction import Transaction
from weft.tree.agent import AgentType
from weft.tree.attempt import RawResponse
from weft.tree.content import (
    Content,
    blob_refs,
    check_content,
    check_text,
    kind_of,
    plain_text,
)
from weft.tree.edge import Edge, EdgeType, Source, SourceRole
from weft.tree.item import Item, check_item
from weft.tree.measure import Measure, measure
from weft.tree.node import Node, Role, Status, role_of
from weft.tree.tree import Mode
from weft.tree.wire import from_microseconds, to_microseconds

__all__ = ["Draft", "Written", "add_response", "attachment_row", "write_node"]

_SOURCE_LIMIT = 256
_ITEM_LIMIT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A node before it has an id."""

    content: Content
    sources: Sequence[tuple[NodeRow, SourceRole]] = ()
    """In order; the first primary is the parent. Empty for a root."""
    edge_type: EdgeType = EdgeType.CONTINUATION
    edited_from: NodeRow | None = None
    version_of: NodeRow | None = None
    """A node at the position that this one becomes a version at."""
    attachments: Sequence[Item] = ()
    role: Role | None = None
    """Where it differs from the author's."""
    status: Status = Status.COMPLETE
    response: RawResponse | None = None
    choice: int = 0
    author: int | None = None
    """The agent who wrote it, where that is not who acts."""


class Written(NamedTuple):
    """A node just made, as a value and as its row."""

    node: Node
    row: NodeRow


def write_node(scope: Scope, tree: TreeState, draft: Draft) -> Written:
    """Make the node: place, id, hash, rows and counters. The caller records the event."""
    transaction = scope.transaction
    author = scope.agent if draft.author is None else transaction.agent(draft.author)
    check_content(draft.content)
    _check_draft(scope, tree, draft, author)
    key = transaction.take_key(tree)
    ulid, local_id = _name(scope, tree, draft)
    size = measure(plain_text(draft.content))
    place = _place(transaction, tree, draft, key, size)
    parent = _parent(draft)
    role = draft.role or role_of(AGENT_TYPES[author.type])
    response_sha256 = None if draft.response is None else hashlib.sha256(draft.response.body).digest()
    digest = content_hash(
        NodeFacts(
            tree_id=tree.ulid,
            node_id=ulid,
            content=draft.content,
            role=role,
            status=draft.status,
            edge_type=None if parent is None else draft.edge_type,
            sources=[(row.ulid, kind.value, row.hash.hex()) for row, kind in draft.sources],
            edited_from=None if draft.edited_from is None else draft.edited_from.ulid,
            attachments=[(item.id, item.sha256) for item in draft.attachments],
            created_at=scope.stamp,
            author_id=author.ulid,
            response_sha256=None if response_sha256 is None else response_sha256.hex(),
        )
    )
    row = NodeRow(
        tree=tree.key,
        key=key,
        ulid=ulid,
        local_id=local_id,
        position=place.position,
        parent=place.parent,
        depth=place.depth,
        jump=place.jump,
        written_after=None if parent is None or parent.key == parent.position else parent.key,
        edge_type=EDGE_TYPES.index(draft.edge_type),
        edited_from=None if draft.edited_from is None else draft.edited_from.key,
        author=author.key,
        author_type=author.type,
        role=ROLES.index(role),
        kind=KINDS.index(kind_of(draft.content)),
        status=STATUSES.index(draft.status),
        narrow=size.narrow,
        wide=size.wide,
        ruler=place.ruler,
        near_attachments=place.near_attachments,
        near_instruction=place.near_instruction,
        flags=_flags(draft),
        pruned=None,
        hidden=None,
        bookmark_label=None,
        hash=digest,
        created_at=scope.now,
    )
    _count(transaction, tree, row)
    transaction.add_node(row, dump_content(draft.content))
    _add_sources(transaction, row, draft)
    _add_attachments(scope, row, draft.attachments)
    if draft.response is not None and response_sha256 is not None:
        _add_choice(scope, tree, row, draft, response_sha256)
    node = Node(
        id=ulid,
        local_id=local_id,
        tree_id=tree.ulid,
        content=draft.content,
        author_id=author.ulid,
        author_type=AGENT_TYPES[author.type],
        role=role,
        status=draft.status,
        content_hash=digest.hex(),
        created_at=from_microseconds(scope.now),
        edited_from=None if draft.edited_from is None else draft.edited_from.ulid,
        attachments=tuple(draft.attachments),
        edge=None if parent is None else _edge(transaction, tree, ulid, draft),
        depth=place.depth,
    )
    return Written(node, row)


def _parent(draft: Draft) -> NodeRow | None:
    return next((row for row, role in draft.sources if role is SourceRole.PRIMARY), None)


def _check_draft(scope: Scope, tree: TreeState, draft: Draft, author: AgentRow) -> None:
    if draft.sources and _parent(draft) is None:
        raise InvalidInputError("an edge needs a primary source", hint="name the node to continue from")
    if len(draft.sources) > _SOURCE_LIMIT:
        raise LimitExceededError(f"an edge takes at most {_SOURCE_LIMIT} sources, got {len(draft.sources)}")
    if len(draft.attachments) > _ITEM_LIMIT:
        raise LimitExceededError(f"a node takes at most {_ITEM_LIMIT:,} items")
    for item in draft.attachments:
        check_item(item)
    ids = [item.id for item in draft.attachments]
    if len(set(ids)) != len(ids):
        raise InvalidInputError("an item is attached twice", hint="attach each id once")
    for ref in blob_refs(draft.content):
        if ref not in scope.blobs:
            raise NotFoundError(f"no blob {ref[:12]}…", hint="store the bytes first; that gives the ref")
    if draft.response is not None:
        _check_response(draft.response, draft.choice, author)
    if tree.next_key >= 2**31 - 1:
        raise LimitExceededError("the tree is full")


def _check_response(response: RawResponse, choice: int, author: AgentRow) -> None:
    if AGENT_TYPES[author.type] is not AgentType.MODEL:
        raise InvalidInputError(
            f"{author.name!r} is human: only a model's node carries a response",
            hint="name the model agent as author",
        )
    for what, text in (
        ("provider", response.provider),
        ("model", response.model),
        ("request id", response.request_id or ""),
    ):
        check_text(text, what=what, limit=1_000)
    usage = response.usage
    numbers = (usage.prompt, usage.completion, usage.total, usage.cached_read, usage.cached_write)
    for number in (*numbers, response.status_code, choice):
        if number is not None and not 0 <= number < 2**31:
            raise InvalidInputError(f"a response's counts must lie between 0 and {2**31 - 1:,}, got {number}")


def _name(scope: Scope, tree: TreeState, draft: Draft) -> tuple[str, str]:
    transaction = scope.transaction
    if draft.edited_from is not None:
        base = base_of(draft.edited_from.local_id)
        return scope.new_ulid(), transaction.next_primed_id(tree.key, base)
    while True:
        ulid = scope.new_ulid()
        local_id = transaction.free_local_id(tree.key, local_id_candidates(ulid))
        if local_id is not None:
            return ulid, local_id


def _place(transaction: Transaction, tree: TreeState, draft: Draft, key: int, size: Measure) -> Place:
    if draft.version_of is not None:
        first = transaction.node(tree.key, draft.version_of.position)
        return Place(
            first.position,
            first.parent,
            first.depth,
            first.jump,
            first.ruler,
            first.near_attachments,
            first.near_instruction,
        )
    parent = _parent(draft)
    attachments = bool(draft.attachments)
    if parent is None:
        if key != tree.root:
            raise InvalidInputError(
                "a tree has exactly one root", hint="name the node to continue from, or plant another tree"
            )
        return place_of_root(key, size, attachments=attachments)
    if parent.depth >= 10_000_000:
        raise LimitExceededError("the path is too deep")
    first = transaction.node(tree.key, parent.position)
    return place_below(
        first,
        transaction.node(tree.key, first.jump).jump,
        key,
        size,
        attachments=attachments,
        instructions=any(role is SourceRole.INSTRUCTION for _, role in draft.sources),
    )


def _flags(draft: Draft) -> int:
    return (
        (Flag.HAS_SOURCES if len(draft.sources) > 1 else 0)
        | (Flag.HAS_ATTACHMENTS if draft.attachments else 0)
        | (Flag.HAS_RESPONSE if draft.response is not None else 0)
    )


def _count(transaction: Transaction, tree: TreeState, row: NodeRow) -> None:
    """Keep the tree's counters true, at the price of the new node alone."""
    tree.nodes += 1
    tree.changed = True
    if row.edge_type != EDGE_TYPES.index(EdgeType.CONTINUATION) or row.key != row.position:
        return
    tree.depth = max(tree.depth, row.depth)
    if row.parent is None:
        tree.branches = 1
        return
    if transaction.has_live_child(tree.key, row.parent):
        tree.branches += 1
    transaction.note_child(tree.key, row.parent)


def _edge(transaction: Transaction, tree: TreeState, target: str, draft: Draft) -> Edge:
    sources = [Source(row.ulid, role) for row, role in draft.sources]
    if tree.mode is Mode.BUFFER and draft.edge_type is EdgeType.CONTINUATION:
        parent = _parent(draft)
        if parent is not None:
            versions = transaction.versions(tree.key, parent.position)
            others = [transaction.node(tree.key, key).ulid for key in versions]
            index = next(i for i, (row, _) in enumerate(draft.sources) if row is parent)
            sources[index : index + 1] = [Source(ulid, SourceRole.PRIMARY) for ulid in others]
    return Edge(target, draft.edge_type, tuple(sources))


def _add_sources(transaction: Transaction, row: NodeRow, draft: Draft) -> None:
    if len(draft.sources) < 2:
        return
    for ordinal, (source, role) in enumerate(draft.sources):
        transaction.add(
            schema.sources,
            {
                "tree": row.tree,
                "target": row.key,
                "ordinal": ordinal,
                "source": source.key,
                "role": SOURCE_ROLES.index(role),
            },
        )


def _add_attachments(scope: Scope, row: NodeRow, items: Sequence[Item]) -> None:
    transaction = scope.transaction
    rows = [attachment_row(row, ordinal, item, None) for ordinal, item in enumerate(items)]
    for item, attachment in zip(items, rows, strict=True):
        add_body(transaction, row.tree, bytes.fromhex(item.sha256), item.content.encode())
        transaction.add(schema.attachments, attachment)
    if rows:
        scope.note(items_fact(row.ulid, rows))


def attachment_row(row: NodeRow, ordinal: int, item: Item, attached_by: int | None) -> dict[str, Any]:
    return {
        "tree": row.tree,
        "node": row.key,
        "ordinal": ordinal,
        "id": item.id,
        "type": item.type,
        "sha256": bytes.fromhex(item.sha256),
        "recoverable": item.recoverable,
        "attached_by": attached_by,
        "detached_by": None,
    }


def add_response(scope: Scope, tree: TreeState, response: RawResponse, digest: bytes) -> dict[str, Any]:
    """Keep the wire bytes, once for all choices that one response gave; return their row."""
    transaction, responses = scope.transaction, schema.responses
    known = (
        transaction.execute(
            responses.select().where(
                responses.c.tree == tree.key,
                responses.c.sha256 == digest,
                responses.c.request_id.is_not_distinct_from(response.request_id),
            )
        )
        .mappings()
        .first()
    )
    if known is not None:
        return dict(known)
    add_body(transaction, tree.key, digest, response.body)
    usage = response.usage
    row: dict[str, Any] = {
        "tree": tree.key,
        "key": transaction.take_key(tree),
        "sha256": digest,
        "provider": response.provider,
        "model": response.model,
        "request_id": response.request_id,
        "status_code": response.status_code,
        "requested_at": _microseconds(response.requested_at),
        "responded_at": _microseconds(response.responded_at),
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "cached_read": usage.cached_read,
        "cached_write": usage.cached_write,
    }
    transaction.add(responses, row)
    scope.note(response_fact(row))
    return row


def _add_choice(scope: Scope, tree: TreeState, row: NodeRow, draft: Draft, digest: bytes) -> None:
    if draft.response is None:
        return
    response = add_response(scope, tree, draft.response, digest)
    scope.transaction.add(
        schema.node_responses,
        {"tree": tree.key, "node": row.key, "response": response["key"], "choice": draft.choice},
    )
    scope.note(choice_fact(row.ulid, response, draft.choice))


def _microseconds(moment: Any) -> int | None:
    return None if moment is None else to_microseconds(moment)
