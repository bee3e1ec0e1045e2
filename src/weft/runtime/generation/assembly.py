"""The request of one agent: plain, or in layers with attachments and cache marks."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import orjson

from weft.context.result import AssembledContext
from weft.providers.base import NO_CACHE, CacheSettings, ModelProfile, Parameters, Request
from weft.runtime.contexts.agent_context import InRun, lay_out, see
from weft.runtime.contexts.assembler import NO_TURNS, require_no_tools
from weft.runtime.contexts.layers import Contexts, Layers
from weft.runtime.contexts.options import ContextOptions, LayerOptions
from weft.runtime.contexts.prepared_request import Prepared, keeping, prepare, record
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.operations.executor import Caller, Operation
from weft.store.blobs import BlobStore
from weft.tree.agent import Agent
from weft.tree.content import blob_refs
from weft.tree.json import JsonObject, JsonValue, camel
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role

_OURS = frozenset({"contextWindow", "crossTree", "inlineTokens", "loomLayout"})
"""Settings of an agent that Weft reads and no provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyInput:
    """What is to be assembled: for whom, from where, how."""

    caller: Caller
    contexts: Contexts
    tree: str
    node: str
    agent: Agent
    model: str
    """The provider's own name of it."""
    profile: ModelProfile
    options: GenerationOptions
    text: str | None = ""
    """What is not a node yet; None: what is typed at the end of a document, if that is where this is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledRequest:
    """A request's words, and the account of them."""

    system: tuple[str, ...] = ()
    """In blocks, as the cache controls count them."""
    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    """In buffer mode, instead of messages."""
    prefill: str = ""
    cache: CacheSettings = NO_CACHE
    manifest: JsonObject = field(default_factory=dict[str, JsonValue])
    """As it is stored with the attempt."""
    tokens: int = 0
    """By the estimator."""
    cached: int | None = None
    """How many of them the provider will find in its cache, where that can be told."""
    keep: Callable[[str], Operation[object]] | None = None
    """What keeps it for later requests to be compared with, given the id of the call."""
    unsummarised: tuple[str, ...] = ()
    """Ids of nodes that it shows as extracts: starting the call queues their summaries."""


RequestAssembler: TypeAlias = Callable[[AssemblyInput], AssembledRequest]


def options_of(given: AssemblyInput) -> ContextOptions:
    """How the engine is to see the place: with the model's own window, unless the agent or the call says."""
    options, profile = given.options, given.profile
    window = options.window
    if window is None and given.agent.configuration.custom.get("contextWindow") is None:
        window = profile.window
    return ContextOptions(
        limit=options.limit,
        window=window,
        max_tokens=options.max_tokens,
        agent=given.agent.id,
        preferences=options.preferences,
        estimator=options.estimator,
        prefix_cache=profile.prefix_cache,
        prefill=profile.prefill,
        completion=profile.completion,
        text=given.text,
        context=options.context,
        instructions=options.instructions,
        tool_outputs=options.tool_outputs,
    )


def assemble_plainly(given: AssemblyInput) -> AssembledRequest:
    """The path as messages or as one document, by the engine."""
    context = given.contexts.plain(given.tree, given.node, options_of(given))
    messages, prefill = with_prefill(given.profile, context.messages)
    return replace(_assembled(context), messages=messages, prompt=context.document, prefill=prefill)


def _assembled(context: AssembledContext) -> AssembledRequest:
    return AssembledRequest(
        system=(context.system,) if context.system else (),
        messages=context.messages,
        manifest=context.manifest.stored(),
        tokens=context.tokens,
        unsummarised=context.unsummarised,
    )


def with_prefill(profile: ModelProfile, messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], str]:
    """The answer goes on where the model's own last words end, if the provider has that."""
    last = messages[-1] if messages else None
    if profile.prefill and last is not None and last.role is Role.ASSISTANT and _is_plain(last):
        return messages[:-1], last.text
    return messages, ""


def _is_plain(message: Message) -> bool:
    return not message.calls and not message.results and message.text != "" and len(message.blocks) == 1


def request_of(given: AssemblyInput, assembled: AssembledRequest, parameters: Parameters) -> Request:
    """The same as a provider is given it."""
    return Request(
        model=given.model,
        messages=assembled.messages,
        prompt=assembled.prompt,
        system=assembled.system,
        parameters=parameters,
        prefill=assembled.prefill,
        cache=assembled.cache,
        media=Media(given.caller.store.blobs, assembled.messages),
    )


