"""How long work says how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Told how much is done, and of how much."""


def silent(_done: int, _total: int) -> None:
    """Nobody wants to know."""
