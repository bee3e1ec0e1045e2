"""Read a chain of events: check each link, and collect the fingerprints."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from weft.provenance.chain import event_hash
from weft.provenance.damaged_rows import paged, stamp_of
from weft.provenance.findings import Findings
from weft.provenance.node_columns import NodeColumns
from weft.store import schema
from weft.store.rows import EDGE_TYPES
from weft.store.session import Session
from weft.tree.edge import EdgeType
from weft.tree.event_kinds import CREATING_KINDS, EventKind


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A stored event with its JSON parsed."""

    ordinal: int
    kind: str
    created_at: int
    payload: dict[str, Any]
    hash: bytes


@dataclass(slots=True)
class Chain:
    """The end of a chain, the fingerprints in its events, and the time of its last event."""

    ulid: str
    count: int = 0
    head: bytes | None = None
    last: int = 0
    fingerprints: dict[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])
    compared: set[str] = field(default_factory=set[str])
    """Names of fingerprints that a row was compared with."""


def read_chain(
    session: Session, findings: Findings, tree: int, chain: Chain, agents: dict[int, str]
) -> Iterator[EventRecord]:
    """Every event in order, each checked against its hash and the one before it."""
    events, number = schema.events, 0
    findings.chain, findings.chain_key = chain.ulid, tree
    for row in paged(session, findings, events, events.c.ordinal, events.c.tree == tree):
        name = f"{chain.ulid}/{row.ordinal}"
        chain.count += 1
        findings.events += 1
        findings.compare("event", name, "ordinal", row.ordinal, chain.count)
        findings.compare("event", name, "previous", row.previous, chain.head)
        if row.number <= number:
            findings.differs_in("event", name, "number", row.number)
        number = row.number
        # Goes on from what is stored: one changed event is one finding, not one and all after it.
        chain.head, chain.count = row.hash, row.ordinal
        record = _record(findings, chain, row, name, agents)
        if record is not None:
            chain.last = max(chain.last, record.created_at)
            _gather_fingerprints(chain, record)
            yield record


def _record(
    findings: Findings, chain: Chain, row: Any, name: str, agents: dict[int, str]
) -> EventRecord | None:
    stamp, agent = stamp_of(row.created_at), agents.get(row.agent)
    payload, inverse = _object(row.payload), _object(row.inverse)
    for value, known in (("payload", payload), ("inverse", inverse), ("created at", stamp)):
        if known is None:
            findings.differs_in("event", name, value, getattr(row, value.replace(" ", "_")))
    if agent is None:
        findings.differs_in("event", name, "agent", row.agent)
    if payload is None or inverse is None or stamp is None or agent is None:
        return None
    computed = event_hash(
        previous=row.previous,
        tree=chain.ulid,
        ordinal=row.ordinal,
        kind=row.kind,
        agent_id=agent,
        created_at=stamp,
        payload=payload,
        inverse=inverse,
    )
    findings.compare("event", name, "hash", row.hash, computed)
    return EventRecord(row.ordinal, row.kind, row.created_at, payload, row.hash)


def _object(stored: str) -> dict[str, Any] | None:
    """A JSON object, if it is spelled exactly as it was written."""
    try:
        value = orjson.loads(stored)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict) or orjson.dumps(value, option=orjson.OPT_SORT_KEYS) != stored.encode():
        return None
    return cast("dict[str, Any]", value)


def _gather_fingerprints(chain: Chain, record: EventRecord) -> None:
    facts = record.payload.get("facts")
    if not isinstance(facts, dict):
        return
    for name, digest in cast("dict[str, object]", facts).items():
        try:
            chain.fingerprints[name] = bytes.fromhex(digest) if isinstance(digest, str) else None
        except ValueError:
            chain.fingerprints[name] = b""


CONTINUATION = EDGE_TYPES.index(EdgeType.CONTINUATION)
_UNMADE = 0
_MADE = 1
_MADE_BY_EDIT = 2
_MADE_BY_JOIN = 3
_MADE_BY: dict[str, int] = {
    EventKind.EDIT: _MADE_BY_EDIT,
    EventKind.ERASE: _MADE_BY_EDIT,
    EventKind.JOIN: _MADE_BY_JOIN,
}
_NONE = -1


