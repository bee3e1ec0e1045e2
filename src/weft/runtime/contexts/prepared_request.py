"""A request made ready: what was read for it, its envelope, cache controls, prediction and monitor."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlalchemy import select

from weft.context.layers.cache import (
    CacheControls,
    Instability,
    Payload,
    Prediction,
    Trigger,
    cache_controls,
    expected_triggers,
    pieces_of,
    predict,
    record_payload,
    watch,
    watch_descriptions,
)
from weft.context.layers.envelope import Envelope, Layer, RequestBlock, sha256_of
from weft.context.layers.items import LayerId
from weft.context.layers.render import render_layers
from weft.context.layers.stored import load_layer, store_envelope
from weft.context.render import measured
from weft.context.request import ContextRequest, Plan
from weft.context.rows import Candidate, PathOutline
from weft.context.settings import LayerSettings, Placement
from weft.errors import InvalidInputError
from weft.runtime.contexts.path_reader import PathReader
from weft.runtime.contexts.system_blocks import Stood
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


@dataclass(frozen=True, slots=True)
class Assembly:
    """An envelope, with what it was made from."""

    envelope: Envelope
    plan: Plan
    end: NodeRow
    settings: LayerSettings
    stood: Stood


LOG = logging.getLogger("weft.layers")
"""Warnings of the monitor; at DEBUG every request, as a layered view."""
_BYTES = 8
"""Of a hash: enough to tell the pieces of a conversation apart."""
_RECENT = 32
_SECONDS = {"5m": 5 * 60, "1h": 60 * 60}
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a generation needs to send a turn, and to keep what it sent."""

    tree_id: str
    node_id: str
    agent: Agent | None
    envelope: Envelope
    controls: CacheControls
    prediction: Prediction
    instabilities: tuple[Instability, ...]
    turn: tuple[str, ...]
    """Ids of the nodes whose words are the input."""
    prefix: bytes
    """What the request is made of, piece by piece, as later ones are compared with it."""

    @property
    def provider(self) -> str:
        """`provider:model`, or nothing where nobody is known to answer."""
        return "" if self.agent is None else self.agent.model_ref or ""

    @property
    def payload(self) -> Payload:
        """The request as a layered view."""
        return record_payload(
            self.envelope, provider=self.provider, controls=self.controls, prediction=self.prediction
        )

    @property
    def messages(self) -> list[JsonObject]:
        """In nobody's dialect, the system first."""
        return self.envelope.llm_messages

    def to_wire(self) -> JsonObject:
        found: dict[str, JsonValue] = dict(self.payload.to_wire())
        found["instabilities"] = [each.to_wire() for each in self.instabilities]
        return found


def prepare(
    opened: Opened, assembly: Assembly, agent: Agent | None, now: int, profile: CacheProfile
) -> Prepared:
    """Everything about a request that depends on who will answer it, and on its provider's cache."""
    provider = "" if agent is None else agent.model_ref or ""
    envelope, lifetime = assembly.envelope, assembly.settings.cache_lifetime
    if lifetime is not None and lifetime not in profile.lifetimes:
        # A preference for one provider says nothing about another.
        lifetime = None
    # Where nobody asks for a lifetime, only marks end soon.
    usual = profile.lifetimes[0] if profile.lifetimes else "5m"
    kept = lifetime or (usual if profile.kind is CacheKind.MARKS else "1h")
    since = max(0, now - _SECONDS[kept] * _MICROSECONDS)
    unexplained = watch_turn(opened, assembly, agent)
    if unexplained:
        warnings = (*envelope.warnings, *(each.message for each in unexplained))
        envelope = replace(envelope, warnings=warnings)
        for each in unexplained:
            LOG.warning("%s of tree %s, from %s", each.message, opened.ulid, assembly.end.local_id)
    pieces = pieces_of(envelope, profile)
    return Prepared(
        tree_id=opened.ulid,
        node_id=assembly.end.ulid,
        agent=agent,
        envelope=envelope,
        # A cache of its own costs as long as it lasts: whoever wants one says how long.
        controls=cache_controls(
            envelope,
            profile,
            lifetime=lifetime,
            explicit=lifetime is not None,
            # What a loom-aware agent is told of the tree stands in the last message, and in no later one.
            end=not assembly.plan.request.preface,
        ),
        prediction=_predicted(opened, pieces, profile, provider, since),
        instabilities=tuple(unexplained),
        turn=tuple(assembly.plan.turn),
        prefix=b"".join(bytes.fromhex(each.sha256)[:_BYTES] for each in pieces),
    )


