"""Plan a generation: agents, requests and prices, everything before the first word."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import orjson

from weft.errors import InvalidInputError, LimitExceededError
from weft.providers.base import ModelName, ModelProfile, Parameters, Provider, Request
from weft.runtime.contexts.layers import Contexts
from weft.runtime.contexts.options import ids_of
from weft.runtime.generation.assembly import (
    AssembledRequest,
    AssemblyInput,
    RequestAssembler,
    assemble_in_layers,
    assemble_plainly,
    choose_assembler,
    neutral_hash,
    options_of,
    parameters_for,
    parameters_to_wire,
    request_of,
)
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.generation.spending import (
    Spender,
    caps_for,
    caps_of,
    expected_micros,
    is_paid,
    require_held,
    require_room,
)
from weft.runtime.generation.start_call import PlannedCall, StartCalls, StartedCalls
from weft.runtime.generation.start_point import (
    StartPlace,
    StartPoint,
    StartPointReader,
    choose_agents,
    registry_of,
)
from weft.runtime.generation.stream import StreamSlot
from weft.runtime.operations.cursors import CommitBuffer
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.settings import load_settings
from weft.store.model_calls import MICROS
from weft.tree.agent import Agent
from weft.tree.edge import Source, SourceRole
from weft.tree.json import JsonObject
from weft.tree.tree import Mode

_SEED_RANGE = 2**31
_NAMES: dict[RequestAssembler, str] = {assemble_plainly: "plain", assemble_in_layers: "layers"}
_LOOM_AWARE = "loom-aware"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPreflight:
    """What asking one agent would mean."""

    agent: str
    model: str
    n: int
    requests: int
    tokens: int
    """Of each request, by the estimator."""
    window: int | None
    cached: int | None
    """How many of these tokens the provider will find in its cache, where that can be told."""
    dollars: Decimal | None
    """For all of it at most, if nothing is cached; None if nobody knows the price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What a generation would mean, before anything is spent."""

    agents: tuple[AgentPreflight, ...]

    @property
    def tokens(self) -> int:
        return sum(each.tokens * each.requests for each in self.agents)

    @property
    def cached_share(self) -> float | None:
        """Of all tokens that would be sent; None where it cannot be told."""
        if any(each.cached is None for each in self.agents) or not self.tokens:
            return None
        return sum((each.cached or 0) * each.requests for each in self.agents) / self.tokens

    @property
    def dollars(self) -> Decimal | None:
        """At most; None if the price of one is not known."""
        known = [each.dollars for each in self.agents if each.dollars is not None]
        return sum(known, Decimal(0)) if len(known) == len(self.agents) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationPlan:
    """A generation whose calls are written down as started."""

    tree_id: str
    parent_id: str
    sources: tuple[Source, ...]
    calls: tuple[PlannedCall, ...]
    started: StartedCalls
    tokens: int
    cursor: str | None

    @property
    def slots(self) -> tuple[StreamSlot, ...]:
        """One for each continuation."""
        return tuple(
            StreamSlot(
                index=index,
                agent=call.agent.name,
                agent_id=call.agent.id,
                model=call.model,
                attempt=call.attempt,
            )
            for call in self.calls
            for index in call.slots
        )


@dataclass(frozen=True, slots=True)
class _ChosenAgent:
    """An agent that is asked, its key, its provider and the provider's name for its model."""

    agent: Agent
    key: int
    provider: Provider
    model: str

    @property
    def profile(self) -> ModelProfile:
        return self.provider.profile(self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AgentRequest:
    """The request of one agent, before it is split into calls."""

    chosen: _ChosenAgent
    profile: ModelProfile
    request: Request
    assembled: AssembledRequest
    generation: JsonObject
    """How it was asked, to be asked again."""
    choices: tuple[int, ...]
    """How many of each call."""

    def expected(self, n: int) -> int:
        """The highest price of n answers, in millionths of a dollar."""
        answer = self.request.parameters.max_tokens
        return expected_micros(self.profile, prompt=self.assembled.tokens, answer=answer, n=n)


def preflight(caller: Caller, place: StartPlace, options: GenerationOptions) -> Preflight:
    """Tokens and price; nothing is written (but the embedded model's agent, if there is no agent at all)."""
    starts = StartPointReader(caller.store, caller.actor)
    here = starts.here(place.tree, place.node, caller.executor.clock())
    agents = _choose(caller, place, options)
    return _preflight(_assemble(caller, here, agents, options, text=None), options.n)


def plan_generation(
    caller: Caller, place: StartPlace, options: GenerationOptions, *, remarks: bool = False
) -> GenerationPlan:
    """Check, commit what was typed, assemble, and write down what is going to be asked.

    `remarks`: an annotation of a document may be answered.
    """
    starts, clock = StartPointReader(caller.store, caller.actor), caller.executor.clock
    here = starts.here(place.tree, place.node, clock(), remarks=remarks)
    agents = _choose(caller, place, options)
    _check_caps(caller, here, agents, options)
    if here.typed:
        # It is kept if the generation fails; if it ends this path, the generation goes on from there.
        node = caller.perform(CommitBuffer(tree=here.tree_id))
        end = here.node_id if node is None or not here.typed_here else node.id
        here = starts.here(here.tree_id, end, clock())
    requests = _assemble(caller, here, agents, options)
    _check_price(requests, options)
    sources = (
        *(Source(node, SourceRole.CONTEXT) for node in ids_of(options.context)),
        *(Source(node, SourceRole.INSTRUCTION) for node in ids_of(options.instructions)),
    )
    calls = tuple(_calls(requests))
    started = caller.perform(
        StartCalls(
            tree=here.tree_id,
            parent=here.node_id,
            sources=sources,
            calls=calls,
            idempotency_key=options.idempotency_key,
            chain=place.chain,
        )
    )
    return GenerationPlan(
        tree_id=here.tree_id,
        parent_id=here.node_id,
        sources=(Source(here.node_id, SourceRole.PRIMARY), *sources),
        calls=tuple(
            replace(call, key=key, attempt=ulid)
            for call, (key, ulid) in zip(calls, started.attempts, strict=True)
        ),
        started=started,
        tokens=max(each.assembled.tokens for each in requests),
        cursor=here.cursor,
    )


def _choose(caller: Caller, place: StartPlace, options: GenerationOptions) -> list[_ChosenAgent]:
    registry = registry_of(caller.executor)
    return [
        _ChosenAgent(
            replace(agent, permissions=frozenset()) if place.as_subjects else agent,
            key,
            *registry.model(ModelName.parse(agent.model_ref or "")),
        )
        for agent, key in choose_agents(caller, options.agent_names)
    ]


def _assemble(
    caller: Caller,
    here: StartPoint,
    agents: list[_ChosenAgent],
    options: GenerationOptions,
    text: str | None = "",
) -> list[_AgentRequest]:
    return [_request(caller, here, each, options, text) for each in agents]


def _request(
    caller: Caller, here: StartPoint, chosen: _ChosenAgent, options: GenerationOptions, text: str | None
) -> _AgentRequest:
    executor, profile = caller.executor, chosen.profile
    given = AssemblyInput(
        caller=caller,
        contexts=Contexts(executor.store, caller.actor, executor.contents, executor.clock),
        tree=here.tree_id,
        node=here.node_id,
        agent=chosen.agent,
        model=chosen.model,
        profile=profile,
        options=options,
        text=text,
    )
    assembler = options.assembly or choose_assembler(given, dialogue=here.mode is Mode.DIALOGUE)
    assembled = assembler(given)
    parameters = _within(parameters_for(chosen.agent, options), profile)
    request = request_of(given, assembled, parameters)
    return _AgentRequest(
        chosen=chosen,
        profile=profile,
        request=request,
        assembled=assembled,
        generation=_generation(given, assembler, request),
        choices=tuple(_shares(options.n, profile.choices)),
    )


def _check_caps(
    caller: Caller, here: StartPoint, agents: list[_ChosenAgent], options: GenerationOptions
) -> None:
    """Before what was typed is committed: refuse if there is nothing left to spend at all."""
    paid = [each for each in agents if is_paid(each.profile)]
    if not paid:
        return
    now = caller.executor.clock()
    with caller.store.read() as session:
        caps = caps_of(load_settings(session))
        for each in paid:
            agent = each.agent
            spender = Spender(
                tree=here.tree,
                tree_id=here.tree_id,
                agent=each.key,
                agent_id=agent.id,
                agent_name=agent.name,
            )
            if options.unattended:
                held = caps_for(caps, spender)
                require_held(held, each.profile, who=repr(agent.name), model=agent.model_ref or "")
            require_room(session, spender, now=now, more=0, mine=0)


def _check_price(requests: list[_AgentRequest], options: GenerationOptions) -> None:
    """The transaction that starts the calls checks the caps again."""
    most = options.highest_price
    if most is None:
        return
    price = _preflight(requests, options.n).dollars
    if price is None or price > most:
        cost = "the price is not known" if price is None else f"this may cost ${price:.4f}"
        raise LimitExceededError(
            f"{cost}, and at most ${most:f} is allowed", hint="ask for less, or allow more"
        )


def _preflight(requests: list[_AgentRequest], n: int) -> Preflight:
    return Preflight(
        agents=tuple(
            AgentPreflight(
                agent=each.chosen.agent.name,
                model=each.chosen.agent.model_ref or "",
                n=n,
                requests=len(each.choices),
                tokens=each.assembled.tokens,
                window=each.profile.window,
                cached=each.assembled.cached,
                dollars=None
                if each.profile.prices is None and not each.profile.local
                else Decimal(sum(map(each.expected, each.choices))) / MICROS,
            )
            for each in requests
        )
    )


def _calls(requests: list[_AgentRequest]) -> Iterator[PlannedCall]:
    slot = 0
    for each in requests:
        for number, n in enumerate(each.choices):
            parameters = replace(each.request.parameters, n=n)
            if parameters.seed is not None and number:
                # The same seed twice would be the same words twice.
                parameters = replace(parameters, seed=(parameters.seed + number) % _SEED_RANGE)
            manifest: JsonObject = {
                **each.assembled.manifest,
                "generation": {**each.generation, "parameters": parameters_to_wire(parameters)},
            }
            yield PlannedCall(
                slots=tuple(range(slot, slot + n)),
                agent=each.chosen.agent,
                provider=each.chosen.provider,
                profile=each.profile,
                request=replace(each.request, parameters=parameters),
                manifest=orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS),
                expected=each.expected(n),
                envelope=each.assembled.keep,
                unsummarised=each.assembled.unsummarised,
            )
            slot += n


