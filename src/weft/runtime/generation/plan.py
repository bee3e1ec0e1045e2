"""Plan a generation: agents, requests and prices, everything before the first word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

import orjson

from weft.context.result import Context
from weft.errors import ConflictError, InvalidInputError, LimitExceededError
from weft.providers.base import ModelProfile
from weft.runtime.contexts.layers import Contexts
from weft.runtime.contexts.model_agents import (
    AnsweringAgent,
    ShareEmbedded,
    registry_of,
)
from weft.runtime.contexts.model_request import ModelRequest, neutral_hash, parameters_to_wire
from weft.runtime.contexts.options import ids_of
from weft.runtime.contexts.prepared_request import keeping, record
from weft.runtime.events.log import grove_id
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
from weft.runtime.generation.start_call import CATALOG, PlannedCall, StartCalls, StartedCalls
from weft.runtime.generation.start_point import StartPlace, StartPoint, StartPointReader
from weft.runtime.generation.stream import StreamSlot
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.permissions import Actor
from weft.runtime.operations.settings import load_settings
from weft.runtime.views.reader import Opened
from weft.store.model_calls import MICROS
from weft.store.session import Session
from weft.tree.citation import CitedSource
from weft.tree.edge import Source, SourceRole
from weft.tree.json import JsonObject


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
    """The most that all of it costs, if nothing is cached; None if the price is not known."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _AgentRequest:
    """The request of one agent, before it is split into calls."""

    context: Context
    delivery: ModelRequest

    @property
    def agent(self) -> AnsweringAgent:
        return self.delivery.answering

    @property
    def profile(self) -> ModelProfile:
        return self.delivery.profile

    @property
    def cached(self) -> int | None:
        """How many tokens the provider will find in its cache, where that can be told."""
        prediction = self.context.prediction
        return prediction.cached if prediction is not None and self.profile.prefix_cache else None

    def expected(self, n: int) -> int:
        """The highest price of n answers, in millionths of a dollar."""
        answer = self.delivery.request.parameters.max_tokens
        return expected_micros(self.profile, prompt=self.context.tokens, answer=answer, n=n)


def preflight(caller: Caller, place: StartPlace, options: GenerationOptions) -> Preflight:
    """Tokens and price; nothing is written."""
    with Contexts.of(caller).pinned(options.moment) as contexts:
        here = _start(contexts, place, options, caller.executor.clock())
        with contexts.opened(here.tree_id) as opened:
            agents = _agents(contexts, opened, place, options)
            return _preflight(_requests(contexts, opened, here, place=place, agents=agents, options=options))


def plan_generation(
    caller: Caller, place: StartPlace, options: GenerationOptions, *, remarks: bool = False
) -> GenerationPlan:
    """Check, commit what was typed, assemble, and write down what is going to be asked.

    All that is read is read in one snapshot; only after a commit there is another.
    `remarks`: an annotation of a document may be answered.
    """
    reading, prepared, is_first = Contexts.of(caller), options.prepared, True
    while True:
        with reading.pinned(options.moment) as contexts, contexts.opened(place.tree) as opened:
            here = _start(contexts, place, options, caller.executor.clock(), remarks=remarks)
            if prepared is not None and is_first:
                _check_prepared(opened, here, prepared)
            agents = _agents(contexts, opened, place, options)
            _check_caps(opened.session, here, agents, options, caller.executor.clock())
            is_committed = not here.typed or not is_first
            if is_committed and all(each.key is not None for each in agents):
                requests = _requests(contexts, opened, here, place=place, agents=agents, options=options)
                break
        is_first = False
        if not is_committed:
            # It is kept if the generation fails; if it ends this path, the generation goes on from there.
            node = here.commit_typed(caller)
            end = here.node_id if node is None or not here.typed_here else node.id
            place = replace(place, tree=here.tree_id, node=end)
        if any(each.key is None for each in agents):
            caller.perform(ShareEmbedded(registry=registry_of(caller.executor)))
    _check_price(requests, options)
    asked = requests[0].delivery.options
    sources = (
        *(Source(node, SourceRole.CONTEXT) for node in ids_of(asked.context)),
        *(Source(node, SourceRole.INSTRUCTION) for node in ids_of(asked.instructions)),
    )
    calls = tuple(_calls(requests, here, options))
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
        tokens=max(each.context.tokens for each in requests),
        cursor=here.cursor,
    )


