"""The grove's surroundings: models, the default agent, spending, jobs, commands."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal

from fastapi import APIRouter

from weft.argument_checks import Options, option
from weft.error_hints import Face
from weft.errors import InvalidInputError
from weft.grove.grove import Grove
from weft.providers.base import ModelInfo, ModelPrices
from weft.providers.catalog import Catalog, ModelListing
from weft.providers.keys import Keys
from weft.runtime.collaboration.commands.session import run_commands
from weft.runtime.collaboration.run_events import Answered, step_of
from weft.runtime.coordination.jobs import JobStatus
from weft.runtime.operations.permissions import require_access
from weft.server.idempotency import KeyedRoute
from weft.server.route_table import TableRoute, add_routes
from weft.server.routes.operations import whole_number
from weft.server.wire import BOOLEAN, ERRORS, TEXT, array, object_of, reference_to
from weft.store.model_calls import MICROS
from weft.tree.access import MemberRole
from weft.tree.json import JsonObject, JsonValue, camel
from weft.tree.json_names import to_wire

router = APIRouter(route_class=KeyedRoute, prefix="/api", tags=["administration"], responses=ERRORS)

_WHOLE = {"type": "integer"}
_HIDDEN = "scripted"
"""The provider for tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions(Options):
    """Which models are listed."""

    provider: str | None = option(None, "Only this provider's; default: all.")
    fresh: bool = option(False, "Ask the providers, not the saved lists.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultAgentOptions(Options):
    """Who answers by default."""

    agent: str | None = option(None, "An agent's name or id; default: the one that was added last.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CapOptions(Options):
    """How much may be spent."""

    whose: str = option("grove", "grove, tree:ID or agent:ID.")
    period: str = option("total", "total, or day (UTC).")
    dollars: str | None = option(None, "For example 0.50; null removes the cap.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions(Options):
    """Which jobs."""

    kind: str | None = option(None, "Only of this kind.")
    status: str | None = option(None, "waiting, running, retrying or failed.")
    limit: int = option(100, "How many, at most.", least=1, most=1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOptions(Options):
    """Commands, and who gives them."""

    text: str = option("", "Commands, a line each: → help.", least=1)
    agent: str | None = option(None, "An agent that acts for you.")


def _require_owner(grove: Grove) -> None:
    """Keys and addresses of servers are the owner's matter: requests go where they say."""
    with grove.caller.reading() as session:
        require_access(session, grove.caller.actor, MemberRole.OWNER)


def _models(grove: Grove, _: object, options: ModelOptions) -> object:
    """With window, output limit, abilities and prices; from saved lists that are at most a day old."""
    registry = grove.generations.registry
    catalog = Catalog(registry, clock=grove.caller.executor.clock)
    names = [name for name in registry.names if name != _HIDDEN]
    if options.provider is not None:
        names = [options.provider.rstrip(":").lower()]
    if options.fresh:
        _require_owner(grove)

    async def listings() -> list[ModelListing]:
        return [await catalog.models(name, fresh=options.fresh, ask=options.fresh) for name in names]

    read = asyncio.run(listings())
    return {
        "models": [_model(listing, info) for listing in read for info in listing.models],
        "providers": [_provider(listing) for listing in read],
    }


def _provider(listing: ModelListing) -> JsonObject:
    return {
        "name": listing.provider,
        "origin": listing.origin.value,
        "listedAt": to_wire(listing.listed_at),
        "stale": listing.stale,
        "problem": listing.problem,
        "key": Keys().place(listing.provider) is not None,
    }


def _model(listing: ModelListing, info: ModelInfo) -> JsonObject:
    profile = {each.name: getattr(info.profile, each.name) for each in fields(info.profile)}
    prices = info.profile.prices
    simple = {
        camel(name): value
        for name, value in profile.items()
        if value is None or isinstance(value, bool | int | str)
    }
    return {
        "name": str(info.name),
        "title": info.title,
        "provider": listing.provider,
        "profile": {**simple, "prices": None if prices is None else _prices(prices)},
    }


def _prices(prices: ModelPrices) -> JsonObject:
    names = ("input", "output", "cached_read", "cached_write")
    wire: dict[str, JsonValue] = {camel(name): to_wire(getattr(prices, name)) for name in names}
    return {**wire, "above": [{"start": start, **_prices(each)} for start, each in prices.above]}


def _default(grove: Grove, _: object, options: DefaultAgentOptions | None) -> object:
    """The agent that answers where none is named."""
    if options is not None:
        grove.generations.choose_default(options.agent)
    return {"agent": grove.generations.default_agent}


def _spend(grove: Grove, _: object, __: object) -> object:
    """What models have cost, in dollars, and the caps."""
    with grove.caller.reading() as session:
        require_access(session, grove.caller.actor, MemberRole.READER)
    spent = grove.generations.spent()
    return {
        "total": Decimal(spent.total) / MICROS,
        "today": Decimal(spent.today) / MICROS,
        "caps": grove.generations.caps,
    }


def _set_cap(grove: Grove, at: object, options: CapOptions) -> object:
    """Spend no more than this, in all or in a day."""
    grove.generations.set_cap(
        None if options.dollars is None else Decimal(str(_amount(options.dollars))),
        whose=options.whose,
        period=options.period,
    )
    return _spend(grove, at, None)


def _amount(text: str) -> Decimal:
    from weft.runtime.generation.options import dollars_from  # noqa: PLC0415 - shared with the options

    return dollars_from(text, "dollars")


def _jobs(grove: Grove, _: object, options: JobOptions) -> object:
    """Work in the background that waits, runs or failed, in the order it is due."""
    statuses: Sequence[JobStatus] | None = None
    if options.status is not None:
        if options.status not in list(JobStatus):
            raise InvalidInputError(f"status must be one of {', '.join(JobStatus)}", path="status")
        statuses = [JobStatus(options.status)]
    return {"jobs": grove.jobs.all(statuses=statuses, kind=options.kind, limit=options.limit)}


def _cancel(grove: Grove, at: dict[str, str], _: object) -> object:
    """What it has done stays done."""
    grove.jobs.cancel(whole_number(at["job"], "job"))
    return {"cancelled": True}


def _do(grove: Grove, at: dict[str, str], options: CommandOptions) -> object:
    """Commands as an agent writes them; a failure does not stop the rest."""
    results = run_commands(grove.caller, at["tree"], options.text, options.agent, face=Face.HTTP)
    steps = [step_of(Answered(result)) for result in results]
    return {"results": [step[1] for step in steps if step is not None]}


_SPENDING = object_of(
    *("total", "today", "caps"),
    total=TEXT,
    today=TEXT,
    caps=array(object_of("whose", "period", "dollars", whose=TEXT, period=TEXT, dollars=TEXT)),
)
_MODEL = object_of(
    *("name", "title", "provider", "profile"),
    name=TEXT,
    title={"anyOf": [TEXT, {"type": "null"}]},
    provider=TEXT,
    profile={"type": "object"},
)
_PROVIDER = object_of(
    *("name", "origin", "stale", "key"),
    name=TEXT,
    origin=TEXT,
    listedAt={"anyOf": [TEXT, {"type": "null"}]},
    stale=BOOLEAN,
    problem={"anyOf": [TEXT, {"type": "null"}]},
    key=BOOLEAN,
)
_AGENT = object_of("agent", agent={"anyOf": [TEXT, {"type": "null"}]})
_JOBS = object_of("jobs", jobs=array(reference_to("Job")))
_RESULT = object_of("number", "command", "text", "ok", number=_WHOLE, command=TEXT, text=TEXT, ok=BOOLEAN)

add_routes(
    router,
    TableRoute(
        path="/models",
        name="listModels",
        summary="List models",
        answers=object_of("models", "providers", models=array(_MODEL), providers=array(_PROVIDER)),
        work=_models,
        options=ModelOptions,
    ),
    TableRoute(
        path="/default-agent",
        name="readDefaultAgent",
        summary="Read the id of the agent that answers by default",
        answers=_AGENT,
        work=_default,
    ),
    TableRoute(
        method="PUT",
        path="/default-agent",
        name="chooseDefaultAgent",
        summary="Choose the agent that answers by default",
        answers=_AGENT,
        work=_default,
        options=DefaultAgentOptions,
    ),
    TableRoute(
        path="/spend", name="readSpending", summary="Read what models cost", answers=_SPENDING, work=_spend
    ),
    TableRoute(
        method="PUT",
        path="/spend/caps",
        name="setCap",
        summary="Cap the spending of the grove, a tree or an agent",
        answers=_SPENDING,
        work=_set_cap,
        options=CapOptions,
        example={"whose": "grove", "period": "day", "dollars": "2.50"},
    ),
    TableRoute(
        path="/jobs", name="listJobs", summary="List jobs", answers=_JOBS, work=_jobs, options=JobOptions
    ),
    TableRoute(
        method="POST",
        path="/jobs/{job}/retry",
        name="retryJob",
        summary="Run a job again now",
        answers=reference_to("Job"),
        work=lambda grove, at, _: grove.jobs.retry(whole_number(at["job"], "job")),
    ),
    TableRoute(
        method="POST",
        path="/jobs/{job}/cancel",
        name="cancelJob",
        summary="Cancel a job",
        answers=object_of("cancelled", cancelled=BOOLEAN),
        work=_cancel,
    ),
    TableRoute(
        method="POST",
        path="/trees/{tree}/do",
        name="runCommands",
        summary="Run commands in a tree",
        answers=object_of("results", results=array(_RESULT)),
        work=_do,
        options=CommandOptions,
        example={"text": "→ help"},
    ),
)
