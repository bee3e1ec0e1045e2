"""Create nodes: every new node is written here, except imported ones."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, LimitExceededError, NotFoundError
from weft.ids import base_of, sayable_ids
from weft.provenance.chain import NodeFacts, content_hash
from weft.provenance.fingerprints import citations_fingerprint, items_fingerprint
from weft.runtime.operations.due_summaries import queue_new
from weft.runtime.operations.raw_responses import Answer, check_response, keep_response
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.packed_bodies import add_body
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
    PositionRow,
    TreeState,
    dump_content,
    place_below,
    place_of_root,
)
from weft.store.transaction import Transaction
from weft.store.tree_queries import comes_from
from weft.tree.attempt import RawResponse
from weft.tree.citation import Citation
from weft.tree.content import Content, blob_refs, check_content, is_blank, kind_of
from weft.tree.edge import Edge, EdgeType, Source, SourceRole
from weft.tree.item import ITEM_LIMIT, Item, check_item, item_about
from weft.tree.json_names import from_microseconds, iso_moment
from weft.tree.measure import Measure, measure_content
from weft.tree.node import Node, Role, Status, role_of
from weft.tree.tree import Mode

_SOURCE_LIMIT = 256


class Draft(NamedTuple):
    """A node before it has an id."""

    content: Content
    sources: Sequence[tuple[NodeRow, SourceRole]] = ()
    """In order; the first primary is the parent. Empty for a root."""
    edge_type: EdgeType = EdgeType.CONTINUATION
    edited_from: NodeRow | None = None
    version_of: NodeRow | None = None
    """A node at the position that this one becomes a version at."""
    joined: bool = False
    """Whether its text is the original's and another node's; the event names both."""
    attachments: Sequence[Item] = ()
    role: Role | None = None
    """Where it differs from the author's."""
    status: Status = Status.COMPLETE
    response: RawResponse | None = None
    choice: int = 0
    author: int | None = None
    """The agent that wrote it, if not the acting one."""
    citations: Sequence[Citation] = ()
    written_at: int | None = None
    """When it was written, if not now: histories bring their own times, and ask for no summaries."""

    @property
    def parent(self) -> NodeRow | None:
        return next((row for row, role in self.sources if role is SourceRole.PRIMARY), None)


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
    parent = draft.parent
    if parent is not None and draft.version_of is None and draft.edge_type is EdgeType.CONTINUATION:
        # Annotations and versions extend nothing.
        scope.refuse_if_leased(tree, parent.position)
    key = transaction.take_key(tree)
    ulid, local_id = _name(scope, tree, draft)
    size = measure_content(draft.content)
    role = draft.role or role_of(AGENT_TYPES[author.type])
    instructs = role is Role.SYSTEM or any(kind is SourceRole.INSTRUCTION for _, kind in draft.sources)
    place = _place(transaction, tree, draft, key, size, instructs=instructs)
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
            created_at=scope.stamp if draft.written_at is None else iso_moment(draft.written_at),
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
        created_at=scope.now if draft.written_at is None else draft.written_at,
    )
    _count(transaction, tree, row)
    transaction.add_node(row, dump_content(draft.content))
    _add_sources(transaction, row, draft)
    _add_attachments(scope, row, draft.attachments)
    _add_citations(scope, row, draft.citations)
    if draft.written_at is None:
        queue_new(transaction, tree, row, now=scope.now)
    if draft.response is not None and response_sha256 is not None:
        keep_response(scope, tree, row, Answer(draft.response, response_sha256, draft.choice))
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
        created_at=from_microseconds(row.created_at),
        edited_from=None if draft.edited_from is None else draft.edited_from.ulid,
        attachments=tuple(draft.attachments),
        citations=tuple(draft.citations),
        edge=None if parent is None else _edge(transaction, tree, ulid, draft),
        depth=place.depth,
    )
    return Written(node, row)


def _check_draft(scope: Scope, tree: TreeState, draft: Draft, author: AgentRow) -> None:
    if draft.sources and draft.parent is None:
        raise InvalidInputError("an edge needs a primary source", hint="name the node to continue from")
    if len(draft.sources) > _SOURCE_LIMIT:
        raise LimitExceededError(f"an edge takes at most {_SOURCE_LIMIT} sources, got {len(draft.sources)}")
    _check_sources(scope.transaction, tree, draft)
    if draft.attachments:
        _check_items(draft.attachments)
    check_media(scope, [*blob_refs(draft.content), *image_refs(draft.attachments)])
    if draft.response is not None:
        check_response(draft.response, draft.choice, author)
    if tree.next_key >= 2**31 - 1:
        raise LimitExceededError("the tree is full")


def _check_items(items: Sequence[Item]) -> None:
    if len(items) > ITEM_LIMIT:
        raise LimitExceededError(f"a node takes at most {ITEM_LIMIT:,} items")
    for item in items:
        check_item(item)
    if len({item.id for item in items}) != len(items):
        raise InvalidInputError("an item is attached twice", hint="attach each id once")


