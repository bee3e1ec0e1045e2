"""What the command line takes from outside."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weft.ids import Entropy
from weft.runtime.operations.clock import Clock, system_clock

if TYPE_CHECKING:
    from weft.providers.registry import ProviderRegistry

__all__ = ["Choices", "Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where, when, by what chance, how wide.

    Given to the app as its context object; tests and generated pages bring their own,
    so that the same commands give the same bytes.
    """

    address: str | Path | None = None
    """The grove, where no --grove names one. None: WEFT_GROVE, else the default one."""
    clock: Clock = system_clock
    entropy: Entropy = os.urandom
    width: int | None = None
    """Columns of the terminal. None: as many as it has."""
    terminal: bool | None = None
    """Whether a person reads stdout. None: as stdout says."""
    providers: "ProviderRegistry | None" = None
    """Whom models are asked of. None: all that is installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The options every command takes, before or after its name."""

    grove: str | None = None
    agent: str | None = None
    tree: str | None = None
    accept_clock: bool = False
    json: bool = False
