"""Import of a file in Weft's own JSON: which records it may hold, in which order, and that all are there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from weft.errors import InvalidInputError
from weft.interop.weft_json import JsonLine, Record, open_file
from weft.runtime.operations.references import KINDS as TARGET_KINDS
from weft.runtime.operations.references import TargetAddress
from weft.runtime.transfer.checked_fields import (
    ULID,
    Located,
    Read,
    RecordReference,
    RecordSet,
    RecordSpec,
    Row,
)
from weft.runtime.transfer.import_target import ImportTarget
from weft.runtime.transfer.node_importer import KnownAgent
from weft.runtime.transfer.record_specs import (
    BLOB,
    DOCUMENT,
    DOCUMENT_REVISION,
    EVENT,
    FILE_RECORDS,
    GROVE,
    PROJECT,
    PROJECT_REVISION,
    TREE_RECORDS,
)
from weft.runtime.transfer.tree_importer import BlobImporter, EventChain, TreeImporter
from weft.store import schema
from weft.store.rows import AGENT_TYPES
from weft.store.transaction import GROVE as GROVE_KEY
from weft.tree.agent import Configuration, check_agent
from weft.tree.json import JsonValue
from weft.tree.progress import Progress, silent
from weft.tree.reference import TargetKind

_REVISIONS = {PROJECT: PROJECT_REVISION, DOCUMENT: DOCUMENT_REVISION}
_REVISION_KINDS = {revision.kind: spec.kind for spec, revision in _REVISIONS.items()}
_FILE_ORDER = {
    kind: rank
    for rank, spec in enumerate(FILE_RECORDS)
    for kind in (spec.kind, _REVISIONS.get(spec, spec).kind)
}
_TREE_ORDER = {spec.kind: rank for rank, spec in enumerate(TREE_RECORDS)}
_LINES_PER_REPORT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What was imported from a file."""

    trees: tuple[str, ...]
    documents: tuple[str, ...]
    nodes: int
    notes: tuple[str, ...]
    """What differs from the file, in sentences."""


def read_records(path: Path, target: ImportTarget, progress: Progress = silent) -> Imported:
    """Pass all records of a file to a target; raise at the first that is wrong."""
    size = max(1, path.stat().st_size) if path.exists() else 1
    with open_file(path) as reader:
        importer = FileImporter(reader.scope, target)
        try:
            for line in reader:
                importer.add(line)
                if line.number % _LINES_PER_REPORT == 0:
                    progress(min(reader.position, size), size)
            return importer.end()
        finally:
            importer.discard()


@dataclass(slots=True)
class _Revised:
    """A project or a document while its revisions are read."""

    spec: RecordSpec
    key: int
    is_new: bool = True
    last: int = 0
    expected: int | None = None
    """How many revisions were announced: a document has them all, numbered from 1."""

    def add(self, number: int) -> None:
        follows = number > self.last if self.expected is None else number == self.last + 1 <= self.expected
        if not follows:
            raise InvalidInputError(f"revision {number} does not follow revision {self.last}")
        self.last = number

    def require_complete(self) -> None:
        if self.expected not in {None, self.last}:
            raise InvalidInputError("a document's last revisions are missing")


