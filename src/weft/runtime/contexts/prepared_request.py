"""A request made ready: what to send, what a provider is told about caching, and what it will find there."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weft.context.layers.controls import (
    CacheControls,
    CacheProfile,
    CacheWay,
    cache_controls,
    cache_profile,
)
from weft.context.layers.envelope import Envelope, RequestBlock
from weft.context.layers.monitor import Instability
from weft.context.layers.prediction import Prediction, pieces_of, predict
from weft.context.layers.recorder import Payload, record_payload
from weft.context.layers.stored import store_envelope
from weft.errors import InvalidInputError
from weft.runtime.contexts.cache_monitor import watch_turn
from weft.runtime.operations.envelopes import KeepEnvelope, Kept
from weft.runtime.operations.executor import Caller
from weft.runtime.views.reader import Opened
from weft.store.bodies import recent_prefixes
from weft.tree.agent import Agent
from weft.tree.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from weft.runtime.contexts.layers import Assembly

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
    opened: Opened, assembly: "Assembly", agent: Agent | None, now: int, *, way: str = ""
) -> Prepared:
    """Everything about a request that depends on who will answer it.

    `way` is how its provider wants to be told about caching, where the name does not say so.
    """
    provider = "" if agent is None else agent.model_ref or ""
    profile = cache_profile(provider, way)
    envelope, lifetime = assembly.envelope, assembly.settings.cache_lifetime
    if lifetime is not None and lifetime not in profile.lifetimes:
        # A preference for one provider says nothing about another.
        lifetime = None
    # Where nobody asks for a lifetime, only marks end soon.
    kept = lifetime or (profile.lifetimes[0] if profile.way is CacheWay.MARKS else "1h")
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
            end=not assembly.plan.request.context.preface,
        ),
        prediction=_predicted(opened, pieces, profile, provider, since),
        instabilities=tuple(unexplained),
        turn=tuple(assembly.turn),
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


def keep(caller: Caller, prepared: Prepared, attempt: str | None) -> Kept:
    return caller.perform(keeping(prepared, attempt))


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
