"""Providers of models: adapters on the vendors' SDKs, the embedded model, a scripted one. Imported when used."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # No adapter is loaded before it is used.
    from weft.errors import ProviderError, Trouble
    from weft.providers.base import (
        ModelInfo,
        ModelName,
        ModelPrices,
        ModelProfile,
        Parameters,
        Provider,
        ProviderRegistry,
        Request,
        installed_providers,
    )
    from weft.tree.cache_profile import CacheKind, CacheProfile
    from weft.tree.message import Message
    from weft.tree.tool_spec import ToolSpec
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "CacheKind",
    "CacheProfile",
    "Message",
    "ModelInfo",
    "ModelName",
    "ModelPrices",
    "ModelProfile",
    "Parameters",
    "Provider",
    "ProviderError",
    "ProviderRegistry",
    "Request",
    "ToolSpec",
    "Trouble",
    "installed_providers",
]
