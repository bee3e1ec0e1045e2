"""What servers that speak like OpenAI tell of a model in their lists: each its own way, and none of it needed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import cast

from weft.providers.base import Prices, Profile

__all__ = ["listed_profile"]

_WINDOWS = ("context_length", "max_model_len", "context_window", "max_context_length")
_MILLION = 1_000_000


def listed_profile(known: Profile, extra: Mapping[str, object]) -> Profile:
    """What was known of a model, with what its list says; what makes no sense is passed over."""
    window = next((found for name in _WINDOWS if (found := _count(extra.get(name)))), known.window)
    output = _count(_of(extra.get("top_provider"), "max_completion_tokens")) or known.output_limit
    found = replace(
        known, window=window, output_limit=output, prices=_prices(extra.get("pricing")) or known.prices
    )
    takes = _words(_of(extra.get("architecture"), "input_modalities"))
    if takes is not None:
        found = replace(found, images="image" in takes, audio="audio" in takes)
    heeds = _words(extra.get("supported_parameters"))
    if heeds is not None:
        logprobs = known.logprobs if {"logprobs", "top_logprobs"} & heeds else 0
        found = replace(found, tools="tools" in heeds, seed="seed" in heeds, logprobs=logprobs)
    return found


def _of(value: object, name: str) -> object:
    return cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _words(value: object) -> set[str] | None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    return {each for each in cast("Sequence[object]", value) if isinstance(each, str)}


def _prices(told: object) -> Prices | None:
    """Dollars for one token, as text, where we count by the million."""
    asked, said = _price(_of(told, "prompt")), _price(_of(told, "completion"))
    if asked is None or said is None:
        return None
    return Prices(
        input=asked,
        output=said,
        cached_read=_price(_of(told, "input_cache_read")),
        cached_write=_price(_of(told, "input_cache_write")),
    )


def _price(value: object) -> Decimal | None:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    try:
        found = Decimal(str(value)) * _MILLION
    except InvalidOperation:
        return None
    # Some say -1 for a price that depends.
    return found.normalize() + 0 if found.is_finite() and found >= 0 else None
