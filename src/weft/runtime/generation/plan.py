"""Plan a generation: agents, requests and prices, everything before the first word."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import orjson

from weft.errors import InvalidInputError, LimitExceededError
from weft.providers.base import ModelName, ModelProfile, Parameters, Provider, ProviderRegistry, Request
from weft.runtime.contexts.assembler import Contexts
from weft.runtime.contexts.options import ids_of
from weft.runtime.coordination.heartbeat import this_process
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
    with_choices,
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
from weft.runtime.generation.start_call import CallPlan, StartCalls, StartedCalls
from weft.runtime.generation.start_point import StartPlace, StartPoint, StartPointReader, choose_agents
from weft.runtime.generation.stream import StreamSlot
from weft.runtime.operations.cursors import CommitBuffer
from weft.runtime.operations.executor import Executor, Operation
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.settings import load_settings
from weft.store.model_calls import MICROS
from weft.tree.agent import Agent
from weft.tree.edge import Source, SourceRole
from weft.tree.json import JsonObject

HOLD_SECONDS = 30.0
"""How long a call stands for under way without a sign of life."""
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
class PlannedCall:
    """One request, ready to be made."""

    slots: tuple[int, ...]
    """The continuation that each of its choices is."""
    agent: Agent
    provider: Provider
    profile: ModelProfile
    request: Request
    manifest: bytes
    expected: int
    envelope: Callable[[str], Operation[object]] | None = None
    key: int = 0
    attempt: str = ""

    @property
    def model(self) -> str:
        return f"{self.provider.name}:{self.request.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationPlan:
    """A generation that is written down as under way."""

    tree_id: str
    parent_id: str
    sources: tuple[Source, ...]
    calls: tuple[PlannedCall, ...]
    slots: tuple[StreamSlot, ...]
    begun: StartedCalls
    tokens: int
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One agent's part."""

    agent: Agent
    key: int
    provider: Provider
    profile: ModelProfile
    request: Request
    assembled: AssembledRequest
    generation: JsonObject
    """How it was asked, to be asked again."""
    choices: tuple[int, ...]
    """How many of each request."""

    def expected(self, n: int) -> int:
        return expected_micros(
            self.profile,
            prompt=self.assembled.tokens,
            answer=self.request.parameters.max_tokens,
            n=n,
        )

    @property
    def whole(self) -> int:
        return sum(self.expected(n) for n in self.choices)


@dataclass(frozen=True, slots=True)
class _Preparing:
    executor: Executor
    actor: Actor
    registry: ProviderRegistry
    options: GenerationOptions
    place: StartPlace
    text: str | None = ""

    def agents(self) -> list[tuple[Agent, int, Provider, str]]:
        """Who is asked, with the provider of each and its own name for the model."""
        return [
            (self._seen(agent), key, *self.registry.model(ModelName.parse(agent.model_ref or "")))
            for agent, key in choose_agents(
                self.executor, self.actor, self.registry, self.options.agent_names
            )
        ]

    def _seen(self, agent: Agent) -> Agent:
        return replace(agent, permissions=frozenset()) if self.place.as_subjects else agent

    def ask_all(self, here: StartPoint, agents: list[tuple[Agent, int, Provider, str]]) -> list[_Asked]:
        return [self._ask(here, *each) for each in agents]

    def _ask(self, here: StartPoint, agent: Agent, key: int, provider: Provider, model: str) -> _Asked:
        options, store = self.options, self.executor.store
        profile = provider.profile(model)
        ask = AssemblyInput(
            executor=self.executor,
            contexts=Contexts(store, self.actor, self.executor.contents, self.executor.clock),
            tree=here.tree_id,
            node=here.node_id,
            agent=agent,
            model=model,
            profile=profile,
            options=options,
            text=self.text,
        )
        assembly = options.assembly or choose_assembler(ask, dialogue=here.dialogue)
        assembled = assembly(ask)
        request = request_of(ask, assembled, _within(parameters_for(agent, options), profile), store.blobs)
        return _Asked(
            agent=agent,
            key=key,
            provider=provider,
            profile=profile,
            request=request,
            assembled=assembled,
            generation=_generation(ask, assembly, request),
            choices=tuple(_shares(options.n, profile.choices)),
        )

    def check_caps(self, here: StartPoint, agents: list[tuple[Agent, int, Provider, str]]) -> None:
        """Before what was typed is committed: whether there is anything left to spend at all."""
        paid = [
            (agent, key, provider.profile(model))
            for agent, key, provider, model in agents
            if is_paid(provider.profile(model))
        ]
        if not paid:
            return
        now = self.executor.clock()
        with self.executor.store.read() as session:
            caps = caps_of(load_settings(session))
            for agent, key, profile in paid:
                spender = _spender(here, agent, key)
                if self.options.unattended:
                    held = caps_for(caps, spender)
                    require_held(held, profile, who=repr(agent.name), model=agent.model_ref or "")
                require_room(session, spender, now=now, more=0, mine=0)

    def check_price(self, asked: list[_Asked]) -> None:
        """The caps are looked at again by the transaction that begins the calls."""
        most = self.options.highest_price
        if most is None:
            return
        price = _preflight(asked, self.options.n).dollars
        if price is None or price > most:
            told = "nobody knows what this costs" if price is None else f"this may cost ${price:.4f}"
            raise LimitExceededError(
                f"{told}, and at most ${most:f} is allowed", hint="ask for less, or allow more"
            )


