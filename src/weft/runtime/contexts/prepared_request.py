"""A request made ready: what was read for it, its envelope, cache controls, prediction and monitor."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlalchemy import select

from weft.context.cache.controls import cache_controls
from weft.context.cache.prediction import CacheForecast
from weft.context.cache.prefix_monitor import (
    Instability,
    Trigger,
    expected_triggers,
    watch,
    watch_descriptions,
)
from weft.context.engine import assemble
from weft.context.envelope import Envelope, Layer, sha256_of
from weft.context.items.item_types import LayerId
from weft.context.request import ContextRequest
from weft.context.result import AssembledContext
from weft.context.rows import Candidate, PathOutline
from weft.context.settings import Placement
from weft.context.stored_envelope import load_layer, store_envelope
from weft.errors import InvalidInputError
from weft.runtime.contexts.path_reader import PathReader
from weft.runtime.contexts.system_blocks import Stood
from weft.runtime.contexts.tree_facts import TreeFacts
from weft.runtime.operations.envelopes import KeepEnvelope
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.lookup import find_agent
from weft.store.packed_bodies import snapshots_of
from weft.store.path_queries import ancestor_at_depth, instructing
from weft.store.request_records import envelope_row, recent_prefixes, record_of, with_places
from weft.store.rows import NodeRow
from weft.store.transaction import GROVE
from weft.tree.agent import Agent
from weft.tree.cache_profile import CacheKind, CacheProfile
from weft.tree.content import Content, Text
from weft.tree.event_kinds import STEP_KINDS, EventKind, Subject
from weft.tree.json import JsonObject, JsonValue

LOG = logging.getLogger("weft.layers")
"""Warnings of the monitor; at DEBUG every request, as a layered view."""
_RECENT = 32
_SECONDS = {"5m": 5 * 60, "1h": 60 * 60}
_MICROSECONDS = 1_000_000


def with_cache(
    inputs: "ContextInputs",
    context: AssembledContext,
    agent: Agent,
    now: int,
    *,
    profile: CacheProfile,
) -> AssembledContext:
    """The context with what its provider is told about caching, the expected cached part, and the monitor's warnings."""
    envelope, opened = context.envelope, inputs.reader.tree
    if envelope is None:
        return context
    provider = agent.model_ref or ""
    lifetime = inputs.request.settings.cache_lifetime
    if lifetime is not None and lifetime not in profile.lifetimes:
        # A preference for one provider says nothing about another.
        lifetime = None
    # Where nobody asks for a lifetime, only marks end soon.
    usual = profile.lifetimes[0] if profile.lifetimes else "5m"
    kept = lifetime or (usual if profile.kind is CacheKind.MARKS else "1h")
    since = max(0, now - _SECONDS[kept] * _MICROSECONDS)
    has_sent = TreeFacts.of(opened).has_envelopes
    unexplained = watch_turn(inputs, envelope, agent) if has_sent else []
    if unexplained:
        warnings = (*envelope.warnings, *(each.message for each in unexplained))
        envelope = replace(envelope, warnings=warnings)
    recent = recent_prefixes(opened.session, opened.key, provider, since, _RECENT) if has_sent else []
    return replace(
        context,
        envelope=envelope,
        warnings=envelope.warnings,
        # A cache of its own costs as long as it lasts: it is created where a lifetime is set.
        controls=cache_controls(
            envelope,
            profile,
            lifetime=lifetime,
            explicit=lifetime is not None,
            # What a loom-aware agent is told of the tree stands in the last message, and in no later one.
            end=not agent.loom_aware,
        ),
        forecast=CacheForecast(envelope=envelope, profile=profile, recent=tuple(recent)),
        instabilities=tuple(unexplained),
    )


def record(context: AssembledContext) -> None:
    """The payload recorder: the monitor's warnings, and in debug what is sent as a layered view."""
    for each in context.instabilities:
        LOG.warning("%s of tree %s, from %s", each.message, context.tree_id, context.node_id)
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%s", context.payload.text)


def keeping(context: AssembledContext, attempt: str | None = None) -> KeepEnvelope:
    """The operation that keeps a request: for who does more in the same transaction."""
    envelope, forecast = context.laid_out, context.forecast
    if context.agent is None or forecast is None:
        raise InvalidInputError("no model was asked", hint="prepare it for an agent that is a model")
    if envelope.message_id != context.node_id:
        raise InvalidInputError("input that is no node yet cannot be kept", hint="say it first")
    record(context)
    stored = store_envelope(envelope)
    return KeepEnvelope(
        tree=context.tree_id,
        node=context.node_id,
        agent=context.agent.id,
        provider=context.provider,
        record={
            **stored.record,
            "turn": list(context.turn),
            "instabilities": [each.to_wire() for each in context.instabilities],
        },
        snapshots=stored.snapshots,
        prefix=forecast.prefix,
        total=forecast.prediction.total,
        predicted=forecast.prediction.cached,
        attempt=attempt,
    )


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


