"""From the database to records, in an order that depends on their contents alone.

Everything is read in one snapshot and written as it is read: memory holds the ids of
one tree's nodes, and no more than a few hundred rows.
"""

import gzip
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, Table, and_, func, select

from weft.errors import NotFoundError, StorageError
from weft.interop.weft_json import Record
from weft.runtime.operations.node_values import load_content
from weft.runtime.operations.references import TargetAddress, ends_of, targets_of
from weft.runtime.transfer.checked_fields import RecordReference, RecordSpec, Row, Write
from weft.runtime.transfer.record_specs import (
    AGENT,
    ATTEMPT,
    DOCUMENT,
    DOCUMENT_REVISION,
    EVENT,
    GROUP_ENTRY,
    GROVE,
    LINK,
    PROJECT,
    PROJECT_REVISION,
    RECORD,
    TAG,
    TIMESTAMP,
    TREE,
    TREE_RECORDS,
)
from weft.store import schema
from weft.store.blobs import BlobStore, media_of_tree
from weft.store.memory import MemoryKind
from weft.store.rows import SOURCE_ROLES, Flag
from weft.store.session import Session
from weft.store.transaction import GROVE as GROVE_KEY
from weft.tree.edge import SourceRole
from weft.tree.progress import Progress, silent
from weft.tree.reference import TargetKind

_BATCH = 500
"""Rows that are read at once."""
_CHUNK = 3 * 256 * 1024
"""Bytes in one record of a body or blob; a multiple of three, so that base64 does not pad between."""
_ULID_LENGTH = 26
_NO_ANSWER: Mapping[Any, Any] = {"response": None, "choice": None}
_ORDERED_BY_ID = {"agent": schema.agents, "document": schema.documents, "project": schema.projects}
"""Columns with keys, which differ between groves: rows are ordered by the ids."""


