"""Which model summarises: the one that was chosen, else the first of an order that can be asked."""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.errors import StorageError
from weft.providers.base import ModelName
from weft.providers.keys import VARIABLES, Keys
from weft.providers.registry import ProviderRegistry
from weft.runtime.generating.choosing import EMBEDDED

__all__ = ["NOBODY", "SUMMARY_MODEL", "models_to_ask"]

SUMMARY_MODEL = "summaryModel"
"""The key under which the grove's preferences hold the model that was chosen: `provider:model`, or `none`."""
_FIRST = ("anthropic:claude-3-5-haiku-latest", "openai:gpt-4o-mini")
_SMALL = (
    "anthropic:claude-haiku-4-5",
    "openai:gpt-5-mini",
    "google:gemini-2.5-flash-lite",
    "compatible:openrouter/openai/gpt-4o-mini",
)
"""Each provider's small model of today."""
NOBODY = "none"
"""Chosen so that no model is asked."""


def models_to_ask(
    settings: Mapping[str, Any], registry: ProviderRegistry, keys: Keys | None = None
) -> list[ModelName]:
    """In the order in which they are tried; the next one where one fails."""
    chosen = settings.get(SUMMARY_MODEL)
    if chosen == NOBODY:
        return []
    if chosen is not None:
        return [ModelName.parse(str(chosen))]
    return list(dict.fromkeys(_usable(registry, keys or Keys())))


def _usable(registry: ProviderRegistry, keys: Keys) -> Iterator[ModelName]:
    there = set(registry.names)
    for text in (*_FIRST, *_SMALL):
        name = ModelName.parse(text)
        if name.provider in there and _has_key(keys, _whose(name)):
            yield name
    embedded = ModelName.parse(EMBEDDED)
    if embedded.provider in there and _is_installed():
        yield embedded


def _has_key(keys: Keys, name: str) -> bool:
    """A file of keys that cannot be read has none for us: there are other models."""
    try:
        return keys.place(name) is not None
    except StorageError:
        return False


def _whose(name: ModelName) -> str:
    """The name that the key is kept under."""
    if name.provider in VARIABLES:
        return name.provider
    return name.model.partition("/")[0]


def _is_installed() -> bool:
    from weft.providers.local.engine import installed  # noqa: PLC0415 - looks for the package as it is called

    return installed()