@dataclass(slots=True)
class NodeLabels:
    """Metadata of one node, where it is not the default."""

    excluded: bool = False
    bookmarked: bool = False
    label: str | None = None
    pruned: int | None = None
    hidden: int | None = None


@dataclass(slots=True)
class Replay:
    """A tree as its events leave it."""

    columns: NodeColumns
    findings: Findings
    buffer_mode: bool
    archived_at: int | None = None
    project: str | None = None
    """The project that the tree belongs to."""
    marks: dict[int, NodeLabels] = field(default_factory=dict[int, NodeLabels])
    items: dict[tuple[str, int], tuple[int | None, int | None]] = field(
        default_factory=dict[tuple[str, int], "tuple[int | None, int | None]"]
    )
    """(node, ordinal) of an item → the events that attached it later, and that detached it."""
    made: bytearray = field(init=False)
    _next: int = field(default=0, init=False)
    _first_child: "array[int]" = field(init=False)
    _next_child: "array[int]" = field(init=False)
    _versions: dict[int, list[int]] = field(default_factory=dict[int, "list[int]"], init=False)
    """Position → later versions at it."""

    def __post_init__(self) -> None:
        count = len(self.columns)
        self.made = bytearray(count)
        self._first_child = array("q", [_NONE]) * count
        self._next_child = array("q", [_NONE]) * count

    def apply(self, event: EventRecord) -> None:
        """Replay one event. Kinds that change no metadata are ignored."""
        payload = event.payload
        if event.kind in CREATING_KINDS and isinstance(payload.get("nodes"), list):
            for ulid in cast("list[object]", payload["nodes"]):
                self._create(str(ulid), event)
        match event.kind:
            case "plant" | "assign":
                self.project = payload.get("project")
            case "archive" | "unarchive":
                self.archived_at = event.created_at if event.kind == "archive" else None
            case "exclude" | "include" | "bookmark" | "unbookmark":
                self._mark(event)
            case "prune":
                self._prune(payload.get("node"), event.ordinal)
            case "restore":
                self._restore(payload.get("prune"))
            case "attach" | "detach":
                self._attach_item(event)
            case "undo" | "redo":
                self._step(event)
            case _:
                pass

    def _step(self, event: EventRecord) -> None:
        """Undo and redo events state the result of each step."""
        payload, undone = event.payload, event.kind == "undo"
        if payload.get("kind") in CREATING_KINDS and isinstance(payload.get("nodes"), list):
            for ulid in cast("list[object]", payload["nodes"]):
                at = self.columns.find(ulid)
                if at is not None:
                    self.mark(at).hidden = event.ordinal if undone else None
        if "archivedAt" in payload:
            self.archived_at = payload["archivedAt"]
        if payload.get("kind") == "assign":
            self.project = payload.get("project")
        if "restored" in payload:
            self._restore(payload["restored"])
        if isinstance(payload.get("pruned"), int):
            self._prune(payload.get("node"), payload["pruned"])
        self._step_item(event)
        self._set(event)

    def _step_item(self, event: EventRecord) -> None:
        item = event.payload.get("item")
        if not isinstance(item, dict):
            return
        place = cast("dict[str, Any]", item)
        node, ordinal = place.get("node"), place.get("ordinal")
        if not isinstance(node, str) or not isinstance(ordinal, int):
            return
        attached, _ = self.items.get((node, ordinal), (None, None))
        self.items[node, ordinal] = (attached, None if place.get("hanging") else event.ordinal)

    def _attach_item(self, event: EventRecord) -> None:
        node, ordinal = event.payload.get("node"), event.payload.get("ordinal")
        if not isinstance(node, str) or not isinstance(ordinal, int):
            return
        attached, _ = self.items.get((node, ordinal), (None, None))
        self.items[node, ordinal] = (
            (event.ordinal, None) if event.kind == "attach" else (attached, event.ordinal)
        )

    def _set(self, event: EventRecord) -> None:
        marks = event.payload.get("marks")
        if not isinstance(marks, dict):
            return
        for ulid, values in cast("dict[str, Any]", marks).items():
            at = self.columns.find(ulid)
            if at is None or not isinstance(values, dict):
                continue
            mark = self.mark(at)
            for name in ("excluded", "bookmarked", "label", "pruned", "hidden"):
                if name in values:
                    setattr(mark, name, values[name])

    def unmade(self) -> Iterator[str]:
        """Nodes that no event created."""
        return (self.columns.ulids[at] for at, state in enumerate(self.made) if state == _UNMADE)

    def is_version(self, index: int) -> bool | None:
        """Whether the node must share its original's position; None: the events do not say."""
        if self.made[index] == _UNMADE:
            return None
        return self.buffer_mode and self.made[index] == _MADE_BY_EDIT

    def is_joined(self, index: int) -> bool:
        """Whether the node came of a join; or is the text that was committed before one."""
        return self.made[index] == _MADE_BY_JOIN

    def counters(self) -> tuple[int, int, int]:
        """Live nodes, branches and depth."""
        columns = self.columns
        live = 0
        places: dict[int, int] = {}
        for at in range(len(columns)):
            mark = self.marks.get(at)
            if mark is not None and (mark.pruned is not None or mark.hidden is not None):
                continue
            live += 1
            if columns.edge_types[at] == CONTINUATION:
                places[columns.positions[at]] = at
        inner = {columns.parents[at] for at in places.values()} & places.keys()
        depth = max((columns.depths[at] for at in places.values()), default=0)
        return live, len(places) - len(inner), depth

    def mark(self, index: int) -> NodeLabels:
        return self.marks.setdefault(index, NodeLabels())

    def _create(self, ulid: str, event: EventRecord) -> None:
        at: int | None = self._next
        if at >= len(self.columns) or self.columns.ulids[at] != ulid:
            at = self.columns.find(ulid)
        if at is None:
            self.findings.missing("node", ulid, f"the node that event {event.ordinal} made")
            return
        self._next = at + 1
        if self.made[at]:
            return
        self.made[at] = _MADE_BY.get(event.kind, _MADE)
        self._link(at)

    def _link(self, at: int) -> None:
        columns = self.columns
        parent = columns.parent(at)
        above = None if parent is None else columns.index(parent)
        # A parent is older than its child; a damaged one may not be, and would make a circle.
        if above is not None and above < at:
            self._next_child[at] = self._first_child[above]
            self._first_child[above] = at
        if columns.positions[at] != columns.keys[at]:
            self._versions.setdefault(columns.positions[at], []).append(at)

    def _mark(self, event: EventRecord) -> None:
        at = self.columns.find(event.payload.get("node"))
        if at is None:
            return
        mark = self.mark(at)
        match event.kind:
            case "exclude" | "include":
                mark.excluded = event.kind == "exclude"
            case _:
                mark.bookmarked = event.kind == "bookmark"
                mark.label = event.payload.get("label") if mark.bookmarked else None

    def _live(self, at: int) -> bool:
        mark = self.marks.get(at)
        return mark is None or (mark.pruned is None and mark.hidden is None)

    def _prune(self, node: object, number: int) -> None:
        at = self.columns.find(node)
        if at is None:
            return
        columns = self.columns
        first = columns.index(columns.positions[at])
        versions = [*([] if first is None else [first]), *self._versions.get(columns.positions[at], ())]
        chosen = [at]
        if not any(other != at and self._live(other) for other in versions) and first is not None:
            chosen.extend(self._below(first))
        for each in chosen:
            if self._live(each):
                self.mark(each).pruned = number

    def _below(self, first: int) -> Iterator[int]:
        """Everything below a position, annotations and versions too."""
        waiting = [first]
        while waiting:
            child = self._first_child[waiting.pop()]
            while child != _NONE:
                yield child
                if self.columns.positions[child] == self.columns.keys[child]:
                    waiting.append(child)
                child = self._next_child[child]

    def _restore(self, number: Any) -> None:
        for mark in self.marks.values():
            if mark.pruned == number:
                mark.pruned = None