def _predicted(
    opened: Opened, pieces: Sequence[RequestBlock], profile: CacheProfile, provider: str, since: int
) -> Prediction:
    recent = recent_prefixes(opened.session, opened.key, provider, since, _RECENT)
    blocks = [each._replace(sha256=each.sha256[: 2 * _BYTES]) for each in pieces]
    return predict(blocks, map(_blocks_of, recent), profile)


def _blocks_of(prefix: bytes) -> list[RequestBlock]:
    return [
        RequestBlock(None, 0, "", prefix[start : start + _BYTES].hex(), 0)
        for start in range(0, len(prefix), _BYTES)
    ]


def record(prepared: Prepared) -> None:
    """The payload recorder: in debug, what is sent as a layered view."""
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%s", prepared.payload.text)


def keeping(prepared: Prepared, attempt: str | None = None) -> KeepEnvelope:
    """The operation that keeps a request: for who does more in the same transaction."""
    if prepared.agent is None:
        raise InvalidInputError("nobody was asked", hint="prepare it for an agent that is a model")
    if prepared.envelope.message_id != prepared.node_id:
        raise InvalidInputError("words that are no node yet cannot be kept", hint="say them first")
    record(prepared)
    stored = store_envelope(prepared.envelope)
    return KeepEnvelope(
        tree=prepared.tree_id,
        node=prepared.node_id,
        agent=prepared.agent.id,
        provider=prepared.provider,
        record={
            **stored.record,
            "turn": list(prepared.turn),
            "instabilities": [each.to_wire() for each in prepared.instabilities],
        },
        snapshots=stored.snapshots,
        prefix=prepared.prefix,
        total=prepared.prediction.total,
        predicted=prepared.prediction.cached,
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


def watch_turn(opened: Opened, assembly: Assembly, agent: Agent | None) -> list[Instability]:
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
    opened: Opened, row: Any, record: JsonObject, assembly: Assembly, agent: Agent
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


def _asked_otherwise(record: JsonObject, assembly: Assembly) -> bool:
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


@dataclass(frozen=True, slots=True)
class ContextInputs:
    """What was read for a request, before anything is decided."""

    request: ContextRequest
    reader: PathReader
    legacy: dict[str, str]
    stood: Stood
    warnings: tuple[str, ...] = ()

    def contents(self, names: Iterable[str]) -> dict[str, Content]:
        """The words of these nodes; what was sent for them, where only that is known."""
        wanted = list(names)
        sent: dict[str, Content] = {name: Text(self.legacy[name]) for name in wanted if name in self.legacy}
        return contents_for(wanted, self.reader) | sent

    def written(self, plan_of: Callable[[ContextRequest], Plan]) -> Assembly:
        """Plan and render, within the budget for certain: an exact count of the whole may pass that of its parts."""
        request = self.request
        while True:
            plan = plan_of(request)
            envelope = render_layers(plan, self.contents(plan.wanted))
            over = measured(envelope, request.estimator) - request.budget if request.estimator.seam else 0
            if over <= 0:
                return self.assembly(plan, envelope)
            request = replace(request, held_back=request.held_back + over)

    def assembly(self, plan: Plan, envelope: Envelope) -> Assembly:
        """An envelope of it, with what could not be read."""
        warnings = tuple(dict.fromkeys([*envelope.warnings, *self.warnings]))
        envelope = replace(envelope, warnings=warnings)
        return Assembly(envelope, plan, self.reader.end, self.request.settings, self.stood)

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