@dataclass(slots=True)
class Exporter:
    """Some trees, or the whole grove, as records."""

    session: Session
    blobs: BlobStore
    trees: Sequence[int] | None = None
    """Keys; None: the whole grove."""
    progress: Progress = silent
    notes: list[str] = field(default_factory=list[str])
    """What could not be exported, in sentences."""
    tree_count: int = 0
    node_count: int = 0
    _references: dict[RecordReference, Write] = field(default_factory=dict[RecordReference, Write])
    _tree_ids: dict[int, str] = field(default_factory=dict[int, str])
    _blobs: set[str] = field(default_factory=set[str])
    _missing: int = 0
    _total: int = 0

    @property
    def scope(self) -> str:
        return "grove" if self.trees is None else "trees"

    def records(self) -> Iterator[Record]:
        counts = self._counts(schema.nodes)
        self._total = sum(counts.values())
        self.progress(0, self._total)
        self._references = {
            RecordReference.AGENT: self._ids(schema.agents).__getitem__,
            RecordReference.PROJECT: self._ids(schema.projects).__getitem__,
        }
        self._tree_ids = self._ids(schema.trees)
        if self.trees is None:
            yield self._grove()
        yield from self._agents()
        used = () if self.trees is None else (schema.projects.c.key.in_(self._used_projects(self.trees)),)
        yield from self._revised(PROJECT, PROJECT_REVISION, *used)
        if self.trees is None:
            yield from self._table(EVENT, GROVE_KEY)
            yield from self._table(TIMESTAMP, GROVE_KEY)
            yield from self._revised(DOCUMENT, DOCUMENT_REVISION)
        yield from self._trees(counts)
        yield from map(LINK.writer(self._references), self._links())
        yield from map(TAG.writer(), self._tags())
        if self.trees is None:
            yield from self._table(RECORD)
            yield from self._table(GROUP_ENTRY)
        if self._missing:
            self.notes.append(f"{self._missing:,} blobs are missing from the grove and from the file")
        self.progress(self._total, self._total)

    def _rows(self, statement: Select[*tuple[Any, ...]]) -> Iterator[Mapping[Any, Any]]:
        return iter(self.session.execute(statement.execution_options(yield_per=_BATCH)).mappings())

    def _spec_rows(
        self, spec: RecordSpec, tree: int | None = None, *where: ColumnElement[bool]
    ) -> Iterator[Mapping[Any, Any]]:
        """The rows of a spec's table, all or those of a tree, in the spec's order."""
        if spec.table is None:
            raise TypeError(f"{spec.kind} has no table of its own")
        statement = select(spec.table).where(*where)
        if tree is not None:
            statement = statement.where(spec.table.c.tree == tree)
        for name in spec.order:
            column, parent = spec.table.c[name], _ORDERED_BY_ID.get(name)
            if parent is not None:
                ulid = parent.c.ulid.label(f"{name}_ulid")
                statement = statement.add_columns(ulid).join(parent, parent.c.key == column)
                column = parent.c.ulid
            statement = statement.order_by(column)
        return self._rows(statement)

    def _table(self, spec: RecordSpec, tree: int | None = None) -> Iterator[Record]:
        return map(spec.writer(self._references), self._spec_rows(spec, tree))

    def _ids(self, table: Table) -> dict[int, str]:
        return {row.key: row.ulid for row in self.session.execute(select(table.c.key, table.c.ulid))}

    def _counts(self, table: Table) -> dict[int, int]:
        """How many rows each tree has."""
        statement = select(table.c.tree, func.count().label("rows")).group_by(table.c.tree)
        return {
            row.tree: row.rows for row in self.session.execute(statement.where(*self._inside(table.c.tree)))
        }

    def _inside(self, column: Column[int]) -> tuple[ColumnElement[bool], ...]:
        """The condition that a tree's key is exported."""
        return () if self.trees is None else (self.session.dialect.among(column, self.trees),)

    def _grove(self) -> Record:
        row = self.session.execute(select(schema.grove)).mappings().one()
        return GROVE.writer()({**row, "owner_id": self._ids(schema.agents).get(row["owner"])})

    def _agents(self) -> Iterator[Record]:
        wanted = None if self.trees is None else self._referred_agents(self.trees)
        rows = (row for row in self._spec_rows(AGENT) if wanted is None or row["key"] in wanted)
        return map(AGENT.writer(), rows)

    def _referred_agents(self, trees: Sequence[int]) -> set[int]:
        agents: set[int] = set()
        for table in schema.metadata.sorted_tables:
            name = "author" if table is schema.nodes else "agent"
            if "tree" in table.c and name in table.c:
                inside = self.session.dialect.among(table.c.tree, trees)
                agents.update(self.session.execute(select(table.c[name]).where(inside).distinct()).scalars())
        agents.update(row["author"] for row in self._links())
        revisions = schema.project_revisions
        authors = select(revisions.c.author).where(revisions.c.project.in_(self._used_projects(trees)))
        agents.update(self.session.execute(authors).scalars())
        return agents

    def _used_projects(self, trees: Sequence[int]) -> Select[int]:
        return select(schema.trees.c.project).where(self.session.dialect.among(schema.trees.c.key, trees))

    def _revised(
        self, spec: RecordSpec, revision: RecordSpec, *where: ColumnElement[bool]
    ) -> Iterator[Record]:
        """Projects or documents, each followed by its revisions."""
        write, write_revision = spec.writer(), revision.writer(self._references)
        revisions = JoinedRows(self._spec_rows(revision, None, *where), f"{spec.kind}_ulid")
        for row in self._spec_rows(spec, None, *where):
            own = revisions.of(row["ulid"])
            yield write({**row, "revision_count": len(own)})
            yield from map(write_revision, own)

    def _trees(self, nodes: Mapping[int, int]) -> Iterator[Record]:
        responses, attempts = self._counts(schema.responses), self._counts(schema.attempts)
        write = TREE.writer(self._references)
        for row in self._spec_rows(TREE, None, *self._inside(schema.trees.c.key)):
            key = row["key"]
            counts = {
                "node_count": nodes.get(key, 0),
                "response_count": responses.get(key, 0),
                "attempt_count": attempts.get(key, 0),
            }
            yield write({**row, **counts})
            self.tree_count += 1
            names = NodeNames()
            references = self._references | {
                RecordReference.NODE: names.ulid,
                RecordReference.RESPONSE: self._response_numbers(key).__getitem__,
            }
            for spec in TREE_RECORDS:
                yield from map(spec.writer(references), self._tree_rows(spec, key, names))

    def _tree_rows(self, spec: RecordSpec, tree: int, names: "NodeNames") -> Iterator[Mapping[str, Any]]:
        """The rows of one kind of record of a tree, with what other tables have about them."""
        match spec.kind:
            case "body":
                return self._bodies(tree)
            case "blob":
                return self._media(tree)
            case "node":
                return self._nodes(tree, names)
            case "attempt":
                return self._attempts(tree)
            case "envelope":
                rows = self._spec_rows(spec, tree)
                return ({**row, "data": _unpack(row["gzip"])} for row in rows)
            case "memory":
                # Results expire by themselves: they are not part of what an agent keeps.
                return self._spec_rows(spec, tree, schema.memory.c.kind != MemoryKind.RESULT)
            case _:
                return self._spec_rows(spec, tree)

    def _bodies(self, tree: int) -> Iterator[Row]:
        bodies = schema.bodies
        for row in self._rows(select(bodies).where(bodies.c.tree == tree).order_by(bodies.c.sha256)):
            yield from _chunks(row["sha256"].hex(), _unpack(row["gzip"]))

    def _media(self, tree: int) -> Iterator[Row]:
        refs = sorted(media_of_tree(self.session, tree) - self._blobs)
        self._blobs.update(refs)
        for ref in refs:
            try:
                data = self.blobs.get(ref)
            except (NotFoundError, StorageError):
                self._missing += 1
                yield {"sha256": ref, "size": None, "offset": 0, "data": None, "missing": True}
            else:
                yield from _chunks(ref, data)

    def _response_numbers(self, tree: int) -> dict[int, int]:
        responses = schema.responses
        statement = select(responses.c.key).where(responses.c.tree == tree).order_by(responses.c.key)
        return {key: number for number, key in enumerate(self.session.execute(statement).scalars(), 1)}

    def _nodes(self, tree: int, names: "NodeNames") -> Iterator[Row]:
        nodes, texts = schema.nodes, schema.texts
        joined = and_(texts.c.tree == nodes.c.tree, texts.c.node == nodes.c.key)
        statement = (
            select(nodes, texts.c.content, texts.c.summary)
            .join(texts, joined)
            .where(nodes.c.tree == tree)
            .order_by(nodes.c.key)
        )
        sources = self._joined(schema.sources, tree, "target")
        items = self._joined(schema.attachments, tree, "node")
        citations = self._joined(schema.citations, tree, "node")
        answers = self._joined(schema.node_responses, tree, "node")
        for row in self._rows(statement):
            key, flags = row["key"], row["flags"]
            names.add(key, row["ulid"], row["hash"])
            answer = next(iter(answers.of(key)), _NO_ANSWER)
            yield {
                **row,
                **answer,
                "version_of": None if row["position"] == key else row["position"],
                "edge_type": None if row["parent"] is None else row["edge_type"],
                "sources": [
                    {"id": names.ulid(source), "role": role, "hash": names.hash(source)}
                    for source, role in _sources(row, sources.of(key))
                ]
                or None,
                "content": load_content(row["kind"], row["content"]),
                "attachments": items.of(key) or None,
                "citations": citations.of(key) or None,
                "excluded": bool(flags & Flag.EXCLUDED),
                "bookmarked": bool(flags & Flag.BOOKMARKED),
                "joined": bool(flags & Flag.JOINED),
            }
            self.node_count += 1
            if self.node_count % _BATCH == 0:
                self.progress(self.node_count, self._total)

    def _attempts(self, tree: int) -> Iterator[Row]:
        segments = self._joined(schema.requests, tree, "attempt")
        manifests = self._joined(schema.manifests, tree, "attempt")
        for row in self._spec_rows(ATTEMPT, tree):
            manifest = next(iter(manifests.of(row["key"])), None)
            yield {
                **row,
                "segments": [segment["segment"] for segment in segments.of(row["key"])] or None,
                "manifest_digest": None if manifest is None else manifest["sha256"],
                "manifest": None if manifest is None else _unpack(manifest["gzip"]),
            }

    def _joined(self, table: Table, tree: int, name: str) -> "JoinedRows":
        order = [table.c[name], *([table.c.ordinal] if "ordinal" in table.c else [])]
        return JoinedRows(self._rows(select(table).where(table.c.tree == tree).order_by(*order)), name)

    def _links(self) -> Iterator[Row]:
        """Links whose two ends are both exported."""
        left_out = 0
        rows = self._spec_rows(LINK)
        while batch := list(islice(rows, _BATCH)):
            ends = [ends_of(row) for row in batch]
            targets = self._targets(end for pair in ends for end in pair)
            for row, pair in zip(batch, ends, strict=True):
                if all(end in targets for end in pair):
                    listed = [targets[end] for end in pair]
                    yield {**row, "ends": sorted(listed, key=lambda end: (end["kind_name"], end["id"]))}
                else:
                    left_out += len({self._is_exported(end) for end in pair}) > 1
        note = f"{left_out:,} links lead out of what is exported, and stay behind"
        if left_out and note not in self.notes:
            self.notes.append(note)

    def _tags(self) -> Iterator[Row]:
        rows = self._spec_rows(TAG)
        while batch := list(islice(rows, _BATCH)):
            addresses = [TargetAddress(row["tree"], row["kind"], row["target"]) for row in batch]
            targets = self._targets(addresses)
            for row, address in zip(batch, addresses, strict=True):
                if address in targets:
                    yield {**row, "target": targets[address]}

    def _is_exported(self, address: TargetAddress) -> bool:
        return self.trees is None or address.tree in self.trees

    def _targets(self, addresses: Iterable[TargetAddress]) -> dict[TargetAddress, Row]:
        """The ends of links and tags that are exported, by their address."""
        targets = targets_of(self.session, {each for each in addresses if self._is_exported(each)})
        return {
            address: {
                "kind": address.kind,
                "kind_name": target.kind.value,
                "id": target.id,
                "tree_id": self._tree_ids[address.tree] if target.kind is TargetKind.NODE else None,
            }
            for address, target in targets.items()
        }


