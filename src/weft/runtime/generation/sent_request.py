"""What a generated node's model saw: from what was kept of it, and by assembling it again."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, cast

import orjson
from sqlalchemy import select

from weft.context.cache.controls import CacheControls
from weft.context.manifest import RENDERER, Manifest
from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, UnavailableError, WeftError
from weft.providers.adapter import dry_run
from weft.providers.base import ModelProfile, ProviderRegistry, Request
from weft.runtime.contexts.layers import Contexts
from weft.runtime.contexts.model_agents import AnsweringAgent, registry_of
from weft.runtime.contexts.model_request import ModelRequest, neutral_hash, parameters_from_wire
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.coordination.background import model_loop
from weft.runtime.evidence.provenance_view import Evidence
from weft.runtime.operations.executor import Caller
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.provider_caches import cache_named
from weft.store.request_records import request_segments
from weft.tree.cache_profile import NO_PREFIX_CACHE
from weft.tree.edge import SourceRole
from weft.tree.json import JsonObject
from weft.tree.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """The request that a node was the answer to."""

    node: Node
    body: bytes
    sha256: str | None
    """As it was noted when it was sent."""
    manifest: Manifest
    generation: JsonObject
    """How it was asked; empty where the node did not come of `generate`."""
    cache: bytes | None = None
    """The body of the request that created the cache which it names, where that is known."""


class Rebuilt(StrEnum):
    """What assembling it again came to."""

    SAME = "same"
    DIFFERS = "differs"
    """Something that it was made of has changed since: an agent's prompt, an excluded node, a preference."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCheck:
    """Whether the request is what was sent."""

    sha256: str | None
    rebuilt: str
    """Of the body, put together from its segments."""
    is_whole: bool
    again: Rebuilt
    why: str = ""


def load_sent_request(caller: Caller, tree: str, node: str) -> SentRequest:
    evidence = Evidence(caller.store, caller.actor)
    value = Reader.of(caller).node(tree, node)
    manifest, body = evidence.manifest(tree, node), evidence.request(tree, node)
    if manifest is None or body is None:
        raise NotFoundError(
            f"no request is kept for [{value.local_id}]",
            hint=Hint(HintKind.SEE_CONTEXT),
        )
    asked = cast("Mapping[str, Any]", orjson.loads(manifest))
    return SentRequest(
        node=value,
        body=body,
        sha256=evidence.provenance(tree, node).request_sha256,
        manifest=Manifest.from_stored(asked),
        generation=asked.get("generation", {}),
        cache=_cache_request(caller, tree, cache_named_in(body)),
    )


def _cache_request(caller: Caller, tree: str, name: str) -> bytes | None:
    if not name:
        return None
    attempts = schema.attempts
    with Contexts.of(caller).opened(tree) as opened:
        row = cache_named(opened.session, opened.key, name)
        if row is None or row.attempt is None:
            return None
        there = select(attempts.c.key).where(attempts.c.tree == opened.key, attempts.c.ulid == row.attempt)
        key = opened.session.execute(there).scalar_one()
        return b"".join(request_segments(opened.session, opened.key, key))


def check_sent_request(caller: Caller, sent: SentRequest) -> RequestCheck:
    """Rebuild the body byte for byte from its segments; and, where nothing has changed, assemble it again."""
    rebuilt = hashlib.sha256(sent.body).hexdigest()
    again, why = _again(caller, sent)
    return RequestCheck(
        sha256=sent.sha256, rebuilt=rebuilt, is_whole=rebuilt == sent.sha256, again=again, why=why
    )


def _again(caller: Caller, sent: SentRequest) -> tuple[Rebuilt, str]:
    asked = cast("Mapping[str, Any]", sent.generation)
    if not asked:
        return Rebuilt.UNKNOWN, "it is not known how it was asked for"
    if asked["assembly"] == "loom-aware":
        return Rebuilt.UNKNOWN, "what a loom-aware agent is shown changes with time"
    if asked["assembly"] not in {"plain", "layers"}:
        return Rebuilt.UNKNOWN, "it was assembled in a way of its own"
    if asked.get("tools"):
        return Rebuilt.UNKNOWN, f"what tools gave ({', '.join(asked['tools'])}) is not asked for again"
    if sent.manifest.facts.renderer != RENDERER:
        return (
            Rebuilt.UNKNOWN,
            f"it was rendered by version {sent.manifest.facts.renderer}; this is {RENDERER}",
        )
    try:
        request = _assemble(caller, sent, asked)
        if neutral_hash(request) != asked["request"]:
            return Rebuilt.DIFFERS, "what it was made of has changed since"
        body = _composed(registry_of(caller.executor), sent, request)
    except UnavailableError as error:
        return Rebuilt.UNKNOWN, error.message
    except WeftError as error:
        return Rebuilt.DIFFERS, error.message
    if body == sent.body:
        return Rebuilt.SAME, ""
    return Rebuilt.DIFFERS, "its words are the same, but the provider is asked them in another form now"


def _composed(registry: ProviderRegistry, sent: SentRequest, request: Request) -> bytes:
    """The body as the provider's own SDK would send it; nothing is sent."""
    asked = cast("Mapping[str, Any]", sent.generation)
    if "parameters" not in asked:
        raise UnavailableError("the messages are the same; the parameters of the answer were not recorded")
    provider, _ = registry.model(asked["model"])
    again = replace(request, parameters=parameters_from_wire(asked["parameters"]))
    if "cache" in asked or request.cache.cached_content is not None:
        # Whichever cache a request would use now, it used this one then, or none.
        name = cache_named_in(sent.body)
        used = {**asked.get("cache", {}), "name": name} if name else None
        again = replace(again, cache=CacheControls(cached_content=used))
    return model_loop().submit(dry_run(provider, again)).result()[-1].body


def cache_named_in(body: bytes) -> str:
    """The cache that a request names; empty where it was sent without one."""
    try:
        sent: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    named = cast("Mapping[str, object]", sent).get("cachedContent") if isinstance(sent, dict) else None
    return named if isinstance(named, str) else ""


def _assemble(caller: Caller, sent: SentRequest, asked: Mapping[str, Any]) -> Request:
    edge = sent.node.edge
    if edge is None:
        raise NotFoundError("a root has no request")
    parent = next(source.node for source in edge.sources if source.role is SourceRole.PRIMARY)
    options = ContextOptions(
        limit=asked["limit"],
        window=asked["window"],
        max_tokens=asked["maxTokens"],
        preferences=asked["preferences"],
        context=tuple(asked["context"]),
        instructions=tuple(asked["instructions"]),
        **ContextOptions.from_further(asked.get("options", {})),
    )
    provider, model = registry_of(caller.executor).model(asked["model"])
    profile = ModelProfile(
        cache=provider.profile(model).cache if asked["prefixCache"] else NO_PREFIX_CACHE,
        prefill=asked["prefill"],
        completion=asked.get("completion", True),
        tools=asked.get("toolCalling", True),
        system_anywhere=asked.get("systemAnywhere", False),
    )
    answering = AnsweringAgent(
        agent=replace(Reader.of(caller).agent(asked["agent"]), permissions=frozenset()),
        key=None,
        model=model,
        profile=profile,
    )
    with Contexts.of(caller).pinned() as contexts, contexts.opened(sent.node.tree_id) as opened:
        context = contexts.context(opened, asked.get("parent", parent), options, answering)
    return cast("ModelRequest", context.delivery).request
