"""The provider's cache: where a request may be cached, what will be read from it, and what made it change."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A cache loads with the first call that needs it.
    from weft.context.cache.controls import CacheControls, cache_controls
    from weft.context.cache.prediction import Prediction, pieces_of, predict
    from weft.context.cache.prefix_monitor import Instability, Trigger, watch
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "CacheControls",
    "Instability",
    "Prediction",
    "Trigger",
    "cache_controls",
    "pieces_of",
    "predict",
    "watch",
]
