"""How a model's provider caches prefixes: a value that the engine is given, and providers fill."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class CacheKind(StrEnum):
    """How a request asks for the cache."""

    MARKS = "marks"
    """Blocks that end a prefix are marked."""
    KEY = "key"
    """Requests of one conversation have a key in common."""
    CONTENT = "content"
    """A cache is created by a request of its own, and named."""
    PREFIX = "prefix"
    """Automatic: requests say nothing about it."""
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheProfile:
    """A prefix cache, as far as requests depend on it."""

    kind: CacheKind = CacheKind.NONE
    minimum: int = 1_024
    """Tokens below which nothing is cached."""
    grain: int = 1
    """Cached prefixes are whole multiples of this many tokens."""
    marks: int = 4
    """The most marks in one request."""
    look_back: int = 20
    """How many blocks up to a mark are looked through for an earlier one; 1: only a mark itself is found again."""
    lifetimes: tuple[str, ...] = ()
    """What a request may ask for, the usual one first."""
    control: Mapping[str, str] = field(default_factory=lambda: {"type": "ephemeral"})
    """What a mark says."""
    marks_answers: bool = True
    """Whether a model's own words may be marked."""
    keyed: bool = False
    """Whether requests with marks have a key too."""
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Further fields of a request with marks."""

    @property
    def predictable(self) -> bool:
        """Whether the cached part of a request can be foretold."""
        return self.kind not in {CacheKind.NONE, CacheKind.PREFIX}


NO_PREFIX_CACHE = CacheProfile()
AUTOMATIC_CACHE = CacheProfile(kind=CacheKind.PREFIX)