def _start(
    contexts: Contexts, place: StartPlace, options: GenerationOptions, now: int, *, remarks: bool = False
) -> StartPoint:
    node, prepared = place.node, options.prepared
    if node is None and prepared is not None and prepared.tree_id == place.tree:
        node = prepared.node_id
    return StartPointReader(contexts.store, contexts.actor).here(place.tree, node, now, remarks=remarks)


def _delivery_of(context: Context) -> ModelRequest:
    if not isinstance(context.delivery, ModelRequest):
        raise InvalidInputError(
            "the prepared context does not come from a grove",
            hint="prepare it with node.context(…)",
            path="prepared",
        )
    return context.delivery


def _check_prepared(opened: Opened, here: StartPoint, context: Context) -> None:
    """Refuse a context of another place, and one whose input has changed since."""
    delivery = _delivery_of(context)
    other = None
    if delivery.grove != grove_id(opened.session):
        other = "another grove"
    elif context.tree_id != here.tree_id:
        other = "another tree"
    elif context.node_id != here.node_id:
        other = "another node"
    if other is not None:
        raise InvalidInputError(
            f"the prepared context is of {other}", hint="prepare it where it is sent from", path="prepared"
        )
    if delivery.options.text or delivery.options.items:
        raise InvalidInputError(
            "the prepared context has input that is not a node yet",
            hint="say it, and prepare from there",
            path="prepared",
        )
    if delivery.typed != (here.typed if here.typed_here else ""):
        raise ConflictError(
            "the uncommitted text has changed since the context was prepared", hint="prepare it again"
        )


def _agents(
    contexts: Contexts, opened: Opened, place: StartPlace, options: GenerationOptions
) -> list[AnsweringAgent]:
    """The agents that answer, each with its provider."""
    names, prepared, actor = options.agent_names, options.prepared, contexts.actor
    if prepared is not None:
        # Chosen when the context was made: a caller that may use it may use its agent.
        actor = Actor(contexts.actor.agent)
        own = _delivery_of(prepared).answering.agent
        names = (own.id,) if own.id else ()
    agents = contexts.answering_agents(opened, names, actor)
    for each in agents:
        if prepared is not None and each.agent.model_ref != prepared.provider:
            raise ConflictError(
                f"{each.agent.name!r} has another model than the context was prepared for",
                hint="prepare it again",
            )
        if each.missing is not None:
            raise each.missing
    if place.as_subjects:
        return [replace(each, agent=replace(each.agent, permissions=frozenset())) for each in agents]
    return agents


def _requests(
    contexts: Contexts,
    opened: Opened,
    here: StartPoint,
    *,
    place: StartPlace,
    agents: list[AnsweringAgent],
    options: GenerationOptions,
) -> list[_AgentRequest]:
    requests: list[_AgentRequest] = []
    for each in agents:
        if options.prepared is not None:
            context = options.prepared.changed(agent=each.agent)
            delivery = replace(_delivery_of(context), answering=each)
        else:
            context = (
                contexts.context(opened, here.node_id, options, each)
                if place.turn is None
                else place.turn(contexts, opened, options, each)
            )
            delivery = _delivery_of(context)
        if delivery.refusal is not None:
            raise delivery.refusal
        requests.append(_AgentRequest(context=context, delivery=delivery))
    return requests


def _check_caps(
    session: Session,
    here: StartPoint,
    agents: list[AnsweringAgent],
    options: GenerationOptions,
    now: int,
) -> None:
    """Before what was typed is committed: refuse if there is nothing left to spend at all."""
    paid = [each for each in agents if each.profile is not None and is_paid(each.profile)]
    if not paid:
        return
    caps = caps_of(load_settings(session))
    for each in paid:
        agent, profile = each.agent, each.profile
        if each.key is None or profile is None:
            continue
        spender = Spender(
            tree=here.tree,
            tree_id=here.tree_id,
            agent=each.key,
            agent_id=agent.id,
            agent_name=agent.name,
        )
        if options.unattended:
            held = caps_for(caps, spender)
            require_held(held, profile, who=repr(agent.name), model=agent.model_ref or "")
        require_room(session, spender, now=now, more=0, mine=0)


