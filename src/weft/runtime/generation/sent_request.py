"""What a generated node's model saw: from what was kept of it, and by assembling it again."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, cast

import orjson

from weft.context.manifest import RENDERER, Manifest
from weft.error_hints import Hint, HintKind
from weft.errors import NotFoundError, UnavailableError, WeftError
from weft.providers.adapter import dry_run
from weft.providers.base import CacheKind, ModelName, ModelProfile, ProviderRegistry, Request
from weft.runtime.contexts.assembler import Contexts
from weft.runtime.coordination.background import model_loop
from weft.runtime.evidence.provenance_view import Evidence
from weft.runtime.generation.assembly import (
    AssemblyInput,
    RequestAssembler,
    assemble_in_layers,
    assemble_plainly,
    neutral_hash,
    parameters_for,
    parameters_from_wire,
    request_of,
)
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.runtime.views.reader import Reader
from weft.tree.edge import SourceRole
from weft.tree.json import JsonObject
from weft.tree.node import Node

_ASSEMBLIES: dict[str, RequestAssembler] = {"plain": assemble_plainly, "layers": assemble_in_layers}


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


def load_sent_request(executor: Executor, actor: Actor, tree: str, node: str) -> SentRequest:
    evidence = Evidence(executor.store, actor)
    value = Reader(executor.store, actor).node(tree, node)
    manifest, body = evidence.manifest(tree, node), evidence.request(tree, node)
    if manifest is None or body is None:
        raise NotFoundError(
            f"no request is kept for [{value.local_id}]",
            hint=Hint(HintKind.SEE_CONTEXT),
        )
    told = cast("Mapping[str, Any]", orjson.loads(manifest))
    return SentRequest(
        node=value,
        body=body,
        sha256=evidence.provenance(tree, node).request_sha256,
        manifest=Manifest.from_stored(told),
        generation=told.get("generation", {}),
    )


def check_sent_request(
    executor: Executor, actor: Actor, registry: ProviderRegistry, sent: SentRequest
) -> RequestCheck:
    """Rebuild the body byte for byte from what was kept; and, where nothing has changed, by assembling it anew."""
    rebuilt = hashlib.sha256(sent.body).hexdigest()
    again, why = _again(executor, actor, registry, sent)
    return RequestCheck(
        sha256=sent.sha256, rebuilt=rebuilt, is_whole=rebuilt == sent.sha256, again=again, why=why
    )


def _again(
    executor: Executor, actor: Actor, registry: ProviderRegistry, sent: SentRequest
) -> tuple[Rebuilt, str]:
    told = cast("Mapping[str, Any]", sent.generation)
    if not told:
        return Rebuilt.UNKNOWN, "it is not known how it was asked for"
    assembly = _ASSEMBLIES.get(told["assembly"])
    if told["assembly"] == "loom-aware":
        return Rebuilt.UNKNOWN, "what a loom-aware agent is shown changes with time"
    if assembly is None:
        return Rebuilt.UNKNOWN, "it was assembled in a way of its own"
    if told.get("tools"):
        return Rebuilt.UNKNOWN, f"what tools gave ({', '.join(told['tools'])}) is not asked for again"
    if sent.manifest.facts.renderer != RENDERER:
        return (
            Rebuilt.UNKNOWN,
            f"it was rendered by version {sent.manifest.facts.renderer}; this is {RENDERER}",
        )
    try:
        request = _assemble(executor, actor, sent, told, assembly)
        if neutral_hash(request) != told["request"]:
            return Rebuilt.DIFFERS, "what it was made of has changed since"
        body = _composed(registry, told, request)
    except UnavailableError as error:
        return Rebuilt.UNKNOWN, error.message
    except WeftError as error:
        return Rebuilt.DIFFERS, error.message
    if body == sent.body:
        return Rebuilt.SAME, ""
    return Rebuilt.DIFFERS, "its words are the same, but the provider is told them in another form now"


def _composed(registry: ProviderRegistry, told: Mapping[str, Any], request: Request) -> bytes:
    """The body as the provider's own SDK would send it; nothing is sent."""
    if "parameters" not in told:
        raise UnavailableError("its words are the same; how it was to be answered was not noted")
    provider, _ = registry.model(told["model"])
    asked = replace(request, parameters=parameters_from_wire(told["parameters"]))
    return model_loop().submit(dry_run(provider, asked)).result().body


def _assemble(
    executor: Executor, actor: Actor, sent: SentRequest, told: Mapping[str, Any], assembly: RequestAssembler
) -> Request:
    edge = sent.node.edge
    if edge is None:
        raise NotFoundError("a root has no request")
    parent = next(source.node for source in edge.sources if source.role is SourceRole.PRIMARY)
    options = GenerationOptions(
        agents=(told["agent"],),
        limit=told["limit"],
        window=told["window"],
        max_tokens=told["maxTokens"],
        preferences=told["preferences"],
        context=tuple(told["context"]),
        instructions=tuple(told["instructions"]),
    )
    agent = Reader(executor.store, actor).agent(told["agent"])
    profile = ModelProfile(
        cache=CacheKind.PREFIX if told["prefixCache"] else CacheKind.NONE, prefill=told["prefill"]
    )
    ask = AssemblyInput(
        executor=executor,
        contexts=Contexts(executor.store, actor, executor.contents),
        tree=sent.node.tree_id,
        node=told.get("parent", parent),
        agent=agent,
        model=ModelName.parse(told["model"]).model,
        profile=profile,
        options=options,
    )
    return request_of(ask, assembly(ask), parameters_for(agent, options), executor.store.blobs)
