"""Progress of long work."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""


def silent(_done: int, _total: int) -> None:
    """Report nothing."""