class NodeNames:
    """Ids and hashes of a tree's nodes by key, in as few bytes as they have."""

    def __init__(self) -> None:
        self._keys = array("q")
        self._ulids = bytearray()
        self._hashes = bytearray()

    def add(self, key: int, ulid: str, digest: bytes) -> None:
        """The next node, in the order of keys."""
        self._keys.append(key)
        self._ulids += ulid.encode()
        self._hashes += digest

    def ulid(self, key: int) -> str:
        start = bisect_left(self._keys, key) * _ULID_LENGTH
        return self._ulids[start : start + _ULID_LENGTH].decode()

    def hash(self, key: int) -> bytes:
        start = bisect_left(self._keys, key) * 32
        return bytes(self._hashes[start : start + 32])


class JoinedRows:
    """Rows of a second table, read along with those of a first one in the same order."""

    def __init__(self, rows: Iterator[Mapping[Any, Any]], column: str) -> None:
        self._rows = rows
        self._column = column
        self._next = next(rows, None)

    def of(self, key: int | str) -> list[Mapping[Any, Any]]:
        """Those of this key. Keys must be asked for in order."""
        joined: list[Mapping[Any, Any]] = []
        while self._next is not None and self._next[self._column] <= key:
            if self._next[self._column] == key:
                joined.append(self._next)
            self._next = next(self._rows, None)
        return joined


def _sources(node: Mapping[Any, Any], rows: Sequence[Mapping[Any, Any]]) -> list[tuple[int, int]]:
    """Keys and roles. A node with one source has no rows of its own: the source is its parent."""
    parent = node["parent"] if node["written_after"] is None else node["written_after"]
    if not rows and parent is not None:
        return [(parent, SOURCE_ROLES.index(SourceRole.PRIMARY))]
    return [(row["source"], row["role"]) for row in rows]


def _chunks(name: str, data: bytes) -> Iterator[Row]:
    """Bytes in several records: a line stays short, however long they are."""
    for start in range(0, max(1, len(data)), _CHUNK):
        chunk = data[start : start + _CHUNK]
        yield {"sha256": name, "size": len(data), "offset": start, "data": chunk, "missing": False}


def _unpack(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise StorageError("a stored body is damaged", hint="restore a backup") from error
