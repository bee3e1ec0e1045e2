"""A request made ready: what was read for it, its envelope, cache controls, prediction and monitor."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from weft.context.cache.controls import CacheControls, HeldCache, cache_controls
from weft.context.cache.prediction import CacheForecast
from weft.context.cache.prefix_monitor import Instability
from weft.context.engine import assemble
from weft.context.envelope import Envelope, sha256_of
from weft.context.items.item_types import ContextItem
from weft.context.request import ContextRequest
from weft.context.result import Context
from weft.context.rows import Candidate, PathOutline
from weft.context.settings import Placement
from weft.context.stored_envelope import REFRESHED, store_envelope
from weft.errors import InvalidInputError
from weft.log import PAYLOAD_LOG
from weft.redaction import redact
from weft.runtime.contexts.path_reader import PathReader
from weft.runtime.contexts.prefix_reasons import watch_turn
from weft.runtime.contexts.system_blocks import Stood
from weft.runtime.contexts.tree_facts import TreeFacts
from weft.runtime.operations.envelopes import KeepEnvelope
from weft.store.provider_caches import live_caches
from weft.store.request_records import recent_prefixes
from weft.tree.agent import Agent
from weft.tree.cache_profile import CacheKind, CacheProfile
from weft.tree.content import Content, Text
from weft.tree.json import JsonValue

LOG = logging.getLogger("weft.layers")
"""Warnings of the monitor; at DEBUG every request, as a layered view."""
PAYLOADS = logging.getLogger(PAYLOAD_LOG)
PAYLOADS.setLevel(logging.INFO)
_RECENT = 32
_SECONDS = {"5m": 5 * 60, "30m": 30 * 60, "1h": 60 * 60}
_MICROSECONDS = 1_000_000
_MARGIN = 30 * _MICROSECONDS
"""A cache is not used in its last seconds."""


class CacheView(NamedTuple):
    """What a request's provider is told about caching, what is expected of its cache, and the monitor's findings."""

    controls: CacheControls
    forecast: CacheForecast | None = None
    instabilities: tuple[Instability, ...] = ()


def view_cache(
    inputs: "ContextInputs", envelope: Envelope, agent: Agent, now: int, *, profile: CacheProfile
) -> CacheView:
    """Compare a request with the earlier ones of its path, and decide what of it is cached."""
    opened = inputs.reader.tree
    lifetime = inputs.request.settings.cache_lifetime
    if lifetime is not None and lifetime not in profile.lifetimes:
        # A preference for one provider says nothing about another.
        lifetime = None
    instabilities: list[Instability] = []
    recent: list[bytes] = []
    if TreeFacts.of(opened).has_envelopes:
        instabilities = watch_turn(inputs.request, inputs.reader, inputs.stood, envelope, agent)
        # Where no lifetime is set, only marks end soon.
        usual = profile.lifetimes[0] if profile.lifetimes else "5m"
        kept = lifetime or (usual if profile.kind is CacheKind.MARKS else "1h")
        since = max(0, now - _SECONDS[kept] * _MICROSECONDS)
        recent = recent_prefixes(opened.session, opened.key, agent.model_ref or "", since, _RECENT)
    if instabilities:
        warnings = (*envelope.warnings, *(each.message for each in instabilities))
        envelope = replace(envelope, warnings=warnings)
    model = agent.model_ref or ""
    held: list[HeldCache] = []
    if lifetime is not None and profile.kind is CacheKind.CONTENT:
        # One that ends while the answer comes would be missed.
        rows = live_caches(opened.session, opened.key, model, now + _MARGIN)
        held = [
            HeldCache(name=row.name, prefix=row.prefix.hex(), messages=row.messages, tokens=row.tokens)
            for row in rows
        ]
    controls = cache_controls(
        envelope,
        profile,
        lifetime=lifetime,
        # A cache of its own costs as long as it lasts: it is created where a lifetime is set.
        explicit=lifetime is not None,
        held=held,
        model=model,
        # What a loom-aware agent is told of the tree stands in the last message, and in no later one.
        end=not agent.loom_aware,
    )
    forecast = CacheForecast(envelope=envelope, profile=profile, controls=controls, recent=tuple(recent))
    return CacheView(controls, forecast, tuple(instabilities))


def refreshed_items(request: ContextRequest) -> tuple[ContextItem, ...]:
    """Items that are not as they were attached."""
    attached = {each.item.id: each.item.sha256 for each in request.attached}
    return tuple(
        item for name, item in request.fresh.items() if attached.get(name, item.sha256) != item.sha256
    )


def record(context: Context) -> None:
    """The payload recorder: the monitor's warnings; in debug, or where it is switched on, the request in layers."""
    for each in context.instabilities:
        LOG.warning("%s of tree %s, from %s", each.message, context.tree_id, context.node_id)
    if context.recorded:
        text = context.payload.text
        PAYLOADS.info("%s", redact(text, limit=len(text)))
    elif LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%s", context.payload.text)


def keeping(context: Context, attempt: str | None = None) -> KeepEnvelope:
    """The operation that keeps a request: for who does more in the same transaction."""
    envelope, forecast = context.laid_out, context.forecast
    if context.agent is None or forecast is None:
        raise InvalidInputError(
            "the context was not prepared for a model", hint="prepare it for an agent that is a model"
        )
    if envelope.message_id != context.node_id:
        raise InvalidInputError("save the input as a node first", hint="say it first")
    record(context)
    stored = store_envelope(envelope)
    read: dict[str, JsonValue] = {
        each.id: {"content": sha256_of(each.content), "created": each.created, "modified": each.modified}
        for each in context.refreshed
    }
    return KeepEnvelope(
        tree=context.tree_id,
        node=context.node_id,
        agent=context.agent.id,
        provider=context.provider,
        record={
            **stored.record,
            "turn": list(context.turn),
            "instabilities": [each.to_wire() for each in context.instabilities],
            **({REFRESHED: read} if read else {}),
        },
        snapshots={
            **stored.snapshots,
            **{sha256_of(each.content): each.content for each in context.refreshed},
        },
        prefix=forecast.prefix,
        total=forecast.prediction.total,
        predicted=forecast.prediction.cached,
        attempt=attempt,
    )


@dataclass(frozen=True, slots=True)
class ContextInputs:
    """What was read for a request, before anything is decided."""

    request: ContextRequest
    reader: PathReader
    legacy: dict[str, str]
    stood: Stood

    def contents(self, names: Iterable[str]) -> dict[str, Content]:
        """The words of these nodes; what was sent for them, where only that is known."""
        if not self.legacy:
            return contents_for(names, self.reader)
        wanted = list(names)
        sent: dict[str, Content] = {name: Text(self.legacy[name]) for name in wanted if name in self.legacy}
        return contents_for(wanted, self.reader) | sent

    def written(self) -> Context:
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
    named = {ulid: contents[row.key] for ulid, row in rows.items()}
    return named | reader.folds.texts if reader.folds.texts else named
