"""Weft: a loom for branching conversations and texts, and the engine that decides what a model sees."""

from typing import TYPE_CHECKING

from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.grove.grove import Grove
    from weft.grove.grove import open_grove as open  # noqa: A004 - `weft.open()` is how people say it

__all__ = ["Grove", "WeftError", "__version__", "open"]

__version__ = "0.1.0"

_LAZY = {"Grove": "Grove", "open": "open_grove"}


def __getattr__(name: str) -> object:
    """Load the database machinery when it is first asked for; the pure parts need none of it."""
    if name not in _LAZY:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    from weft.grove import grove  # noqa: PLC0415 - the point of this function

    globals()[name] = found = getattr(grove, _LAZY[name])
    return found