def image_refs(items: Sequence[Item]) -> list[str]:
    return [image.ref for item in items for image in item.images]


def check_media(scope: Scope, refs: Sequence[str]) -> None:
    """Refuse references to bytes that are not stored."""
    if refs:
        # Media are removed under this lock, so what is there now will be there when this is committed.
        scope.transaction.grove_state()
    for ref in refs:
        if ref not in scope.blobs:
            raise NotFoundError(f"no blob {ref[:12]}…", hint=Hint(HintKind.STORE_BYTES))


def _check_sources(transaction: Transaction, tree: TreeState, draft: Draft) -> None:
    """Refuse a position twice as primary source, and a version that comes from itself."""
    if len(draft.sources) < 2:
        return
    places: set[int] = set()
    for row, role in draft.sources:
        if role is SourceRole.PRIMARY and row.position in places:
            raise InvalidInputError(
                f"[{row.local_id}] is given as a source twice", hint="name each place once"
            )
        if role is SourceRole.PRIMARY:
            places.add(row.position)
    if draft.version_of is None:
        return
    here = draft.version_of.position
    suspects = [row for row, _ in draft.sources if row.position != draft.version_of.parent]
    while suspects and comes_from(transaction, tree.key, [row.position for row in suspects], here):
        if len(suspects) == 1:
            raise InvalidInputError(
                f"[{suspects[0].local_id}] comes from [{draft.version_of.local_id}]: "
                "it cannot be a source of it",
                hint="sources come before what is made from them",
            )
        # Bisect to the one to name: a few more queries, and only for an error.
        half = suspects[: len(suspects) // 2]
        in_half = comes_from(transaction, tree.key, [row.position for row in half], here)
        suspects = half if in_half else suspects[len(half) :]


def _name(scope: Scope, tree: TreeState, draft: Draft) -> tuple[str, str]:
    transaction = scope.transaction
    if draft.edited_from is not None:
        base = base_of(draft.edited_from.local_id)
        return scope.new_ulid(), transaction.next_primed_id(tree.key, base)
    while True:
        ulid = scope.new_ulid()
        local_id = transaction.free_local_id(tree.key, sayable_ids(ulid))
        if local_id is not None:
            return ulid, local_id


def _place(
    transaction: Transaction, tree: TreeState, draft: Draft, key: int, size: Measure, *, instructs: bool
) -> PositionRow:
    if draft.version_of is not None:
        first = transaction.node(tree.key, draft.version_of.position)
        return PositionRow(
            first.position,
            first.parent,
            first.depth,
            first.jump,
            first.ruler,
            first.near_attachments,
            first.near_instruction,
        )
    parent, attachments = draft.parent, bool(draft.attachments)
    if parent is None:
        if key != tree.root:
            raise InvalidInputError(
                "a tree has exactly one root", hint="name the node to continue from, or plant another tree"
            )
        return place_of_root(key, size, attachments=attachments, instructs=instructs)
    if parent.depth >= 10_000_000:
        raise LimitExceededError("the path is too deep")
    first = transaction.node(tree.key, parent.position)
    return place_below(
        first,
        transaction.node(tree.key, first.jump).jump,
        key,
        size,
        attachments=attachments,
        instructs=instructs,
    )


def _flags(draft: Draft) -> int:
    return (
        (Flag.HAS_SOURCES if len(draft.sources) > 1 else 0)
        | (Flag.HAS_ATTACHMENTS if draft.attachments else 0)
        | (Flag.HAS_RESPONSE if draft.response is not None else 0)
        | (Flag.JOINED if draft.joined else 0)
        | (Flag.BLANK if is_blank(draft.content) else 0)
        | (Flag.HAS_CITATIONS if draft.citations else 0)
    )


def _count(transaction: Transaction, tree: TreeState, row: NodeRow) -> None:
    """Update the tree's counters for the new node alone."""
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
    parent = draft.parent
    if tree.mode is Mode.BUFFER and draft.edge_type is EdgeType.CONTINUATION and parent is not None:
        # In a buffer the parent represents every version of its position.
        versions = transaction.versions(tree.key, parent.position)
        rows = (transaction.node(tree.key, key) for key in versions)
        index = sources.index(Source(parent.ulid, SourceRole.PRIMARY))
        sources[index : index + 1] = [
            Source(row.ulid, SourceRole.PRIMARY) for row in rows if row.hidden is None
        ]
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
        scope.add_fingerprint(items_fingerprint(row.ulid, rows))


def _add_citations(scope: Scope, row: NodeRow, citations: Sequence[Citation]) -> None:
    place = {"tree": row.tree, "node": row.key}
    rows = [{**place, "ordinal": at, **asdict(each)} for at, each in enumerate(citations)]
    for each in rows:
        scope.transaction.add(schema.citations, each)
    if rows:
        scope.add_fingerprint(citations_fingerprint(row.ulid, rows))


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
        "about": item_about(item),
    }