def _check_price(requests: list[_AgentRequest], options: GenerationOptions) -> None:
    """The transaction that starts the calls checks the caps again."""
    most = options.highest_price
    if most is None:
        return
    price = _preflight(requests).dollars
    if price is None or price > most:
        cost = "the price is not known" if price is None else f"this may cost ${price:.4f}"
        raise LimitExceededError(
            f"{cost}, and at most ${most:f} is allowed", hint="ask for less, or allow more"
        )


def _preflight(requests: list[_AgentRequest]) -> Preflight:
    agents: list[AgentPreflight] = []
    for each in requests:
        calls, profile = each.delivery.calls, each.profile
        is_known = profile.prices is not None or profile.local
        micros = sum(each.expected(call.parameters.n) for call in calls)
        agents.append(
            AgentPreflight(
                agent=each.agent.agent.name,
                model=each.agent.agent.model_ref or "",
                n=each.delivery.options.n,
                requests=len(calls),
                tokens=each.context.tokens,
                window=profile.window,
                cached=each.cached,
                dollars=Decimal(micros) / MICROS if is_known else None,
            )
        )
    return Preflight(agents=tuple(agents))


def _calls(
    requests: list[_AgentRequest], here: StartPoint, options: GenerationOptions
) -> Iterator[PlannedCall]:
    slot = 0
    for each in requests:
        context, delivery, provider = each.context, each.delivery, each.agent.provider
        if provider is None:
            raise each.agent.missing or InvalidInputError(f"{each.agent.agent.name!r} has no provider")
        if context.envelope is not None and not delivery.kept:
            record(context)
        catalog = tuple(
            source for output in delivery.options.tool_outputs for source in output.sources
        ) + tuple(options.citable)
        generation = _generation(context, delivery, here, catalog)
        for request in delivery.calls:
            n = request.parameters.n
            manifest: JsonObject = {
                **context.manifest.stored(),
                "generation": {**generation, "parameters": parameters_to_wire(request.parameters)},
            }
            parameters = replace(request.parameters, timeout=options.timeout)
            yield PlannedCall(
                slots=tuple(range(slot, slot + n)),
                agent=each.agent.agent,
                provider=provider,
                catalog=catalog,
                profile=each.profile,
                request=replace(request, parameters=parameters),
                manifest=orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS),
                expected=each.expected(n),
                envelope=partial(keeping, context) if delivery.kept else None,
                unsummarised=context.unsummarised,
                reads_calls=delivery.reads_calls,
            )
            slot += n


def _generation(
    context: Context, delivery: ModelRequest, here: StartPoint, catalog: Sequence[CitedSource]
) -> JsonObject:
    """What is needed, beside the engine's account, to assemble it again."""
    options, profile, agent = delivery.options, delivery.profile, delivery.answering.agent
    laid_out = "plain" if context.envelope is None else "layers"
    further = options.further()
    return {
        "agent": agent.id,
        "parent": here.node_id,
        "model": agent.model_ref,
        "assembly": "loom-aware" if agent.loom_aware else laid_out,
        "limit": options.limit,
        "window": delivery.window,
        "maxTokens": options.max_tokens,
        "preferences": options.settings,
        "context": list(ids_of(options.context)),
        "instructions": list(ids_of(options.instructions)),
        "prefixCache": profile.prefix_cache,
        "prefill": profile.prefill,
        "completion": profile.completion,
        "toolCalling": profile.tools,
        "systemAnywhere": profile.system_anywhere,
        "request": neutral_hash(delivery.request),
        **({"cache": delivery.request.cache.cached_content} if delivery.request.cache.cached_content else {}),
        **({"tools": [each.name for each in options.tool_outputs]} if options.tool_outputs else {}),
        **({CATALOG: [list(each) for each in catalog]} if catalog else {}),
        **({"options": further} if further else {}),
    }
