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
from weft.runtime.transfer.import_target import ImportTarget
from weft.runtime.transfer.record_specs import NODE
from weft.store import schema
from weft.store.rows import (
    AGENT_TYPES,
    EDGE_TYPES,
    KINDS,
    ROLES,
    SOURCE_ROLES,
    STATUSES,
    Flag,
    PositionRow,
    place_below,
    place_of_root,
)
from weft.tree.agent import AgentType
from weft.tree.content import Content, Image, Text, blob_refs, is_blank, kind_of
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.item import about_item
from weft.tree.json import JsonValue
from weft.tree.json_names import iso_moment
from weft.tree.measure import Measure, measure_content
from weft.tree.node import Role
from weft.tree.tree import Mode

_LOCAL_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{4,8}'*\Z")
_DEPTH_LIMIT = 10_000_000
_NONE = 0
"""Keys begin at 1."""
_FILE_COLUMNS = NODE.columns & set(schema.nodes.c.keys())
"""Columns of a node that are in the file; the others are computed."""


class KnownAgent(NamedTuple):
    """An agent of the file: its key here, and its type."""

    key: int
    type: int


class _Source(NamedTuple):
    key: int
    id: str
    role: SourceRole


class NodeImporter:
    """One tree while its nodes are imported: a hundred-odd bytes for each, however long its text."""

    def __init__(
        self,
        target: ImportTarget,
        ulid: str,
        mode: Mode,
        agents: dict[str, KnownAgent],
        *,
        bodies: set[bytes],
        response_hash: Callable[[int], str],
        has_blob: Callable[[str], bool],
    ) -> None:
        self._target = target
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

    def add(self, record: Record, values: Row) -> None:
        """The next node; refused, with the reason, unless its hash holds."""
        self._check_names(values["ulid"], values["local_id"])
        author = self._agents[str(record["authorId"])]
        sources = self._sources(values)
        self._check_content(values["content"])
        self._check_items(values["attachments"])
        if values["response"] is not None and AGENT_TYPES[author.type] is not AgentType.MODEL:
            raise InvalidInputError("only a model's node carries a response")
        self._check_hash(record, values, sources)
        size = measure_content(values["content"])
        place = self._place(sources, values, size)
        parent = _parent_of(sources)
        row: Row = {name: values[name] for name in _FILE_COLUMNS} | place._asdict()
        row |= {
            "tree": values["tree"],
            "key": self.count + 1,
            "written_after": None if parent is None or self.positions[parent] == parent else parent,
            "edge_type": _edge_type(values),
            "author_type": author.type,
            "kind": KINDS.index(kind_of(values["content"])),
            "narrow": size.narrow,
            "wide": size.wide,
            "flags": _flags(values),
        }
        self._remember(row, place, has_items=bool(values["attachments"]))
        self._write(row, values, sources)

    def _write(self, row: Row, values: Row, sources: Sequence[_Source]) -> None:
        target, place = self._target, {"tree": row["tree"], "node": row["key"]}
        target.add(schema.nodes, row)
        text = {"content": dump_content(values["content"]), "summary": values["summary"]}
        target.add(schema.texts, {**place, **text})
        for ordinal, source in enumerate(sources if len(sources) > 1 else ()):
            edge = {"tree": row["tree"], "target": row["key"], "ordinal": ordinal}
            role = SOURCE_ROLES.index(source.role)
            target.add(schema.sources, {**edge, "source": source.key, "role": role})
        for ordinal, item in enumerate(values["attachments"]):
            target.add(schema.attachments, {**place, "ordinal": ordinal, **item})
        for ordinal, citation in enumerate(values["citations"]):
            target.add(schema.citations, {**place, "ordinal": ordinal, **citation})
        if values["response"] is not None:
            answer = {"response": values["response"], "choice": values["choice"] or 0}
            target.add(schema.node_responses, {**place, **answer})

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
            raise InvalidInputError(f"node {ulid} occurs twice")
        if _LOCAL_ID.match(local_id) is None:
            raise InvalidInputError(f"{local_id[:40]!r} is not a local id")
        if local_id in self._local_ids:
            raise InvalidInputError(f"local id [{local_id}] occurs twice")

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

    def _place(self, sources: Sequence[_Source], values: Row, size: Measure) -> PositionRow:
        key, parent = self.count + 1, _parent_of(sources)
        if values["version_of"] is not None:
            return self._place_of_version(values, self.positions[parent or _NONE])
        attachments = bool(values["attachments"])
        instructs = ROLES[values["role"]] is Role.SYSTEM or any(
            each.role is SourceRole.INSTRUCTION for each in sources
        )
        if parent is None:
            if key != 1:
                raise InvalidInputError("a tree has exactly one root, and it comes first")
            return place_of_root(key, size, attachments=attachments, instructs=instructs)
        above = self._place_at(self.positions[parent])
        if above.depth >= _DEPTH_LIMIT:
            raise LimitExceededError("the path is too deep")
        jump = self._jumps[above.jump]
        return place_below(above, jump, key, size, attachments=attachments, instructs=instructs)

    def _place_of_version(self, values: Row, above: int) -> PositionRow:
        """Versions have everything in common but their content."""
        first: int = values["version_of"]
        fits = self.positions[first] == first and self._parents[first] == above
        same_edge = self._edges[first] == _edge_type(values)
        if self._mode is not Mode.BUFFER or not fits or not same_edge:
            raise InvalidInputError(f"node [{values['local_id']}] cannot be a version of the node it names")
        return self._place_at(first)

    def _place_at(self, position: int) -> PositionRow:
        return PositionRow(
            position,
            self._parents[position] or None,
            self._depths[position],
            self._jumps[position],
            self._rulers[position],
            self._attachments[position] or None,
            self._instructions[position] or None,
        )

    def _remember(self, row: Row, place: PositionRow, *, has_items: bool) -> None:
        self.keys[row["ulid"]] = row["key"]
        self._local_ids.add(row["local_id"])
        self.positions.append(place.position)
        self._parents.append(place.parent or _NONE)
        self._depths.append(place.depth)
        self._jumps.append(place.jump)
        self._rulers.append(place.ruler)
        self._attachments.append(place.near_attachments or _NONE)
        self._instructions.append(place.near_instruction or _NONE)
        self._edges.append(row["edge_type"])
        self._with_items.append(has_items)
        if has_items:
            self._with_items[place.position] = 1
        self._hashes += row["hash"]

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
        (values["citations"], Flag.HAS_CITATIONS),
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
