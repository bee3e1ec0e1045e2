"""Watching the stable layers of a path: what changed since the turn before, and which recorded event explains it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import select

from weft.context.layers.envelope import Layer, sha256_of
from weft.context.layers.monitor import (
    Instability,
    Trigger,
    expected_triggers,
    watch,
    watch_descriptions,
)
from weft.context.layers.names import LayerId
from weft.context.layers.stored import load_layer
from weft.runtime.contexts.system_blocks import Stood
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.bodies import envelope_row, record_of, snapshots_of, with_places
from weft.store.lookup import find_agent
from weft.store.path_queries import instructing
from weft.store.rows import NodeRow
from weft.store.transaction import GROVE
from weft.store.tree_queries import ancestor_at_depth
from weft.tree.agent import Agent
from weft.tree.event_kinds import STEP_KINDS, EventKind, Subject
from weft.tree.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from weft.runtime.contexts.layers import Assembly

_events = schema.events
_CANDIDATES = 64
"""Requests among which the last one of this path is looked for."""
_EVENTS = 1_000
_SETTINGS = ("library", "changed", "libraryShare")
_EXCLUDING = frozenset({Subject.EXCLUSION, Subject.PRUNE, Subject.ITEM})


@dataclass(frozen=True, slots=True)
class _Before:
    """The stable layers of an earlier request."""

    layers: Mapping[LayerId, Layer]

    def layer(self, name: LayerId) -> Layer:
        return self.layers[name]


def watch_turn(opened: Opened, assembly: "Assembly", agent: Agent | None) -> list[Instability]:
    """What no recorded event explains, since the last request of this path to the same agent."""
    row = None if agent is None else _last_on_path(opened, assembly.end, agent)
    if row is None or agent is None:
        return []
    record = record_of(envelope_row(opened.session, opened.key, row.node, row.ordinal))
    before = _layers(opened, record)
    triggers = set(_triggers(opened, row, record, assembly, agent))
    triggers |= expected_triggers(before, assembly.envelope)
    descriptions = [sha256_of(text) for text in assembly.envelope.descriptions]
    return [
        *watch(before, assembly.envelope, triggers),
        *watch_descriptions(cast("list[str]", record["toolDescriptions"]), descriptions, triggers),
    ]


def _last_on_path(opened: Opened, end: NodeRow, agent: Agent) -> Any | None:
    session, tree = opened.session, opened.key
    for row in with_places(session, tree, agent=find_agent(session, agent.id), limit=_CANDIDATES):
        if (
            row.depth <= end.depth
            and ancestor_at_depth(session, tree, end.position, row.depth) == row.position
        ):
            return row
    return None


def _layers(opened: Opened, record: JsonObject) -> _Before:
    def text(digest: str) -> str:
        return snapshots_of(opened.session, opened.key, [digest])[digest]

    return _Before({name: load_layer(record, name, text) for name in (LayerId.SYSTEM, LayerId.LIBRARY)})


def _triggers(
    opened: Opened, row: Any, record: JsonObject, assembly: "Assembly", agent: Agent
) -> Iterator[Trigger]:
    session = opened.session
    if _asked_otherwise(record, assembly):
        yield Trigger.SETTINGS
    if any(each.depth > row.depth for each in instructing(session, opened.key, assembly.end.position)):
        yield Trigger.INSTRUCTION
    for kind, payload in _since(opened, opened.key, row.created_at):
        yield from _of_tree_event(kind, payload)
    for kind, payload in _since(opened, GROVE, row.created_at):
        yield from _of_grove_event(kind, payload, assembly.stood, agent)


def _asked_otherwise(record: JsonObject, assembly: "Assembly") -> bool:
    """Whether the call itself wanted something else than the one before."""
    manifest = cast("Mapping[str, JsonValue]", record["manifest"])
    then = cast("Mapping[str, JsonValue]", manifest["settings"])
    now = assembly.envelope.manifest.facts.settings
    return record["budget"] != assembly.envelope.budget or any(
        then.get(each) != now.get(each) for each in _SETTINGS
    )


def _since(opened: Opened, chain: int, moment: int) -> Iterator[tuple[EventKind | None, dict[str, Any]]]:
    found = (
        select(_events.c.kind, _events.c.payload)
        .where(_events.c.tree == chain, _events.c.created_at >= moment)
        .order_by(_events.c.ordinal.desc())
        .limit(_EVENTS)
    )
    for row in opened.session.execute(found):
        payload = json.loads(row.payload)
        word = str(payload.get("kind")) if row.kind in STEP_KINDS else row.kind
        yield EventKind.of(word), payload


def _of_tree_event(kind: EventKind | None, payload: Mapping[str, Any]) -> Iterator[Trigger]:
    if kind is EventKind.DESCRIBE:
        fields = payload.get("fields")
        if fields is None or {"system_context", "preferences"} & set(fields):
            yield Trigger.SETTINGS
    elif kind is EventKind.ASSIGN:
        yield Trigger.SETTINGS
    elif kind is not None and kind.subject in _EXCLUDING:
        yield Trigger.EXCLUSION


def _of_grove_event(
    kind: EventKind | None, payload: Mapping[str, Any], stood: Stood, agent: Agent
) -> Iterator[Trigger]:
    match kind:
        case EventKind.PREFER_IN_GROVE:
            yield Trigger.SETTINGS
        case EventKind.CHANGE_AGENT if payload.get("agent") in {None, agent.id}:
            yield Trigger.AGENT
        case EventKind.CHANGE_AGENT:
            # A person's own settings say which document is their memory.
            yield Trigger.MEMORY
        case EventKind.CHANGE_PROJECT if payload.get("project") in {None, stood.project}:
            yield Trigger.PROJECT
        case _ if kind is not None and kind.subject is Subject.DOCUMENT:
            if payload.get("document") in {None, *stood.documents}:
                yield Trigger.MEMORY
                yield Trigger.PROJECT
        case EventKind.MOUNT | EventKind.UNMOUNT:
            yield Trigger.PROJECT
        case _:
            pass
