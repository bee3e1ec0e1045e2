"""Reading a file in Weft's own JSON: what it may hold, in which order, and that all of it holds."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from weft.errors import InvalidInputError, LimitExceededError
from weft.interop.weft_json import Line, open_file
from weft.runtime.moving.fields import Fields
from weft.runtime.moving.growth import KnownAgent
from weft.runtime.moving.landing import Landing
from weft.runtime.moving.pieces import Blobs
from weft.runtime.moving.records import group_entry_row, record_row
from weft.runtime.moving.section import Chain, Section, timestamp_row
from weft.runtime.operations.references import KINDS as TARGET_KINDS
from weft.runtime.operations.references import Address
from weft.runtime.operations.scope import dump_json
from weft.store import schema
from weft.store.rows import AGENT_TYPES, permission_bits
from weft.store.schema_records import PLACE
from weft.store.transaction import GROVE
from weft.tree.agent import Configuration, check_agent, parse_permissions
from weft.tree.progress import Progress, silent
from weft.tree.project import ProjectItem, ProjectItemKind, check_items, items_to_wire
from weft.tree.reference import TargetKind

__all__ = ["Arrival", "Imported", "read_records"]

_NAME_LIMIT = 1_000
_ORDER = {
    name: rank
    for rank, name in enumerate(
        (
            *("grove", "agent", "project", "event", "timestamp", "document", "tree"),
            *("link", "tag", "record", "groupEntry"),
        )
    )
}
_INNER = {
    name: rank
    for rank, name in enumerate(
        (
            "body",
            "blob",
            "response",
            "node",
            "attempt",
            "envelope",
            "event",
            "typing",
            "cursor",
            "selection",
            "buffer",
            "group",
            "memory",
            "timestamp",
        )
    )
}
"""The order of records, in a file and within a tree: what is named comes before what names it."""
_BELOW = {"revision": "document", "projectRevision": "project"}
_CONTEXT_LIMIT = 10_000
_EVERY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What came in with a file."""

    trees: tuple[str, ...]
    documents: tuple[str, ...]
    nodes: int
    notes: tuple[str, ...]
    """What is not quite as it was, in a person's words."""


def read_records(path: Path, landing: Landing, progress: Progress = silent) -> Imported:
    """Everything a file holds, put on the ground; or the first thing that is wrong with it."""
    size = max(1, path.stat().st_size) if path.exists() else 1
    with open_file(path) as reader:
        arrival = Arrival(reader.scope, landing)
        try:
            for line in reader:
                arrival.take(line)
                if line.number % _EVERY == 0:
                    progress(min(reader.position, size), size)
            return arrival.end()
        finally:
            arrival.drop()