class Media(Mapping[str, bytes]):
    """Bytes of the pictures and sounds that messages show, read when an adapter asks for them."""

    def __init__(self, blobs: BlobStore, messages: tuple[Message, ...]) -> None:
        self._blobs = blobs
        self._refs = dict.fromkeys(
            ref for message in messages for block in message.blocks for ref in blob_refs(block)
        )

    def __getitem__(self, ref: str) -> bytes:
        if ref not in self._refs:
            raise KeyError(ref)
        return self._blobs.get(ref)

    def __iter__(self) -> Iterator[str]:
        return iter(self._refs)

    def __len__(self) -> int:
        return len(self._refs)


def neutral_hash(request: Request) -> str:
    """SHA-256 of what is asked, in nobody's dialect: to know it again after assembling it again."""
    value: JsonObject = {
        "model": request.model,
        "system": list(request.system),
        "messages": [message_to_wire(message) for message in request.messages],
        "prompt": request.prompt,
        "prefill": request.prefill,
    }
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


_PARAMETERS = ("temperature", "top_p", "max_tokens", "stop", "seed", "n", "logprobs", "custom")
"""What a request says beside its words."""


def parameters_for(agent: Agent, options: GenerationOptions) -> Parameters:
    """The parameters of one call: the options', else the agent's. n is set for each call."""
    settings = agent.configuration
    return Parameters(
        temperature=settings.temperature if options.temperature is None else options.temperature,
        top_p=options.top_p,
        max_tokens=settings.max_tokens if options.max_tokens is None else options.max_tokens,
        stop=settings.stop_sequences if options.stop is None else tuple(options.stop),
        seed=options.seed,
        logprobs=options.logprobs,
        timeout=options.timeout,
        custom={name: value for name, value in settings.custom.items() if name not in _OURS},
    )


def parameters_to_wire(parameters: Parameters) -> JsonObject:
    """As it is kept to make the same request again."""
    kept = {camel(name): getattr(parameters, name) for name in _PARAMETERS}
    return {**kept, "stop": list(parameters.stop), "custom": dict(parameters.custom)}


def parameters_from_wire(kept: Mapping[str, Any]) -> Parameters:
    given: dict[str, Any] = {name: kept[camel(name)] for name in _PARAMETERS}
    given["stop"] = tuple(given["stop"])
    return Parameters(**given)


def assemble_in_layers(given: AssemblyInput) -> AssembledRequest:
    """The same place, laid out from what changes least to what changes most."""
    layers = Layers.of(given.caller)
    options, cache = LayerOptions.of(options_of(given)), given.profile.cache
    prepared = layers.prepare(given.tree, given.node, options, is_subject=True, cache=cache)
    return assembled_from(given, prepared)


def assembled_from(given: AssemblyInput, prepared: Prepared, *, kept: bool = True) -> AssembledRequest:
    """A request in layers as it is sent, and kept with its turn if that is wanted."""
    envelope = prepared.envelope
    if not kept:
        record(prepared)
    messages, prefill = envelope.messages, ""
    if not prepared.controls.marks:
        # Where messages are marked they are counted, and none may go.
        messages, prefill = with_prefill(given.profile, messages)
    return AssembledRequest(
        system=(*envelope.system_blocks, *([envelope.memory_block] if envelope.memory_block else ())),
        messages=messages,
        prefill=prefill,
        cache=prepared.controls,
        manifest=envelope.manifest.stored(),
        tokens=envelope.tokens,
        cached=prepared.prediction.cached if given.profile.prefix_cache else None,
        keep=partial(keeping, prepared) if kept else None,
    )


def assemble_loom_aware(given: AssemblyInput) -> AssembledRequest:
    """One answer of a loom-aware agent, outside of any run."""
    return assemble_in_run(given, None)


def assemble_in_run(given: AssemblyInput, run: InRun | None) -> AssembledRequest:
    """The request of a loom-aware agent. The last words are always a user's, so there is no prefill."""
    contexts, options = given.contexts, options_of(given)
    with contexts.opened(given.tree) as opened:
        gathered = contexts.gathered(opened, given.node, options)
    if gathered.request.dialogue:
        layered = lay_out(contexts, given.agent, gathered, run)
        with contexts.opened(given.tree) as opened:
            prepared = prepare(opened, layered, given.agent, contexts.clock(), given.profile.cache)
        # What was sent is kept with its turn; what a run sends after it belongs to the run.
        assembled = assembled_from(given, prepared, kept=run is None or not run.exchanges)
        return replace(assembled, unsummarised=layered.plan.unsummarised)
    return _assembled(see(contexts, given.agent, gathered, run))


def choose_assembler(given: AssemblyInput, *, dialogue: bool) -> RequestAssembler:
    """Layers, which are stored with their turn.

    A loom-aware agent also sees the tree around it; a document has no turns.
    """
    if given.agent.loom_aware:
        return assemble_loom_aware
    if not dialogue:
        require_no_tools(options_of(given), NO_TURNS)
        return assemble_plainly
    return assemble_in_layers