def preflight(
    executor: Executor,
    actor: Actor,
    registry: ProviderRegistry,
    place: StartPlace,
    options: GenerationOptions,
) -> Preflight:
    """What it would mean; nothing is written (but the embedded model's agent, if there is none at all)."""
    here = StartPointReader(executor.store, actor).here(place.tree, place.node, executor.clock())
    preparing = _Preparing(executor, actor, registry, options, place, text=None)
    return _preflight(preparing.ask_all(here, preparing.agents()), options.n)


def _preflight(asked: list[_Asked], n: int) -> Preflight:
    return Preflight(
        agents=tuple(
            AgentPreflight(
                agent=each.agent.name,
                model=each.agent.model_ref or "",
                n=n,
                requests=len(each.choices),
                tokens=each.assembled.tokens,
                window=each.profile.window,
                cached=each.assembled.cached,
                dollars=None
                if each.profile.prices is None and not each.profile.local
                else Decimal(each.whole) / MICROS,
            )
            for each in asked
        )
    )


def plan_generation(
    executor: Executor,
    actor: Actor,
    registry: ProviderRegistry,
    place: StartPlace,
    options: GenerationOptions,
) -> GenerationPlan:
    """Check, commit what was typed, assemble, and write down what is going to be asked."""
    places = StartPointReader(executor.store, actor)
    here = places.here(place.tree, place.node, executor.clock())
    preparing = _Preparing(executor, actor, registry, options, place)
    agents = preparing.agents()
    preparing.check_caps(here, agents)
    if here.typed:
        here = _commit(executor, actor, places, here)
    asked = preparing.ask_all(here, agents)
    preparing.check_price(asked)
    sources = (
        *(Source(node, SourceRole.CONTEXT) for node in ids_of(options.context)),
        *(Source(node, SourceRole.INSTRUCTION) for node in ids_of(options.instructions)),
    )
    calls = list(_calls(asked))
    begun = executor.perform(
        actor,
        StartCalls(
            tree=here.tree_id,
            parent=here.node_id,
            sources=sources,
            calls=[
                CallPlan(
                    agent=call.agent.id,
                    provider=call.provider.name,
                    model=call.request.model,
                    manifest=call.manifest,
                    expected=call.expected,
                    envelope=call.envelope,
                )
                for call in calls
            ],
            holder=this_process(),
            held_for=round(HOLD_SECONDS * MICROS),
            idempotency_key=options.idempotency_key,
            chain=place.chain,
        ),
    )
    made = tuple(
        replace(call, key=key, attempt=ulid) for call, (key, ulid) in zip(calls, begun.attempts, strict=True)
    )
    return GenerationPlan(
        tree_id=here.tree_id,
        parent_id=here.node_id,
        sources=(Source(here.node_id, SourceRole.PRIMARY), *sources),
        calls=made,
        slots=tuple(_slots(made)),
        begun=begun,
        tokens=max(each.assembled.tokens for each in asked),
        cursor=here.cursor,
    )


