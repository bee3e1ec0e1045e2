"""Nodes as they come out of a file: put in their place, and checked against their hashes.

Nothing that can be worked out is believed: depth, jumps, measures and pointers are made
anew. A node may name only nodes before it, which rules out cycles and dangling sources.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from weft.errors import LimitExceededError
from weft.provenance.chain import NodeFacts, content_hash
from weft.runtime.moving.differing import differing_input
from weft.runtime.moving.fields import Fields
from weft.runtime.operations.node_writer import dump_content
from weft.store.rows import AGENT_TYPES, EDGE_TYPES, KINDS, ROLES, SOURCE_ROLES, STATUSES, Flag, NodeRow
from weft.tree.agent import AgentType
from weft.tree.content import (
    Content,
    Image,
    Text,
    blob_refs,
    check_content,
    content_from_wire,
    content_to_wire,
    is_blank,
    kind_of,
)
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.item import about_item
from weft.tree.measure import measure_content
from weft.tree.node import Role
from weft.tree.path import jump_depth
from weft.tree.tree import Mode
from weft.tree.wire import from_microseconds, iso

__all__ = ["Grown", "Growth", "Item", "KnownAgent", "Place"]

_LOCAL_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{4,8}'*\Z")
_LOCAL_ID_LIMIT = 10_000
_SOURCE_LIMIT = 256
_ITEM_LIMIT = 10_000
_ABOUT_LIMIT = 200_000
_DEPTH_LIMIT = 10_000_000
_LABEL_LIMIT = 500
_NONE = 0
"""Keys begin at 1."""


class KnownAgent(NamedTuple):
    key: int
    type: int


class Item(NamedTuple):
    id: str
    type: str
    sha256: bytes
    recoverable: bool
    attached_by: int | None
    detached_by: int | None
    about: str | None = None


class Grown(NamedTuple):
    """A node that holds, with the rows that go with it."""

    row: NodeRow
    content: str
    summary: str | None
    sources: Sequence[tuple[int, int]]
    """(key, role) where there are several."""
    items: Sequence[Item]
    response: int | None
    choice: int


class Place(NamedTuple):
    position: int
    parent: int
    depth: int
    jump: int
    ruler: int
    near_attachments: int
    near_instruction: int


@dataclass(slots=True)
class _Source:
    key: int
    id: str
    role: SourceRole


class _Shape(NamedTuple):
    """What decides about a node's place, besides its sources."""

    local_id: str
    edge_type: EdgeType
    tokens: int
    has_items: bool
    role: Role


def _parent_of(sources: Sequence[_Source]) -> int | None:
    return next((source.key for source in sources if source.role is SourceRole.PRIMARY), None)


