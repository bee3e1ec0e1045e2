"""Weft: a loom for branching conversations and texts, and the engine that decides what a model sees."""

from weft.errors import WeftError
from weft.runtime.grove import Grove
from weft.runtime.grove import open_grove as open  # noqa: A004 - `weft.open()` is how people say it

__all__ = ["Grove", "WeftError", "__version__", "open"]

__version__ = "0.1.0"
