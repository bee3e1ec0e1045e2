"""`anthropic:` on Anthropic's own SDK, which is imported when it is used."""

import re

from weft.providers.adapter import Adapter, Connection, SdkClient
from weft.providers.base import ModelProfile, SystemPlace
from weft.providers.catalog import known_model
from weft.providers.endpoint import Endpoint
from weft.providers.keys import ADDRESSES
from weft.tree.cache_profile import CacheKind, CacheProfile

__all__ = ["Anthropic", "anthropic_profile", "make"]

_CLAUDE = re.compile(r"claude-(?:(?:opus|sonnet|haiku|fable|mythos|instant)-)?v?(\d+)(?:-(\d)(?!\d))?")
_CACHE_MINIMA = (
    (re.compile(r"(opus|haiku)-(4-[5-9]|[5-9])"), 4_096),
    (re.compile(r"sonnet-(4-[6-9]|[5-9])|haiku"), 2_048),
)
_CLAUDE_OUTPUT = (((3, 0), 4_096), ((3, 5), 8_192), ((3, 7), 64_000), ((4, 6), 128_000))


def anthropic_profile(model: str) -> ModelProfile:
    """Claude. Newer models support neither prefill nor a temperature."""
    known = known_model("anthropic", model)
    version = _claude_version(model)
    output = 4_096
    for since, limit in _CLAUDE_OUTPUT:
        if version >= since:
            output = limit
    if "opus" in model and (4, 0) <= version < (4, 5):
        output = 32_000
    return ModelProfile(
        window=known.window if known and known.window else 200_000,
        output_limit=output,
        system=SystemPlace.FIELD,
        images=version >= (3, 0),
        tools=version >= (3, 0),
        system_anywhere=version >= (5, 0) or ("opus" in model and version >= (4, 8)),
        prefill=version < (4, 6),
        sampling=version < (4, 7),
        temperatures=(0, 1),
        cache=CacheProfile(
            kind=CacheKind.MARKS, minimum=_cache_minimum(model), marks=4, look_back=20, lifetimes=("5m", "1h")
        ),
        prices=known.prices if known else None,
    )


def _cache_minimum(model: str) -> int:
    """What a prefix needs to be cached, as far as is published."""
    return next((tokens for pattern, tokens in _CACHE_MINIMA if pattern.search(model.lower())), 1_024)


def _claude_version(model: str) -> tuple[int, int]:
    """The version in a name: `claude-3-5-haiku`, `claude-opus-4-8`. A date is no version; unknown is new."""
    version = _CLAUDE.search(model)
    if version is None:
        return (99, 0)
    return (int(version[1]), int(version[2] or 0))


class Anthropic(Adapter):
    """Claude."""

    name = "anthropic"
    endpoint = Endpoint(ADDRESSES["anthropic"])

    def profile(self, model: str) -> ModelProfile:
        return anthropic_profile(model)

    def _make_client(self, connection: Connection) -> SdkClient:
        from weft.providers.anthropic.client import (  # noqa: PLC0415 - an SDK takes long to import
            AnthropicClient,
        )

        return AnthropicClient(self.name, connection, self._info)


def make() -> Anthropic:
    return Anthropic()