class Growth:
    """One tree while its nodes come in: a hundred-odd bytes for each, whatever it says."""

    def __init__(
        self,
        tree: int,
        ulid: str,
        mode: Mode,
        agents: dict[str, KnownAgent],
        *,
        bodies: set[bytes],
        responses: list[bytes],
        has_blob: Callable[[str], bool],
    ) -> None:
        self._tree = tree
        self._ulid = ulid
        self._mode = mode
        self._agents = agents
        self._bodies = bodies
        self._responses = responses
        self._has_blob = has_blob
        self.keys: dict[str, int] = {}
        self._local_ids: set[str] = set()
        self.positions = array("i", [_NONE])
        self._parents = array("i", [_NONE])
        self._depths = array("i", [_NONE])
        self._jumps = array("i", [_NONE])
        self._rulers = array("q", [_NONE])
        self._attachments = array("i", [_NONE])
        self._instructions = array("i", [_NONE])
        self._edges = bytearray(1)
        self._with_items = bytearray(1)
        self._hashes = bytearray(32)

    @property
    def count(self) -> int:
        return len(self.positions) - 1

    def key_of(self, fields: Fields, name: str) -> int:
        """A node that a record names."""
        return self._known(fields, fields.ulid(name), name)

    def add(self, fields: Fields) -> Grown:
        """The next node; refused, with what is wrong about it, unless its hash holds."""
        key = self.count + 1
        ulid, local_id = fields.ulid("id"), self._local_id(fields)
        if ulid in self.keys:
            raise fields.wrong(f"node {ulid} is there twice")
        where = f"{fields.where}: node [{local_id}]"
        sources = self._sources(fields)
        author_id = fields.ulid("authorId")
        author = self._agents.get(author_id)
        if author is None:
            raise fields.wrong(f"node [{local_id}] is by an agent that is not in the file")
        edge_type = fields.choice("edgeType", EDGE_TYPES) if sources else self._no_edge(fields)
        content = self._content(fields, where)
        items = self._items(fields)
        edited_from = fields.optional_ulid("editedFrom")
        edited_key = None if edited_from is None else self._known(fields, edited_from, "editedFrom")
        response = self._response(fields, author)
        created_at = fields.time("createdAt")
        role, status = fields.choice("role", ROLES), fields.choice("status", STATUSES)
        digest = fields.digest("contentHash")
        facts = NodeFacts(
            tree_id=self._ulid,
            node_id=ulid,
            content=content,
            role=role,
            status=status,
            edge_type=None if not sources else edge_type,
            sources=[(source.id, source.role.value, self._hash(source.key)) for source in sources],
            edited_from=edited_from,
            attachments=[(item.id, item.sha256.hex()) for item in items if item.attached_by is None],
            created_at=iso(from_microseconds(created_at)),
            author_id=author_id,
            response_sha256=None if response is None else self._responses[response - 1].hex(),
        )
        if content_hash(facts) != digest:
            differs = differing_input(facts, digest, self._agents)
            raise fields.wrong(
                f"node [{local_id}] {ulid} does not match its hash: {differs} differs",
                hint="the file was changed after it was exported; nothing was imported",
            )
        size = measure_content(content)
        place = self._place(fields, key, sources, _Shape(local_id, edge_type, size.tokens, bool(items), role))
        parent = _parent_of(sources)
        row = NodeRow(
            tree=self._tree,
            key=key,
            ulid=ulid,
            local_id=local_id,
            position=place.position,
            parent=place.parent or None,
            depth=place.depth,
            jump=place.jump,
            written_after=None if parent is None or self.positions[parent] == parent else parent,
            edge_type=EDGE_TYPES.index(edge_type),
            edited_from=edited_key,
            author=author.key,
            author_type=author.type,
            role=ROLES.index(role),
            kind=KINDS.index(kind_of(content)),
            status=STATUSES.index(status),
            narrow=size.narrow,
            wide=size.wide,
            ruler=place.ruler,
            near_attachments=place.near_attachments or None,
            near_instruction=place.near_instruction or None,
            flags=_flags(fields, len(sources), has_items=bool(items), answered=response is not None)
            | (Flag.BLANK if is_blank(content) else 0),
            pruned=fields.optional_mark("pruned"),
            hidden=fields.optional_mark("hidden"),
            bookmark_label=fields.optional_text("bookmarkLabel", limit=_LABEL_LIMIT),
            hash=digest,
            created_at=created_at,
        )
        choice = fields.optional_count("choice") or 0
        summary = fields.optional_text("summary")
        fields.done()
        self._keep(row, place, has_items=bool(items))
        several = [(source.key, SOURCE_ROLES.index(source.role)) for source in sources]
        return Grown(
            row, dump_content(content), summary, several if len(several) > 1 else (), items, response, choice
        )

    def moved_pointers(self) -> dict[int, int]:
        """Nodes whose nearest items turned out to be others than it seemed when they came in."""
        moved: dict[int, int] = {}
        near = array("i", [_NONE]) * len(self.positions)
        for key in range(1, len(self.positions)):
            position = self.positions[key]
            if position == key:
                near[key] = key if self._with_items[key] else near[self._parents[key]]
            else:
                near[key] = near[position]
            if near[key] != self._attachments[key]:
                moved[key] = near[key]
        return moved

    def _known(self, fields: Fields, ulid: str, name: str) -> int:
        key = self.keys.get(ulid)
        if key is None:
            raise fields.wrong(f"{name} names {ulid}, which is not a node before this one")
        return key

    def _local_id(self, fields: Fields) -> str:
        local_id = fields.text("localId", limit=_LOCAL_ID_LIMIT)
        if _LOCAL_ID.match(local_id) is None:
            raise fields.wrong(f"{local_id[:40]!r} is not a local id")
        if local_id in self._local_ids:
            raise fields.wrong(f"local id [{local_id}] is there twice")
        return local_id

    def _sources(self, fields: Fields) -> list[_Source]:
        found: list[_Source] = []
        for item in fields.many("sources", limit=_SOURCE_LIMIT):
            ulid = item.ulid("id")
            source = _Source(self._known(item, ulid, "id"), ulid, item.choice("role", SOURCE_ROLES))
            if item.digest("hash").hex() != self._hash(source.key):
                raise item.wrong(
                    f"the node was written after another {ulid} than this file has: its source differs",
                    hint="the file was changed after it was exported; nothing was imported",
                )
            item.done()
            found.append(source)
        if found and not any(source.role is SourceRole.PRIMARY for source in found):
            raise fields.wrong("an edge needs a primary source")
        return found

    def _no_edge(self, fields: Fields) -> EdgeType:
        if fields.get("edgeType") is not None:
            raise fields.wrong("a node without sources has no edge")
        return EdgeType.CONTINUATION

    def _content(self, fields: Fields, where: str) -> Content:
        value = fields.get("content")
        content = content_from_wire(value, path=f"{where}: content")
        check_content(content)
        if content_to_wire(content) != value:
            raise fields.wrong("content holds something that is not known here")
        if not isinstance(content, Text):
            for ref in blob_refs(content):
                if not self._has_blob(ref):
                    raise fields.wrong(f"content points to blob {ref[:12]}…, which is not in the file")
        return content

    def _items(self, fields: Fields) -> list[Item]:
        found: list[Item] = []
        for item in fields.many("attachments", limit=_ITEM_LIMIT):
            kept = Item(
                item.text("id", limit=4_096),
                item.text("type", limit=64),
                item.digest("sha256"),
                item.get("recoverable") is None or item.flag("recoverable"),
                item.optional_mark("attachedBy"),
                item.optional_mark("detachedBy"),
                item.optional_text("about", limit=_ABOUT_LIMIT),
            )
            for image in cast("tuple[Image, ...]", about_item(kept.about).get("images", ())):
                if not self._has_blob(image.ref):
                    raise item.wrong(f"blob {image.ref[:12]}… is not in the file")
            if kept.sha256 not in self._bodies:
                raise item.wrong(f"the body of {kept.id[:60]!r} is not in the file")
            item.done()
            found.append(kept)
        return found

    def _response(self, fields: Fields, author: KnownAgent) -> int | None:
        number = fields.optional_count("response")
        if number is None:
            return None
        if not 1 <= number <= len(self._responses):
            raise fields.wrong(f"response {number} is not in the file")
        if AGENT_TYPES[author.type] is not AgentType.MODEL:
            raise fields.wrong("only a model's node carries a response")
        return number

    def _place(self, fields: Fields, key: int, sources: Sequence[_Source], node: "_Shape") -> Place:
        parent = _parent_of(sources) or _NONE
        above = self.positions[parent]
        first_id = fields.optional_ulid("versionOf")
        if first_id is not None:
            return self._place_of_version(fields, first_id, above, node)
        own = key if node.has_items else _NONE
        instructs = node.role is Role.SYSTEM or any(each.role is SourceRole.INSTRUCTION for each in sources)
        told = key if instructs else _NONE
        if parent == _NONE:
            if key != 1:
                raise fields.wrong("a tree has exactly one root, and it comes first")
            return Place(key, _NONE, 0, key, node.tokens, own, told)
        depth = self._depths[above] + 1
        if depth > _DEPTH_LIMIT:
            raise LimitExceededError(f"{fields.where}: the path is too deep")
        jump = above if jump_depth(depth) == depth - 1 else self._jumps[self._jumps[above]]
        return Place(
            key,
            above,
            depth,
            jump,
            self._rulers[above] + node.tokens,
            own or self._attachments[above],
            told or self._instructions[above],
        )

    def _place_of_version(self, fields: Fields, first_id: str, above: int, node: "_Shape") -> Place:
        """Versions share everything but what they say."""
        first = self._known(fields, first_id, "versionOf")
        fits = self.positions[first] == first and self._parents[first] == above
        same_edge = EDGE_TYPES[self._edges[first]] is node.edge_type
        if self._mode is not Mode.BUFFER or not fits or not same_edge:
            raise fields.wrong(f"node [{node.local_id}] cannot be a version of {first_id}")
        return Place(
            first,
            self._parents[first],
            self._depths[first],
            self._jumps[first],
            self._rulers[first],
            self._attachments[first],
            self._instructions[first],
        )

    def _keep(self, row: NodeRow, place: Place, *, has_items: bool) -> None:
        self.keys[row.ulid] = row.key
        self._local_ids.add(row.local_id)
        self.positions.append(place.position)
        self._parents.append(place.parent)
        self._depths.append(place.depth)
        self._jumps.append(place.jump)
        self._rulers.append(place.ruler)
        self._attachments.append(place.near_attachments)
        self._instructions.append(place.near_instruction)
        self._edges.append(row.edge_type)
        self._with_items.append(has_items)
        if has_items:
            self._with_items[place.position] = 1
        self._hashes += row.hash

    def _hash(self, key: int) -> str:
        return self._hashes[key * 32 : key * 32 + 32].hex()


def _flags(fields: Fields, sources: int, *, has_items: bool, answered: bool) -> int:
    bits: Iterable[tuple[bool, int]] = (
        (fields.flag("excluded"), Flag.EXCLUDED),
        (fields.flag("bookmarked"), Flag.BOOKMARKED),
        (fields.flag("joined"), Flag.JOINED),
        (sources > 1, Flag.HAS_SOURCES),
        (has_items, Flag.HAS_ATTACHMENTS),
        (answered, Flag.HAS_RESPONSE),
    )
    return sum(bit for there, bit in bits if there)


def item_rows(grown: Grown) -> list[dict[str, Any]]:
    """The rows of a node's items."""
    return [
        {"tree": grown.row.tree, "node": grown.row.key, "ordinal": ordinal, **item._asdict()}
        for ordinal, item in enumerate(grown.items)
    ]