def watch_turn(inputs: "ContextInputs", envelope: Envelope, agent: Agent) -> list[Instability]:
    """What changed, without a recorded reason, since the last request of this path to the same agent."""
    opened, end = inputs.reader.tree, inputs.reader.end
    row = _last_on_path(opened, end, agent) if agent.id else None
    if row is None:
        return []
    record = record_of(envelope_row(opened.session, opened.key, row.node, row.ordinal))
    before = _layers(opened, record)
    triggers = set(_triggers(inputs, row, record, envelope, agent))
    triggers |= expected_triggers(before, envelope)
    descriptions = [sha256_of(text) for text in envelope.descriptions]
    return [
        *watch(before, envelope, triggers),
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
    inputs: "ContextInputs", row: Any, record: JsonObject, envelope: Envelope, agent: Agent
) -> Iterator[Trigger]:
    opened, end = inputs.reader.tree, inputs.reader.end
    if _asked_otherwise(record, envelope):
        yield Trigger.SETTINGS
    if any(each.depth > row.depth for each in instructing(opened.session, opened.key, end.position)):
        yield Trigger.INSTRUCTION
    for kind, payload in _since(opened, opened.key, row.created_at):
        yield from _of_tree_event(kind, payload)
    for kind, payload in _since(opened, GROVE, row.created_at):
        yield from _of_grove_event(kind, payload, inputs.stood, agent)


def _asked_otherwise(record: JsonObject, envelope: Envelope) -> bool:
    """Whether the call itself wanted something else than the one before."""
    manifest = cast("Mapping[str, JsonValue]", record["manifest"])
    then = cast("Mapping[str, JsonValue]", manifest["settings"])
    now = envelope.manifest.facts.settings
    return record["budget"] != envelope.budget or any(then.get(each) != now.get(each) for each in _SETTINGS)


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


@dataclass(frozen=True, slots=True)
class ContextInputs:
    """What was read for a request, before anything is decided."""

    request: ContextRequest
    reader: PathReader
    legacy: dict[str, str]
    stood: Stood

    def contents(self, names: Iterable[str]) -> dict[str, Content]:
        """The words of these nodes; what was sent for them, where only that is known."""
        wanted = list(names)
        sent: dict[str, Content] = {name: Text(self.legacy[name]) for name in wanted if name in self.legacy}
        return contents_for(wanted, self.reader) | sent

    def written(self) -> AssembledContext:
        """The context of the request."""
        return assemble(self.request, lambda plan: self.contents(plan.wanted))

    @property
    def way(self) -> tuple[Placement, float]:
        """Where items stand, and how far a cut moves at a time."""
        return self.request.settings.library, self.request.rules.step

    def with_way(self, library: Placement, step: float) -> "ContextInputs":
        """The same with other settings; only what the cut asks for is read again."""
        request = replace(self.request, settings=replace(self.request.settings, library=library))
        if step != request.rules.step:
            request = replace(request, preferences=replace(request.preferences, truncation_step=step))
            outline = with_legacy(self.reader.outline(request), self.reader, self.legacy)
            request = replace(request, outline=outline)
        return replace(self, request=request)


def with_legacy(outline: PathOutline, reader: PathReader, legacy: dict[str, str]) -> PathOutline:
    """Levels at the size of what was sent for them, where that was saved."""
    if not legacy:
        return outline
    of_text = reader.estimator.of_text

    def sized(row: Candidate) -> Candidate:
        text = legacy.get(row.id)
        return row if text is None else row._replace(tokens=of_text(text), kind="text")

    return replace(
        outline, head=[sized(row) for row in outline.head], tail=[sized(row) for row in outline.tail]
    )


def contents_for(wanted: Iterable[str], reader: PathReader) -> dict[str, Content]:
    """The texts of what is kept, in one query for all that is not at hand."""
    rows = {ulid: reader.seen[ulid] for ulid in wanted}
    contents = reader.cache.contents(reader.tree.session, reader.tree.key, rows.values())
    return {ulid: contents[row.key] for ulid, row in rows.items()} | reader.folds.texts
