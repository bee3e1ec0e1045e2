"""Models with windows, capabilities and prices: a provider's own list, cached for a day, or the bundled table."""

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from weft.errors import UnavailableError, WeftError
from weft.providers.base import ModelInfo, ModelName, ModelPrices, ModelProfile, Provider, ProviderRegistry
from weft.tree.attempt import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo as Row
    from genai_prices.types import ModelPrice, Tier, TieredPrices
    from genai_prices.types import Provider as PriceList
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A row of the bundled table."""

    id: str
    title: str = ""
    window: int | None = None
    prices: ModelPrices | None = None
    deprecated: bool = False


@lru_cache(maxsize=512)
def known_model(table: str, model: str, moment: datetime | None = None) -> KnownModel | None:
    """The row of a model in the bundled table, by any of its names."""
    provider = next((each for each in _providers() if each.id == table), None)
    row = None if provider is None else provider.find_model(model)
    return None if row is None else _known(row, moment or datetime.now(UTC))


def _providers() -> "Sequence[PriceList]":
    """The bundled table; empty where its package is not installed."""
    try:
        # It takes a third of a second to import, and few calls need it.
        from genai_prices import data_snapshot  # noqa: PLC0415
    except ModuleNotFoundError:
        return ()
    return data_snapshot.get_snapshot().providers


def known_models(table: str, moment: datetime | None = None) -> list[KnownModel]:
    """Every model of a provider that the table has."""
    when = moment or datetime.now(UTC)
    return [_known(row, when) for each in _providers() if each.id == table for row in each.models]


def _known(row: "Row", moment: datetime) -> KnownModel:
    return KnownModel(
        id=row.id,
        title=row.name or row.id,
        window=row.context_window,
        prices=_prices(row.get_prices(moment)) if row.prices else None,
        deprecated=bool(row.deprecated),
    )


def _prices(row: "ModelPrice") -> ModelPrices | None:
    fields = {
        "input": row.input_mtok,
        "output": row.output_mtok,
        "cached_read": row.cache_read_mtok,
        "cached_write": row.cache_write_mtok,
    }
    if fields["input"] is None and fields["output"] is None:
        return None
    starts = sorted({tier.start for price in fields.values() for tier in _tiers(price)})
    above = tuple((start, _at(fields, start)) for start in starts)
    return _at(fields, None, above)


def _tiers(price: "Decimal | TieredPrices | None") -> "list[Tier]":
    return [] if price is None or isinstance(price, Decimal) else price.tiers


def _at(
    fields: "dict[str, Decimal | TieredPrices | None]",
    start: int | None,
    above: tuple[tuple[int, ModelPrices], ...] = (),
) -> ModelPrices:
    read = {name: _price(price, start) for name, price in fields.items()}
    zero = Decimal(0)
    return ModelPrices(
        input=read["input"] or zero,
        output=read["output"] or zero,
        cached_read=read["cached_read"],
        cached_write=read["cached_write"],
        above=above,
    )


def _price(price: "Decimal | TieredPrices | None", start: int | None) -> Decimal | None:
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if start is not None and tier.start <= start]
    return reached[-1] if reached else price.base


DAY = 24 * 60 * 60 * 1_000_000
"""How long a provider's list is fresh, in microseconds."""
_VERSION = 2
_TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "anthropic": (("anthropic", ""),),
    "compatible": (("openrouter", "openrouter/"), ("huggingface_hyperbolic", "hyperbolic/")),
    "google": (("google", ""),),
    "openai": (("openai", ""),),
}
"""The bundled tables of each provider, and the prefix of its model names there."""
_OTHER_KINDS = re.compile(
    r"embed|whisper|tts|transcri|moderation|realtime|image|dall|sora|veo|imagen|-live|translate|robotics|nano-banana"
)


class Origin(StrEnum):
    """Where a list comes from."""

    PROVIDER = "provider"
    """Requested just now."""
    CACHED = "cached"
    BUNDLED = "bundled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelListing:
    """A provider's models, and where the list comes from."""

    provider: str
    models: tuple[ModelInfo, ...]
    origin: Origin
    listed_at: datetime | None = None
    stale: bool = False
    """Older than a day, and the provider did not answer."""
    problem: str | None = None
    """Why the provider did not answer."""


def default_folder() -> Path:
    given = os.environ.get("WEFT_CACHE")
    if given:
        return Path(given) / "models"
    import platformdirs  # noqa: PLC0415 - not needed where the folder is given

    return Path(platformdirs.user_cache_dir("weft", appauthor=False)) / "models"


def _now() -> int:
    return time.time_ns() // 1_000


