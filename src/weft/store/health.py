"""What a look at a store's health finds, in plain words."""

from dataclasses import dataclass
from enum import StrEnum


class HealthLevel(StrEnum):
    GOOD = "good"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One thing that was looked at."""

    level: HealthLevel
    about: str
    words: str
    hint: str | None = None


def good(about: str, words: str) -> HealthCheck:
    return HealthCheck(HealthLevel.GOOD, about, words)


def note(about: str, words: str, hint: str | None = None) -> HealthCheck:
    return HealthCheck(HealthLevel.NOTE, about, words, hint)


def wrong(about: str, words: str, hint: str | None = None) -> HealthCheck:
    return HealthCheck(HealthLevel.WRONG, about, words, hint)