def _commit(executor: Executor, actor: Actor, places: StartPointReader, here: StartPoint) -> StartPoint:
    """What was typed is kept whatever becomes of the generation; if it ends this path, it goes on from there."""
    node = executor.perform(actor, CommitBuffer(tree=here.tree_id))
    end = here.node_id if node is None or not here.typed_here else node.id
    return places.here(here.tree_id, end, executor.clock())


def _calls(asked: list[_Asked]) -> Iterator[PlannedCall]:
    slot = 0
    for each in asked:
        for number, n in enumerate(each.choices):
            request = with_choices(_with_seed(each.request, number), n)
            generation: JsonObject = {
                **each.generation,
                "parameters": parameters_to_wire(request.parameters),
            }
            told: JsonObject = {**each.assembled.manifest, "generation": generation}
            yield PlannedCall(
                slots=tuple(range(slot, slot + n)),
                agent=each.agent,
                provider=each.provider,
                profile=each.profile,
                request=request,
                manifest=orjson.dumps(told, option=orjson.OPT_SORT_KEYS),
                expected=each.expected(n),
                envelope=each.assembled.keep,
            )
            slot += n


def _with_seed(request: Request, number: int) -> Request:
    """The same seed twice would be the same words twice."""
    seed = request.parameters.seed
    if seed is None or number == 0:
        return request
    return replace(request, parameters=replace(request.parameters, seed=(seed + number) % _SEED_RANGE))


def _slots(calls: tuple[PlannedCall, ...]) -> Iterator[StreamSlot]:
    for call in calls:
        for index in call.slots:
            yield StreamSlot(
                index=index,
                agent=call.agent.name,
                agent_id=call.agent.id,
                model=call.model,
                attempt=call.attempt,
            )


def _shares(n: int, most: int) -> Iterator[int]:
    """N choices in as few requests as the model's provider takes."""
    left = n
    while left > 0:
        share = min(left, max(1, most))
        yield share
        left -= share


def _within(parameters: Parameters, profile: ModelProfile) -> Parameters:
    """What the model offers: probabilities are left out where there are none, and a seed has no use."""
    most, limit = parameters.max_tokens, profile.output_limit
    if most is not None and limit is not None and most > limit:
        raise InvalidInputError(f"max_tokens is {most:,}; the model gives at most {limit:,}")
    wanted = parameters.logprobs
    if wanted is not None and wanted > profile.logprobs:
        raise InvalidInputError(
            f"{wanted} alternatives of each token are wanted; the model offers {profile.logprobs or 'none'}"
        )
    return parameters


def _spender(here: StartPoint, agent: Agent, key: int) -> Spender:
    return Spender(tree=here.tree, tree_id=here.tree_id, agent=key, agent_id=agent.id, agent_name=agent.name)


def _generation(ask: AssemblyInput, assembly: RequestAssembler, request: Request) -> JsonObject:
    """What is needed, beside the engine's account, to assemble it again."""
    options, profile = ask.options, ask.profile
    return {
        "agent": ask.agent.id,
        "parent": ask.node,
        "model": ask.agent.model_ref,
        "assembly": _LOOM_AWARE if ask.agent.loom_aware else _NAMES.get(assembly, "another"),
        "limit": options.limit,
        "window": options_of(ask).window,
        "maxTokens": options.max_tokens,
        "preferences": options.settings,
        "context": list(ids_of(options.context)),
        "instructions": list(ids_of(options.instructions)),
        "prefixCache": profile.prefix_cache,
        "prefill": profile.prefill,
        "request": neutral_hash(request),
        **({"tools": [each.name for each in options.tool_outputs]} if options.tool_outputs else {}),
    }