class Catalog:
    """Models by provider. Lists are cached in a folder, so that they are available offline."""

    def __init__(
        self, registry: ProviderRegistry, *, folder: Path | None = None, clock: Callable[[], int] = _now
    ) -> None:
        self._registry = registry
        self._folder = folder
        self._clock = clock

    async def models(self, provider: str, *, fresh: bool = False, ask: bool = True) -> ModelListing:
        """A provider's list: cached for a day, requested again if `fresh`, not requested unless `ask`.

        Where it cannot be asked, an older list is served with a mark, or else the bundled table.
        """
        source = self._registry.provider(provider)
        if source.name == "local":
            # Models on this machine are not cached.
            return ModelListing(
                provider=provider, models=tuple(await source.models()), origin=Origin.PROVIDER
            )
        cached = self._cached(provider)
        if not fresh and cached is not None and not cached.stale:
            return cached
        problem = None
        if ask:
            try:
                listed = tuple(await source.models())
                # A provider that lists nothing may be about to: the next call asks again.
                if listed:
                    return self._cache(provider, listed)
                return ModelListing(provider=provider, models=(), origin=Origin.PROVIDER)
            except UnavailableError as error:
                problem = f"{error}: {error.hint}"
            except WeftError as error:
                problem = str(error)
            except Exception as error:  # noqa: BLE001 - of any package; its text may hold a key
                problem = f"{provider}: cannot list models: {type(error).__name__}"
        if cached is not None:
            return replace(cached, problem=problem)
        return replace(self.bundled(provider), problem=problem)

    def bundled(self, provider: str) -> ModelListing:
        """A provider's models from the bundled table."""
        source = self._registry.provider(provider)
        moment = datetime.fromtimestamp(self._clock() / 1_000_000, UTC)
        models = [
            ModelInfo(
                name=ModelName(provider, prefix + row.id),
                title=row.title,
                profile=_profile(source, prefix + row.id, row.window, row.prices),
            )
            for table, prefix in _TABLES.get(provider, ())
            for row in known_models(table, moment)
            if not row.deprecated and not _OTHER_KINDS.search(row.id)
        ]
        return ModelListing(provider=provider, models=tuple(models), origin=Origin.BUNDLED)

    def profile(self, name: str | ModelName) -> ModelProfile:
        """What a model supports: from the cached list, else from its provider's profile. No network."""
        parsed = name if isinstance(name, ModelName) else ModelName.parse(name)
        cached = self._cached(parsed.provider)
        listed = (
            next((each.profile for each in cached.models if each.name == parsed), None) if cached else None
        )
        return listed or self._registry.provider(parsed.provider).profile(parsed.model)

    def cost(self, name: str | ModelName, usage: Usage) -> Decimal | None:
        """What a call cost, in dollars; None if the model's prices are not known."""
        prices = self.profile(name).prices
        return None if prices is None else prices.cost(usage)

    def _file(self, provider: str) -> Path:
        folder = self._folder if self._folder is not None else default_folder()
        return folder / f"{re.sub(r'[^a-z0-9_-]', '_', provider)}.json"

    def _cache(self, provider: str, models: tuple[ModelInfo, ...]) -> ModelListing:
        now = self._clock()
        data = {
            "version": _VERSION,
            "listedAt": now,
            "models": _stored_models().dump_python(models, mode="json"),
        }
        path = self._file(provider)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(data))
            temporary.replace(path)
        except OSError:
            # A list that cannot be cached is requested again next time.
            with suppress(OSError):
                temporary.unlink()
        return ModelListing(provider=provider, models=models, origin=Origin.PROVIDER, listed_at=_moment(now))

    def _cached(self, provider: str) -> ModelListing | None:
        """The cached list; None if it is missing or damaged."""
        try:
            data = cast("dict[str, Any]", json.loads(self._file(provider).read_bytes()))
            if data["version"] != _VERSION:
                return None
            at = int(data["listedAt"])
            models = _stored_models().validate_python(data["models"], strict=False)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not models:
            return None
        age = self._clock() - at
        return ModelListing(
            provider=provider,
            models=models,
            origin=Origin.CACHED,
            listed_at=_moment(at),
            stale=not 0 <= age < DAY,
        )


def _profile(provider: Provider, model: str, window: int | None, prices: ModelPrices | None) -> ModelProfile:
    """The provider's profile, with the window and prices of the row."""
    profile = provider.profile(model)
    return replace(profile, window=window or profile.window, prices=prices or profile.prices)


@lru_cache(maxsize=1)
def _stored_models() -> "TypeAdapter[tuple[ModelInfo, ...]]":
    from pydantic import TypeAdapter  # noqa: PLC0415 - needed where a list is stored, and takes long to import

    return TypeAdapter(tuple[ModelInfo, ...])


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)
