"""Caches at providers over a store: kept with the call that created them, renewed while used, deleted when retired."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from weft.errors import WeftError
from weft.log import Log
from weft.providers.adapter import CacheHolder
from weft.providers.base import Provider, ProviderRegistry
from weft.runtime.coordination.background import model_loop
from weft.runtime.coordination.jobs import RunningJob
from weft.runtime.generation.start_call import EndedCall
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.scope import Scope
from weft.store.provider_caches import (
    add_cache,
    cache_named,
    end_cache,
    renew_cache,
    retire_caches,
    retired_caches,
)
from weft.store.rows import TreeState
from weft.store.transaction import Transaction
from weft.tree.json import JsonValue

_MICROS = 1_000_000
_log = Log("weft.caches")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedCache:
    """A cache that a call created: what it holds, and the request that made it."""

    name: str
    wanted: Mapping[str, JsonValue]
    """As the request asked for it."""
    model: str
    """`provider:model`."""
    call: EndedCall

    def keep(self, scope: Scope, tree: TreeState, agent: int, attempt: str) -> None:
        """Write it down; those that it replaces are to be deleted."""
        lifetime = _seconds(self.wanted) * _MICROS
        values: dict[str, object] = {
            "in_tree": tree.key,
            "agent": agent,
            "model": self.model,
            "name": self.name,
            "prefix": bytes.fromhex(str(self.wanted["prefix"])),
            "messages": self.wanted["messages"],
            "tokens": self.wanted["tokens"],
            "lifetime": lifetime,
            "expires_at": scope.now + lifetime,
            "attempt": attempt,
            "created_at": scope.now,
        }
        add_cache(scope.transaction, values)
        replaced = cast("list[str]", self.wanted.get("replaces") or [])
        retire_caches(scope.transaction, tree.key, now=scope.now, names=replaced)


def _seconds(wanted: Mapping[str, JsonValue]) -> int:
    return int(str(wanted["ttl"]).removesuffix("s"))


async def renew_used_cache(
    executor: Executor, tree: int, provider: Provider, wanted: Mapping[str, JsonValue]
) -> None:
    """Have a cache that a call used live on, once half of its time is over."""
    name = str(wanted["name"])
    if not isinstance(provider, CacheHolder):
        return
    now, store = executor.clock(), executor.store
    loop = model_loop()

    def expiry() -> int:
        with store.read() as session:
            row = cache_named(session, tree, name)
        return now + row.lifetime if row is not None and row.expires_at - now < row.lifetime / 2 else 0

    until = await loop.in_thread(expiry)
    if not until:
        return
    try:
        await provider.renew_cache(name, (until - now) // _MICROS)
    except WeftError as error:
        # It ends when its time is over, and the next turn creates another.
        _log.failure("cache not renewed", error, name=name)
        return

    def note(transaction: Transaction) -> None:
        renew_cache(transaction, name, until)

    await loop.in_thread(lambda: store.write(note))


def delete_retired_caches(executor: Executor, registry: ProviderRegistry, job: RunningJob) -> None:
    """Delete at their providers the caches that no request uses any more."""
    with executor.store.read() as session:
        rows = retired_caches(session)
    for row in rows:
        if job.should_stop:
            return
        provider, _ = registry.model(row.model)
        if row.expires_at > executor.clock() and isinstance(provider, CacheHolder):
            model_loop().submit(provider.delete_cache(row.name)).result()
        executor.store.write(partial(end_cache, row=row))
