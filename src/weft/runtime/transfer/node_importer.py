"""Nodes of a file: checked against their hashes, and given their place in the tree.

Nothing that can be computed is taken from the file: depth, jumps, measures and pointers are
computed. A node may name only nodes before it, which rules out cycles and missing sources.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from weft.errors import InvalidInputError, LimitExceededError
from weft.interop.weft_json import Record
from weft.provenance.chain import NodeFacts, content_hash
from weft.runtime.operations.node_writer import dump_content
from weft.runtime.transfer.checked_fields import ULID, Row
from weft.store.rows import AGENT_TYPES, EDGE_TYPES, KINDS, ROLES, SOURCE_ROLES, STATUSES, Flag, NodeRow
from weft.tree.agent import AgentType
from weft.tree.content import (
    Content,
    Image,
    JsonValue,
    Text,
    blob_refs,
    is_blank,
    kind_of,
)
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.item import about_item
from weft.tree.json_names import iso_moment
from weft.tree.measure import measure_content
from weft.tree.node import Role
from weft.tree.path import jump_depth
from weft.tree.tree import Mode

__all__ = ["CheckedNode", "KnownAgent", "NodeImporter"]

_LOCAL_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{4,8}'*\Z")
_DEPTH_LIMIT = 10_000_000
_NONE = 0
"""Keys begin at 1."""


class KnownAgent(NamedTuple):
    """An agent of the file: its key here, and its type."""

    key: int
    type: int


class CheckedNode(NamedTuple):
    """A node whose hash holds."""

    row: NodeRow
    content: str
    sources: Sequence[tuple[int, int]]
    """(key, role) where there are several."""


class _Place(NamedTuple):
    position: int
    parent: int
    depth: int
    jump: int
    ruler: int
    near_attachments: int
    near_instruction: int


class _Source(NamedTuple):
    key: int
    id: str
    role: SourceRole


class NodeImporter:
    """One tree while its nodes are imported: a hundred-odd bytes for each, however long its text."""

    def __init__(
        self,
        tree: int,
        ulid: str,
        mode: Mode,
        agents: dict[str, KnownAgent],
        *,
        bodies: set[bytes],
        response_hash: Callable[[int], str],
        has_blob: Callable[[str], bool],
    ) -> None:
        self._tree = tree
        self._ulid = ulid
        self._mode = mode
        self._agents = agents
        self._bodies = bodies
        self._response_hash = response_hash
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

    def key_of(self, value: JsonValue, name: str) -> int:
        """The node that a field names."""
        key = self.keys.get(ULID.read(value, name))
        if key is None:
            raise InvalidInputError(f"{name} names {value}, which is not a node before this one")
        return key

    def add(self, record: Record, values: Row) -> CheckedNode:
        """The next node; refused, with the reason, unless its hash holds."""
        key = self.count + 1
        ulid, local_id, content = values["ulid"], values["local_id"], values["content"]
        self._check_names(ulid, local_id)
        author = self._agents[str(record["authorId"])]
        sources = self._sources(values)
        self._check_content(content)
        self._check_items(values["attachments"])
        if values["response"] is not None and AGENT_TYPES[author.type] is not AgentType.MODEL:
            raise InvalidInputError("only a model's node carries a response")
        self._check_hash(record, values, sources)
        size = measure_content(content)
        place = self._place(key, sources, values, size.tokens)
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
            edge_type=_edge_type(values),
            edited_from=values["edited_from"],
            author=author.key,
            author_type=author.type,
            role=values["role"],
            kind=KINDS.index(kind_of(content)),
            status=values["status"],
            narrow=size.narrow,
            wide=size.wide,
            ruler=place.ruler,
            near_attachments=place.near_attachments or None,
            near_instruction=place.near_instruction or None,
            flags=_flags(values),
            pruned=values["pruned"],
            hidden=values["hidden"],
            bookmark_label=values["bookmark_label"],
            hash=values["hash"],
            created_at=values["created_at"],
        )
        self._remember(row, place, has_items=bool(values["attachments"]))
        several = [(source.key, SOURCE_ROLES.index(source.role)) for source in sources]
        return CheckedNode(row, dump_content(content), several if len(several) > 1 else ())

    def moved_pointers(self) -> dict[int, int]:
        """Nodes whose nearest items changed with a node that was imported after them."""
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

    def _check_names(self, ulid: str, local_id: str) -> None:
        if ulid in self.keys:
            raise InvalidInputError(f"node {ulid} is there twice")
        if _LOCAL_ID.match(local_id) is None:
            raise InvalidInputError(f"{local_id[:40]!r} is not a local id")
        if local_id in self._local_ids:
            raise InvalidInputError(f"local id [{local_id}] is there twice")

    def _sources(self, values: Row) -> list[_Source]:
        sources: list[_Source] = []
        for index, item in enumerate(values["sources"]):
            ulid = item["id"]
            source = _Source(self.key_of(ulid, f"sources[{index}]"), ulid, SOURCE_ROLES[item["role"]])
            if item["hash"].hex() != self._hash(source.key):
                raise InvalidInputError(
                    f"the node was written after another {ulid} than this file has: its source differs",
                    hint="the file was changed after it was exported; nothing was imported",
                )
            sources.append(source)
        if sources and _parent_of(sources) is None:
            raise InvalidInputError("an edge needs a primary source")
        if (values["edge_type"] is None) != (not sources):
            raise InvalidInputError("a node has an edgeType if it has sources, and only then")
        return sources

    def _check_content(self, content: Content) -> None:
        if not isinstance(content, Text):
            for ref in blob_refs(content):
                if not self._has_blob(ref):
                    raise InvalidInputError(f"content points to blob {ref[:12]}…, which is not in the file")

    def _check_items(self, items: Sequence[Row]) -> None:
        for item in items:
            for image in cast("tuple[Image, ...]", about_item(item["about"]).get("images", ())):
                if not self._has_blob(image.ref):
                    raise InvalidInputError(f"blob {image.ref[:12]}… is not in the file")
            if item["sha256"] not in self._bodies:
                raise InvalidInputError(f"the body of {item['id'][:60]!r} is not in the file")

    def _check_hash(self, record: Record, values: Row, sources: Sequence[_Source]) -> None:
        response, edge_type = values["response"], values["edge_type"]
        facts = NodeFacts(
            tree_id=self._ulid,
            node_id=values["ulid"],
            content=values["content"],
            role=ROLES[values["role"]],
            status=STATUSES[values["status"]],
            edge_type=None if edge_type is None else EDGE_TYPES[edge_type],
            sources=[(source.id, source.role.value, self._hash(source.key)) for source in sources],
            edited_from=None if values["edited_from"] is None else str(record["editedFrom"]),
            attachments=[
                (item["id"], item["sha256"].hex())
                for item in values["attachments"]
                if item["attached_by"] is None
            ],
            created_at=iso_moment(values["created_at"]),
            author_id=str(record["authorId"]),
            response_sha256=None if response is None else self._response_hash(response),
        )
        if content_hash(facts) != values["hash"]:
            differs = _differing_input(facts, values["hash"], self._agents)
            raise InvalidInputError(
                f"node [{values['local_id']}] {values['ulid']} does not match its hash: {differs} differs",
                hint="the file was changed after it was exported; nothing was imported",
            )

    def _place(self, key: int, sources: Sequence[_Source], values: Row, tokens: int) -> _Place:
        parent = _parent_of(sources) or _NONE
        above = self.positions[parent]
        if values["version_of"] is not None:
            return self._place_of_version(values, above)
        own = key if values["attachments"] else _NONE
        instructs = ROLES[values["role"]] is Role.SYSTEM or any(
            each.role is SourceRole.INSTRUCTION for each in sources
        )
        instruction = key if instructs else _NONE
        if parent == _NONE:
            if key != 1:
                raise InvalidInputError("a tree has exactly one root, and it comes first")
            return _Place(key, _NONE, 0, key, tokens, own, instruction)
        depth = self._depths[above] + 1
        if depth > _DEPTH_LIMIT:
            raise LimitExceededError("the path is too deep")
        jump = above if jump_depth(depth) == depth - 1 else self._jumps[self._jumps[above]]
        return _Place(
            key,
            above,
            depth,
            jump,
            self._rulers[above] + tokens,
            own or self._attachments[above],
            instruction or self._instructions[above],
        )

    def _place_of_version(self, values: Row, above: int) -> _Place:
        """Versions have everything in common but their content."""
        first: int = values["version_of"]
        fits = self.positions[first] == first and self._parents[first] == above
        same_edge = self._edges[first] == _edge_type(values)
        if self._mode is not Mode.BUFFER or not fits or not same_edge:
            raise InvalidInputError(f"node [{values['local_id']}] cannot be a version of the node it names")
        return _Place(
            first,
            self._parents[first],
            self._depths[first],
            self._jumps[first],
            self._rulers[first],
            self._attachments[first],
            self._instructions[first],
        )

    def _remember(self, row: NodeRow, place: _Place, *, has_items: bool) -> None:
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


def _parent_of(sources: Sequence[_Source]) -> int | None:
    return next((source.key for source in sources if source.role is SourceRole.PRIMARY), None)


def _edge_type(values: Row) -> int:
    """A root has no edge; its row says continuation."""
    return EDGE_TYPES.index(EdgeType.CONTINUATION) if values["edge_type"] is None else values["edge_type"]


def _flags(values: Row) -> int:
    bits = (
        (values["excluded"], Flag.EXCLUDED),
        (values["bookmarked"], Flag.BOOKMARKED),
        (values["joined"], Flag.JOINED),
        (len(values["sources"]) > 1, Flag.HAS_SOURCES),
        (values["attachments"], Flag.HAS_ATTACHMENTS),
        (values["response"] is not None, Flag.HAS_RESPONSE),
        (is_blank(values["content"]), Flag.BLANK),
    )
    return sum(bit for is_set, bit in bits if is_set)


def _differing_input(facts: NodeFacts, digest: bytes, authors: Iterable[str]) -> str:
    """The input of a hash that was changed, if another value in its place gives the hash."""
    for name, other in _alternatives(facts, authors):
        if content_hash(other) == digest:
            return name
    return "content or createdAt"


def _alternatives(facts: NodeFacts, authors: Iterable[str]) -> Iterator[tuple[str, NodeFacts]]:
    for role in ROLES:
        yield "role", facts._replace(role=role)
    for status in STATUSES:
        yield "status", facts._replace(status=status)
    if facts.edge_type is not None:
        for edge_type in EDGE_TYPES:
            yield "edgeType", facts._replace(edge_type=edge_type)
    for author in authors:
        yield "authorId", facts._replace(author_id=author)
    if facts.edited_from is not None:
        yield "editedFrom", facts._replace(edited_from=None)
    if facts.response_sha256 is not None:
        yield "response", facts._replace(response_sha256=None)
    if facts.attachments:
        yield "attachments", facts._replace(attachments=())
    if len(facts.sources) > 1:
        yield "sources", facts._replace(sources=facts.sources[:1])
