"""`google:` on Google's own SDK, which is imported when it is used."""

import re
from typing import cast

from weft.providers.adapter import Adapter, CacheHolder, Connection, SdkClient
from weft.providers.base import ModelProfile, SystemPlace
from weft.providers.catalog import known_model
from weft.providers.endpoint import Endpoint
from weft.providers.keys import ADDRESSES
from weft.tree.cache_profile import NO_PREFIX_CACHE, CacheKind, CacheProfile

__all__ = ["Google", "google_profile", "make"]

_CONTINUES = re.compile(r"gemini-(1|2)\.|gemma")
_CACHE_MINIMA = (
    (re.compile(r"gemini-([3-9]|1\.|2\.0)"), 4_096),
    (re.compile(r"gemini-2\.5"), 2_048),
)
_GEMINI_WINDOW = 1_048_576


def google_profile(model: str) -> ModelProfile:
    known = known_model("google", model)
    gemma = model.startswith("gemma")
    return ModelProfile(
        window=known.window if known and known.window else None if gemma else _GEMINI_WINDOW,
        output_limit=8_192 if gemma or re.match(r"gemini-(1|2\.0)", model) else 65_536,
        system=SystemPlace.FIELD,
        images=True,
        audio=not gemma,
        tools=not gemma,
        logprobs=20,
        prefill=bool(_CONTINUES.match(model)),
        choices=8,
        seed=True,
        cache=NO_PREFIX_CACHE if gemma else _cache_of(model),
        prices=known.prices if known else None,
    )


def _cache_of(model: str) -> CacheProfile:
    """The minimum is what a prefix needs to be cached, as far as is published."""
    minimum = next((tokens for pattern, tokens in _CACHE_MINIMA if pattern.search(model.lower())), 1_024)
    return CacheProfile(kind=CacheKind.CONTENT, minimum=minimum, lifetimes=("5m", "1h"))


class Google(Adapter):
    """Gemini."""

    name = "google"
    endpoint = Endpoint(ADDRESSES["google"])

    def profile(self, model: str) -> ModelProfile:
        return google_profile(model)

    def _make_client(self, connection: Connection) -> SdkClient:
        from weft.providers.google.client import GoogleClient  # noqa: PLC0415 - an SDK takes long to import

        return GoogleClient(self.name, connection, self._info)

    async def renew_cache(self, name: str, seconds: int) -> None:
        await self._caches().renew_cache(name, seconds)

    async def delete_cache(self, name: str) -> None:
        await self._caches().delete_cache(name)

    def _caches(self) -> CacheHolder:
        return cast("CacheHolder", self._client())


def make() -> Google:
    return Google()