def _shares(n: int, most: int) -> Iterator[int]:
    """N choices in as few requests as the model's provider takes."""
    for start in range(0, n, max(1, most)):
        yield min(n - start, max(1, most))


def _within(parameters: Parameters, profile: ModelProfile) -> Parameters:
    """What the model offers: probabilities are left out where there are none, and a seed has no use."""
    profile.check_temperature(parameters.temperature)
    most, limit = parameters.max_tokens, profile.output_limit
    if most is not None and limit is not None and most > limit:
        raise InvalidInputError(f"max_tokens is {most:,}; the model gives at most {limit:,}")
    wanted = parameters.logprobs
    if wanted is not None and wanted > profile.logprobs:
        raise InvalidInputError(
            f"{wanted} alternatives of each token are wanted; the model offers {profile.logprobs or 'none'}"
        )
    return parameters


def _generation(given: AssemblyInput, assembler: RequestAssembler, request: Request) -> JsonObject:
    """What is needed, beside the engine's account, to assemble it again."""
    options, profile = given.options, given.profile
    return {
        "agent": given.agent.id,
        "parent": given.node,
        "model": given.agent.model_ref,
        "assembly": _LOOM_AWARE if given.agent.loom_aware else _NAMES.get(assembler, "another"),
        "limit": options.limit,
        "window": options_of(given).window,
        "maxTokens": options.max_tokens,
        "preferences": options.settings,
        "context": list(ids_of(options.context)),
        "instructions": list(ids_of(options.instructions)),
        "prefixCache": profile.prefix_cache,
        "prefill": profile.prefill,
        "completion": profile.completion,
        "request": neutral_hash(request),
        **({"tools": [each.name for each in options.tool_outputs]} if options.tool_outputs else {}),
    }