class FileImporter:
    """Takes the records of one file, in their order."""

    def __init__(self, scope: str, target: ImportTarget) -> None:
        self._target = target
        self._whole = scope == "grove"
        self._agents: dict[str, KnownAgent] = {}
        self._projects: dict[str, int] = {}
        self._trees: dict[str, int] = {}
        self._documents: dict[str, int] = {}
        self._owner: str | None = None
        self._chain: EventChain | None = None
        self._events: tuple[int, bytes | None] = (0, None)
        self._adopted = False
        self._revised: _Revised | None = None
        self._tree: TreeImporter | None = None
        self._blobs = BlobImporter(target)
        self._rank = self._tree_rank = 0
        self._nodes = 0
        self._left_out = 0
        self._last_tag = 0
        self._references: dict[RecordReference, Read] = {
            RecordReference.AGENT: self._agent_key,
            RecordReference.PROJECT: self._project_key,
        }
        self._records = RecordSet((*FILE_RECORDS, *_REVISIONS.values()), self._references)
        self._adders: dict[str, Callable[[Row], None]] = {
            "grove": self._add_grove,
            "agent": self._add_agent,
            "project": self._add_project,
            "projectRevision": self._add_revision,
            "timestamp": self._add_timestamp,
            "document": self._add_document,
            "revision": self._add_revision,
            "tree": self._add_tree,
            "link": self._add_link,
            "tag": self._add_tag,
            "record": self._add_record,
            "groupEntry": self._add_group_entry,
        }

    def add(self, line: JsonLine) -> None:
        """The next record. Errors name its line, or the tree that ends before it."""
        where = Located(f"line {line.number:,}")
        with where:
            kind = self._kind(line.record)
        if self._tree is None or kind not in _TREE_ORDER:
            self._end_tree()
        with where:
            self._add(kind, line.record)

    def _kind(self, record: Record) -> str:
        """The kind of a record; refused unless it is known."""
        kind = record.get("record")
        if not isinstance(kind, str):
            raise InvalidInputError("record must name the kind of record")
        if kind not in _FILE_ORDER and (self._tree is None or kind not in _TREE_ORDER):
            raise InvalidInputError(
                f"{kind[:40]!r} is not a record that is known here",
                hint="the file may come from a newer Weft; nothing was imported",
            )
        return kind

    def _add(self, kind: str, record: Record) -> None:
        if kind != BLOB.kind:
            self._blobs.require_complete()
        if self._tree is not None:
            self._tree_rank = _next_rank(kind, _TREE_ORDER[kind], self._tree_rank)
            if kind == BLOB.kind:
                self._blobs.add(record)
            else:
                self._tree.add(kind, record)
            return
        self._rank = _next_rank(kind, _FILE_ORDER[kind], self._rank)
        if kind not in _REVISION_KINDS:
            self._end_revised()
        if kind == GROVE.kind and (not self._whole or self._chain is not None):
            raise InvalidInputError("there is one grove in a file, and only in a file of a whole grove")
        row = self._records.read(kind, record)
        if kind == EVENT.kind:
            self._add_event(record, row)
        elif kind in _REVISION_KINDS and (
            self._revised is None or _REVISIONS[self._revised.spec].kind != kind
        ):
            raise InvalidInputError(f"a {kind} follows its {_REVISION_KINDS[kind]}")
        else:
            self._adders[kind](row)

    def end(self) -> Imported:
        """Check that the file is complete."""
        self._end_tree()
        self._end_revised()
        if self._whole and self._chain is None:
            raise InvalidInputError("the file says that it is a whole grove, but does not hold one")
        if self._chain is not None:
            self._chain.require(*self._events, "the grove")
        if self._owner is not None and self._owner not in self._agents:
            raise InvalidInputError("the grove's owner is not in the file")
        notes = list(self._target.notes)
        if self._blobs.missing:
            notes.append(f"{self._blobs.missing:,} blobs were missing when the file was made")
        if self._left_out:
            notes.append(f"{self._left_out:,} records of the file's grove were left out")
        return Imported(
            trees=tuple(self._trees),
            documents=tuple(self._documents),
            nodes=self._nodes,
            notes=tuple(notes),
        )

    def discard(self) -> None:
        """Leave no incomplete blob behind."""
        self._blobs.discard()

    def _end_tree(self) -> None:
        if self._tree is not None:
            self._nodes += self._tree.end()
            self._tree = None
        self._tree_rank = 0

    def _end_revised(self) -> None:
        if self._revised is not None:
            self._revised.require_complete()
        self._revised = None

    def _add_grove(self, row: Row) -> None:
        self._owner = row.pop("owner_id")
        self._events = row["events"], row["head"]
        self._chain = EventChain(row["ulid"])
        self._adopted = self._target.adopt(row, str(self._owner))

    def _add_agent(self, row: Row) -> None:
        number: int = row["type"]
        check_agent(row["name"], AGENT_TYPES[number], row["model_ref"], Configuration())
        self._agents[row["ulid"]] = KnownAgent(self._target.agent(row), number)

    def _add_project(self, row: Row) -> None:
        if row["hidden"] is None:
            self._records.require_new("project", row["name"].lower())
        key, is_new = self._target.project(row)
        self._projects[row["ulid"]] = key
        self._revised = _Revised(PROJECT, key, is_new)

    def _add_revision(self, row: Row) -> None:
        revised = self._revised
        if revised is not None:
            revised.add(row["revision"])
            if revised.is_new:
                table = schema.project_revisions if revised.spec is PROJECT else schema.revisions
                self._target.add(table, {**row, revised.spec.kind: revised.key})

    def _add_event(self, record: Record, row: Row) -> None:
        if self._chain is None:
            raise InvalidInputError("events follow their tree, or are in a file of a whole grove")
        event = self._chain.add(record, {**row, "tree": GROVE_KEY})
        if self._adopted:
            self._target.add_event(event)

    def _add_timestamp(self, row: Row) -> None:
        if self._adopted:
            self._target.add(schema.timestamps, {**row, "tree": GROVE_KEY})

    def _add_document(self, row: Row) -> None:
        expected = row.pop("revision_count")
        if not 1 <= row["revision"] <= expected:
            raise InvalidInputError("a document has at least one revision, and is at one of them")
        key = self._documents[row["ulid"]] = self._target.document(row)
        self._revised = _Revised(DOCUMENT, key, expected=expected)

    def _add_tree(self, row: Row) -> None:
        self._tree = TreeImporter(row, self._target, self._references, self._agents, self._blobs.known)
        self._trees[self._tree.ulid] = self._tree.key

    def _add_link(self, row: Row) -> None:
        ends = [self._address(end) for end in row.pop("ends")]
        if len(ends) != 2:
            raise InvalidInputError("a link has two ends")
        self._target.link(row, (ends[0], ends[1]))

    def _add_tag(self, row: Row) -> None:
        if row["key"] <= self._last_tag:
            raise InvalidInputError("tags come in the order of their numbers")
        self._last_tag = row["key"]
        address = self._address(row["target"])
        self._target.tag({**row, "tree": address.tree, "kind": address.kind, "target": address.key})

    def _address(self, end: Row) -> TargetAddress:
        """The target of a link or tag; it must be in the same file."""
        number: int = end["kind"]
        kind, ulid = TARGET_KINDS[number], end["id"]
        if (kind is TargetKind.NODE) != (end["tree_id"] is not None):
            raise InvalidInputError("a target has a treeId if it is a node, and only then")
        keys = self._documents if kind is TargetKind.DOCUMENT else self._trees
        key = keys.get(end["tree_id"] or ulid)
        node = self._target.node(key, ulid) if key is not None and kind is TargetKind.NODE else key
        if key is None or node is None:
            raise InvalidInputError(f"{kind.value} {ulid} is not in the file")
        return TargetAddress(GROVE_KEY if kind is TargetKind.DOCUMENT else key, number, node)

    def _add_record(self, row: Row) -> None:
        self._records.require_new("record", row["ulid"])
        self._target.record(row)

    def _add_group_entry(self, row: Row) -> None:
        if self._adopted:
            self._target.add(schema.group_index, row)
        else:
            self._left_out += 1

    def _agent_key(self, value: JsonValue, name: str) -> int:
        agent = self._agents.get(ULID.read(value, name))
        if agent is None:
            raise InvalidInputError(f"{name} names an agent that is not in the file")
        return agent.key

    def _project_key(self, value: JsonValue, name: str) -> int:
        key = self._projects.get(ULID.read(value, name))
        if key is None:
            raise InvalidInputError(f"{name} names a project that is not in the file")
        return key


def _next_rank(kind: str, rank: int, last: int) -> int:
    if rank < last:
        raise InvalidInputError(f"a {kind} comes too late here")
    return rank
