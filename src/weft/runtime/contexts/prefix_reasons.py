"""The monitor over a store: what changed since the last request of a path, and which recorded events explain it."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from sqlalchemy import select

from weft.context.cache.prefix_monitor import (
    DESCRIPTIONS,
    NO_REASONS,
    Instability,
    Reasons,
    Trigger,
    expected_reasons,
    watch,
    watch_tools,
)
from weft.context.envelope import TOOLS, Envelope, Layer, sha256_of
from weft.context.items.item_types import LayerId
from weft.context.request import ContextRequest
from weft.context.settings import Instructions
from weft.context.stored_envelope import load_layer
from weft.errors import NotFoundError
from weft.runtime.contexts.path_reader import PathReader
from weft.runtime.contexts.system_blocks import Stood
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.packed_bodies import snapshots_of
from weft.store.path_queries import ancestor_at_depth, instructing, walk_up
from weft.store.request_records import SentEnvelope, last_sent, record_of, was_sent
from weft.store.rows import LightRow
from weft.store.transaction import GROVE
from weft.store.tree_queries import find_node
from weft.tree.agent import Agent
from weft.tree.event_kinds import STEP_KINDS, EventKind, Subject
from weft.tree.json import JsonObject, JsonValue

_events, _attachments = schema.events, schema.attachments
_FIRST, _MOST = 64, 4_096
"""Levels of a path that are looked through at a time: twice as many each time."""
_PAGE = 1_000
_PROMPT, _CONTEXT = "project_system_prompt", "project_context"
_ARRANGING = ("library", "changed")
"""Settings that decide where each item of the library is."""
_MEASURING = ("libraryShare", "window", "estimator")
"""Settings that decide how much of it is shown."""
_OF_ITEMS = frozenset({Subject.EXCLUSION, Subject.PRUNE, Subject.ITEM})
_Payload: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Before:
    """The stable layers of an earlier request."""

    layers: Mapping[LayerId, Layer]

    def layer(self, name: LayerId) -> Layer:
        return self.layers[name]


def watch_turn(
    request: ContextRequest, reader: PathReader, stood: Stood, envelope: Envelope, agent: Agent
) -> list[Instability]:
    """What changed, without a recorded reason, since the last request of this path to the same agent."""
    opened = reader.tree
    sent = last_on_path(opened, reader.end, reader.agent_key(agent.id), reader.rows) if agent.id else None
    if sent is None:
        return []
    record = record_of(sent)
    before = _layers(opened, record)

    def changes(reasons: Reasons = NO_REASONS) -> list[Instability]:
        tools = [str(record.get("tools") or "")], [envelope.tools_hash]
        described = cast("list[str]", record["toolDescriptions"])
        descriptions = [sha256_of(text) for text in envelope.descriptions]
        return [
            *watch_tools(*tools, reasons),
            *watch(before, envelope, reasons),
            *watch_tools(described, descriptions, reasons, segment=DESCRIPTIONS),
        ]

    if not changes():
        return []
    recorded = _Reasons(request, reader, stood, agent, sent).recorded(record, envelope)
    reasons = {**expected_reasons(before, envelope, recorded), **recorded}
    return changes(reasons)


def last_on_path(
    opened: Opened, end: LightRow, agent: int | None = None, known: Sequence[LightRow] = ()
) -> SentEnvelope | None:
    """The nearest request on the path, to this agent or to any, at any distance; None where there is none.

    `known` are the levels to the end that were read already, without a gap.
    """
    session, tree = opened.session, opened.key
    count, rows = _FIRST, known or walk_up(session, tree, end.position, _FIRST)
    while True:
        sent = last_sent(session, tree, agent, [row.key for row in rows])
        above = rows[0].parent
        if sent is not None or above is None or (count == _FIRST and not was_sent(session, tree, agent)):
            return sent
        count = min(2 * count, _MOST)
        rows = walk_up(session, tree, above, count)


def _layers(opened: Opened, record: JsonObject) -> _Before:
    def text(digest: str) -> str:
        return snapshots_of(opened.session, opened.key, [digest])[digest]

    return _Before({name: load_layer(record, name, text) for name in (LayerId.SYSTEM, LayerId.LIBRARY)})


@dataclass(slots=True)
class _Reasons:
    """Collects which segments the events since an earlier request of the path explain."""

    request: ContextRequest
    reader: PathReader
    stood: Stood
    agent: Agent
    before: SentEnvelope
    _explained: dict[Trigger, set[str]] = field(default_factory=lambda: defaultdict(set))

    def recorded(self, record: JsonObject, envelope: Envelope) -> Reasons:
        self._settings(record, envelope)
        self._instructions()
        for kind, payload in self._since(self.reader.tree.key):
            self._tree_event(kind, payload)
        for kind, payload in self._since(GROVE):
            self._grove_event(kind, payload)
        return self._explained

    def _add(self, trigger: Trigger, *segments: str) -> None:
        self._explained[trigger].update(segments)

    def _settings(self, record: JsonObject, envelope: Envelope) -> None:
        """What the call, or a preference, wants otherwise than the request before."""
        manifest = cast("Mapping[str, JsonValue]", record["manifest"])
        then = cast("Mapping[str, JsonValue]", manifest["settings"])
        now = envelope.manifest.facts.settings
        # A call with tools after one without, or the reverse, is another runner: that is the caller's choice.
        if bool(record.get("tools")) != bool(envelope.tools):
            self._add(Trigger.SETTINGS, TOOLS)
        if bool(record["toolDescriptions"]) != bool(envelope.descriptions):
            self._add(Trigger.SETTINGS, DESCRIPTIONS)
        ids = {each.item.id for each in self.request.attached}
        if any(then.get(name) != now.get(name) for name in _ARRANGING):
            self._add(Trigger.SETTINGS, *ids)
        if record["budget"] != envelope.budget or any(then.get(name) != now.get(name) for name in _MEASURING):
            self._add(Trigger.COMPACTION, *ids)
        if then.get("instructions") != now.get("instructions"):
            self._add(Trigger.SETTINGS, *self._instructing())

    def _instructing(self) -> set[str]:
        return {f"[{each.local_id}]" for each in self._all_instructions()}

    def _all_instructions(self) -> Collection[Any]:
        return (*self.request.system.instructions, *self.request.pending.instructions)

    def _instructions(self) -> None:
        """Those that came with a node below the earlier request, or with the call."""
        tree = self.reader.tree
        rows = instructing(tree.session, tree.key, self.reader.end.position)
        edges = {"", *(each.ulid for each in rows if each.depth > self.before.depth)}
        new = [each for each in self._all_instructions() if each.edge in edges]
        self._add(Trigger.INSTRUCTION, *(f"[{each.local_id}]" for each in new))
        if new and self.request.preferences.instructions is Instructions.LAST:
            # A newer instruction takes the place of the one before.
            self._add(Trigger.INSTRUCTION, *self._instructing())

    def _since(self, chain: int) -> Iterator[tuple[EventKind | None, _Payload]]:
        """Events after the earlier request, the latest first; of an undo or redo, the event that it steps over."""
        session, before = self.reader.tree.session, None
        while True:
            page = (
                select(_events.c.ordinal, _events.c.kind, _events.c.payload, _events.c.created_at)
                .where(_events.c.tree == chain)
                .order_by(_events.c.ordinal.desc())
                .limit(_PAGE)
            )
            rows = session.execute(page if before is None else page.where(_events.c.ordinal < before)).all()
            for row in rows:
                if row.created_at < self.before.created_at:
                    return
                yield self._stepped_over(chain, row) if row.kind in STEP_KINDS else _read(row)
            if len(rows) < _PAGE:
                return
            before = rows[-1].ordinal

    def _stepped_over(self, chain: int, row: Any) -> tuple[EventKind | None, _Payload]:
        payload = json.loads(row.payload)
        ordinal = payload.get("undoes", payload.get("redoes"))
        there = select(_events.c.kind, _events.c.payload).where(
            _events.c.tree == chain, _events.c.ordinal == ordinal
        )
        return _read(self.reader.tree.session.execute(there).one())

    def _tree_event(self, kind: EventKind | None, payload: _Payload) -> None:
        if kind is EventKind.DESCRIBE:
            if "system_context" in payload.get("fields", ()):
                self._add(Trigger.SETTINGS, "tree")
            if "preferences" in payload.get("fields", ()):
                self._add(Trigger.SETTINGS, "memory")
        elif kind is EventKind.ASSIGN:
            self._add(Trigger.PROJECT, _PROMPT, _CONTEXT)
        elif kind is not None and kind.subject in _OF_ITEMS:
            self._add(Trigger.EXCLUSION, *self._of_node(str(payload.get("node"))))

    def _of_node(self, ulid: str) -> Iterator[str]:
        """A node that was left out or taken back: the instruction that it is, and its items if it is on the path."""
        tree, end = self.reader.tree, self.reader.end
        try:
            node = find_node(tree.session, tree.key, ulid, hidden=True)
        except NotFoundError:
            return
        yield f"[{node.local_id}]"
        if node.depth > end.depth or node.position != ancestor_at_depth(
            tree.session, tree.key, end.position, node.depth
        ):
            return
        there = select(_attachments.c.id).where(
            _attachments.c.tree == tree.key, _attachments.c.node == node.key
        )
        yield from tree.session.execute(there).scalars()

    def _grove_event(self, kind: EventKind | None, payload: _Payload) -> None:
        match kind:
            case EventKind.PREFER_IN_GROVE if "userMemory" in payload.get("preferences", ()):
                self._add(Trigger.MEMORY, "memory")
            case EventKind.CHANGE_AGENT if payload.get("agent") == self.agent.id:
                self._add(Trigger.AGENT, "agent", "addendum", TOOLS, DESCRIPTIONS)
            case EventKind.CHANGE_AGENT if self._is_person(payload.get("agent")):
                # A person's own settings say which document is their memory.
                self._add(Trigger.MEMORY, "memory")
            case EventKind.CHANGE_PROJECT if payload.get("project") == self.stood.project:
                parts = {"system_prompt": _PROMPT, "context": _CONTEXT}
                self._add(
                    Trigger.PROJECT, *(parts[name] for name in payload.get("fields", ()) if name in parts)
                )
            case EventKind.MOUNT | EventKind.UNMOUNT:
                self._add(Trigger.PROJECT, _CONTEXT)
            case _ if kind is not None and kind.subject is Subject.DOCUMENT:
                if payload.get("document") in self.stood.memory:
                    self._add(Trigger.MEMORY, "memory")
                if payload.get("document") in self.stood.documents:
                    self._add(Trigger.PROJECT, _CONTEXT)
            case _:
                pass

    def _is_person(self, ulid: object) -> bool:
        return self.reader.agent_key(str(ulid)) in self.stood.people


def _read(row: Any) -> tuple[EventKind | None, _Payload]:
    return EventKind.of(row.kind), json.loads(row.payload)