class Arrival:
    """Takes the records of one file, in their order."""

    def __init__(self, scope: str, landing: Landing) -> None:
        self._landing = landing
        self._whole = scope == "grove"
        self._agents: dict[str, KnownAgent] = {}
        self._projects: dict[str, int] = {}
        self._trees: dict[str, int] = {}
        self._documents: dict[str, int] = {}
        self._owner: str | None = None
        self._chain: Chain | None = None
        self._announced: tuple[int, bytes | None] = (0, None)
        self._adopted = False
        self._project: tuple[int, bool, int] | None = None
        """Key, whether it is new here, the last revision seen."""
        self._document: tuple[int, int, int] | None = None
        """Key, revisions announced, revisions seen."""
        self._tree: Section | None = None
        self._blobs = Blobs(landing)
        self._rank = self._inner = 0
        self._nodes = 0
        self._left_out = 0
        self._last_tag = 0
        self._seen: set[str] = set()
        self._takers: dict[str, Callable[[Fields], None]] = {
            "grove": self._take_grove,
            "agent": self._take_agent,
            "project": self._take_project,
            "projectRevision": self._take_project_revision,
            "event": self._take_event,
            "timestamp": self._take_timestamp,
            "document": self._take_document,
            "revision": self._take_revision,
            "tree": self._take_tree,
            "link": self._take_link,
            "tag": self._take_tag,
            "record": self._take_record,
            "groupEntry": self._take_group_entry,
        }

    def take(self, line: Line) -> None:
        """One record; whatever is wrong with it is named with its line."""
        fields = Fields.of(line)
        try:
            self._take(fields)
        except (InvalidInputError, LimitExceededError) as error:
            if error.message.startswith(("line ", "tree ", "events ")):
                raise
            raise type(error)(f"{fields.where}: {error.message}", hint=error.hint) from None

    def _take(self, fields: Fields) -> None:
        record = fields.get("record")
        if not isinstance(record, str):
            raise fields.wrong("record must say what this is")
        if record != "blob":
            self._blobs.require_whole(fields)
        if self._tree is not None and record in _INNER:
            self._require_order(fields, record, _INNER[record], self._inner)
            self._inner = _INNER[record]
            if record == "blob":
                self._blobs.take(fields)
            else:
                self._tree.take(record, fields)
            return
        if record not in self._takers:
            raise fields.wrong(
                f"{record[:40]!r} is not a record that is known here",
                hint="the file may come from a newer Weft; nothing was imported",
            )
        rank = _ORDER[_BELOW.get(record, record)]
        self._require_order(fields, record, rank, self._rank)
        self._rank = rank
        self._end_tree()
        if record != "revision":
            self._end_document(fields)
        self._takers[record](fields)

    def end(self) -> Imported:
        self._end_tree()
        self._end_document(None)
        if self._whole and self._chain is None:
            raise InvalidInputError("the file says that it is a whole grove, but does not hold one")
        if self._chain is not None:
            self._chain.require(*self._announced, "the grove")
        if self._owner is not None and self._owner not in self._agents:
            raise InvalidInputError("the grove's owner is not in the file")
        notes = list(self._landing.notes)
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

    def drop(self) -> None:
        """Leave nothing half-written behind."""
        self._blobs.drop()

    def _require_order(self, fields: Fields, record: str, rank: int, last: int) -> None:
        if rank < last:
            raise fields.wrong(f"a {record} comes too late here")

    def _end_tree(self) -> None:
        if self._tree is not None:
            self._nodes += self._tree.end()
            self._tree = None
        self._inner = 0

    def _end_document(self, fields: Fields | None) -> None:
        if self._document is not None and self._document[1] != self._document[2]:
            where = "" if fields is None else f"{fields.where}: "
            raise InvalidInputError(f"{where}a document's last revisions are missing")
        self._document = None

    def _take_grove(self, fields: Fields) -> None:
        if not self._whole or self._chain is not None:
            raise fields.wrong("there is one grove in a file, and only in a file of a whole grove")
        ulid = fields.ulid("id")
        self._owner = fields.ulid("ownerId")
        self._announced = fields.count("events", limit=2**62), fields.optional_digest("head")
        row: dict[str, Any] = {
            "ulid": ulid,
            "preferences": dump_json(fields.object("preferences")),
            "created_at": fields.time("createdAt"),
            "updated_at": fields.time("updatedAt"),
            "events": self._announced[0],
            "head": self._announced[1],
        }
        fields.done()
        self._chain = Chain(ulid, self._agents)
        self._adopted = self._landing.adopt(row, self._owner)

    def _take_agent(self, fields: Fields) -> None:
        ulid = fields.ulid("id")
        if ulid in self._agents:
            raise fields.wrong(f"agent {ulid} is there twice")
        agent_type = fields.choice("type", AGENT_TYPES)
        name, model_ref = fields.text("name", limit=200), fields.optional_text("modelRef", limit=300)
        check_agent(name, agent_type, model_ref, Configuration())
        names = [str(name) for name in fields.values("permissions", limit=100)]
        kind = AGENT_TYPES.index(agent_type)
        row: dict[str, Any] = {
            "ulid": ulid,
            "name": name,
            "type": kind,
            "model_ref": model_ref,
            "configuration": dump_json(fields.object("configuration")),
            "permissions": permission_bits(parse_permissions(names)),
            "created_at": fields.time("createdAt"),
            "archived_at": fields.optional_time("archivedAt"),
            "hidden": fields.optional_mark("hidden"),
        }
        fields.done()
        self._agents[ulid] = KnownAgent(self._landing.agent(row), kind)

    def _take_project(self, fields: Fields) -> None:
        ulid, name = fields.ulid("id"), fields.text("name", limit=_NAME_LIMIT)
        hidden = fields.optional_mark("hidden")
        if ulid in self._projects or (hidden is None and name.lower() in self._seen):
            raise fields.wrong(f"project {ulid} is there twice")
        if hidden is None:
            self._seen.add(name.lower())
        row: dict[str, Any] = {
            "ulid": ulid,
            "name": name,
            "system_prompt": fields.text("systemPrompt"),
            "context": _context(fields),
            "revision": fields.count("revision"),
            "created_at": fields.time("createdAt"),
            "archived_at": fields.optional_time("archivedAt"),
            "hidden": hidden,
        }
        fields.done()
        self._projects[ulid], is_new = self._landing.project(row)
        self._project = self._projects[ulid], is_new, 0

    def _take_project_revision(self, fields: Fields) -> None:
        if self._project is None:
            raise fields.wrong("a revision stands below its project")
        key, is_new, last = self._project
        number = fields.count("revision")
        if number <= last:
            raise fields.wrong(f"revision {number} does not follow revision {last}")
        author = self._agents.get(fields.ulid("authorId"))
        if author is None:
            raise fields.wrong("the revision's author is not in the file")
        row: dict[str, Any] = {
            "project": key,
            "revision": number,
            "name": fields.text("name", limit=_NAME_LIMIT),
            "system_prompt": fields.text("systemPrompt"),
            "context": _context(fields),
            "author": author.key,
            "created_at": fields.time("createdAt"),
            "hidden": fields.optional_mark("hidden"),
        }
        fields.done()
        self._project = key, is_new, number
        if is_new:
            self._landing.add(schema.project_revisions, row)

    def _take_event(self, fields: Fields) -> None:
        if self._chain is None:
            raise fields.wrong("events stand with their tree, or in a file of a whole grove")
        row = self._chain.add(fields, GROVE)
        if self._adopted:
            self._landing.add_event(row)

    def _take_timestamp(self, fields: Fields) -> None:
        row = timestamp_row(fields, GROVE)
        if row["ulid"] in self._seen:
            raise fields.wrong("this timestamp is there twice")
        self._seen.add(row["ulid"])
        if self._adopted:
            self._landing.add(schema.timestamps, row)

    def _take_document(self, fields: Fields) -> None:
        ulid = fields.ulid("id")
        if ulid in self._documents:
            raise fields.wrong(f"document {ulid} is there twice")
        current, last = fields.count("revision"), fields.count("revisions")
        row: dict[str, Any] = {
            "ulid": ulid,
            "title": fields.text("title", limit=_NAME_LIMIT),
            "summary": fields.optional_text("summary"),
            "revision": current,
            "created_at": fields.time("createdAt"),
            "updated_at": fields.time("updatedAt"),
            "archived_at": fields.optional_time("archivedAt"),
            "hidden": fields.optional_mark("hidden"),
        }
        fields.done()
        if not 1 <= current <= last:
            raise fields.wrong("a document has at least one revision, and is at one of them")
        self._documents[ulid] = key = self._landing.document(row)
        self._document = key, last, 0

    def _take_revision(self, fields: Fields) -> None:
        if self._document is None:
            raise fields.wrong("a revision stands below its document")
        key, last, seen = self._document
        number = fields.count("revision")
        if number != seen + 1 or number > last:
            raise fields.wrong(f"revision {number} does not follow revision {seen}")
        author = self._agents.get(fields.ulid("authorId"))
        if author is None:
            raise fields.wrong("the revision's author is not in the file")
        row: dict[str, Any] = {
            "document": key,
            "revision": number,
            "title": fields.text("title", limit=_NAME_LIMIT),
            "content": fields.text("content"),
            "author": author.key,
            "created_at": fields.time("createdAt"),
            "hidden": fields.optional_mark("hidden"),
        }
        fields.done()
        self._document = key, last, number
        self._landing.add(schema.revisions, row)

    def _take_tree(self, fields: Fields) -> None:
        ulid = fields.ulid("id")
        if ulid in self._trees:
            raise fields.wrong(f"tree {ulid} is there twice")
        self._tree = Section(fields, self._landing, self._agents, self._projects, self._blobs.known)
        self._trees[ulid] = self._tree.key

    def _take_link(self, fields: Fields) -> None:
        ends = [self._address(end) for end in fields.many("ends", limit=2)]
        author = self._agents.get(fields.ulid("authorId"))
        ulid = fields.ulid("id")
        if len(ends) != 2 or author is None or ulid in self._seen:
            raise fields.wrong("a link has an id of its own, two ends and an author, all of them in the file")
        self._seen.add(ulid)
        row: dict[str, Any] = {
            "ulid": ulid,
            "note": fields.optional_text("note") or "",
            "author": author.key,
            "created_at": fields.time("createdAt"),
            "removed": fields.optional_time("removedAt"),
        }
        fields.done()
        self._landing.link(row, (ends[0], ends[1]))

    def _take_tag(self, fields: Fields) -> None:
        number = fields.count("number")
        if number <= self._last_tag:
            raise fields.wrong("tags come in the order of their numbers")
        self._last_tag = number
        address = self._address(Fields(fields.get("target"), f"{fields.where}: target"))
        row: dict[str, Any] = {
            "key": number,
            "tree": address.tree,
            "kind": address.kind,
            "target": address.key,
            "label": fields.text("label", limit=_NAME_LIMIT),
            "created_at": fields.time("createdAt"),
            "removed": fields.optional_time("removedAt"),
        }
        fields.done()
        self._landing.tag(row)

    def _address(self, fields: Fields) -> Address:
        """What a link or a tag points to; it must have come with the same file."""
        kind = fields.choice("kind", TARGET_KINDS)
        ulid = fields.ulid("id")
        number = TARGET_KINDS.index(kind)
        places: dict[str, int] = self._documents if kind is TargetKind.DOCUMENT else self._trees
        tree_id = fields.ulid("treeId") if kind is TargetKind.NODE else ulid
        fields.done()
        place = places.get(tree_id)
        if place is None:
            raise fields.wrong(f"{kind.value} {ulid} is not in the file")
        if kind is not TargetKind.NODE:
            return Address(GROVE if kind is TargetKind.DOCUMENT else place, number, place)
        node = self._landing.node(place, ulid)
        if node is None:
            raise fields.wrong(f"node {ulid} is not in the file")
        return Address(place, number, node)

    def _take_record(self, fields: Fields) -> None:
        row = record_row(fields)
        self._once(fields, row["ulid"], "\0".join(row[name] for name in (*PLACE, "id")))
        self._landing.record(row)

    def _take_group_entry(self, fields: Fields) -> None:
        row = group_entry_row(fields)
        self._once(fields, "\0".join(map(str, (row["user"], row["session"], row["shelf"], row["name"]))))
        if self._adopted:
            self._landing.add(schema.group_index, row)
        else:
            self._left_out += 1

    def _once(self, fields: Fields, *names: str) -> None:
        for name in names:
            if name in self._seen:
                raise fields.wrong("it is there twice")
            self._seen.add(name)


def _context(fields: Fields) -> str:
    """What a project brings along, as it is kept."""
    items: list[ProjectItem] = []
    for item in fields.many("context", limit=_CONTEXT_LIMIT):
        items.append(ProjectItem(item.choice("kind", tuple(ProjectItemKind)), item.text("reference")))
        item.done()
    return orjson.dumps(items_to_wire(check_items(items))).decode()
