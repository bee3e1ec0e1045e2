"""What a look at a store's health finds, in plain words."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Level", "good", "note", "wrong"]


class Level(StrEnum):
    GOOD = "good"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    level: Level
    about: str
    words: str
    hint: str | None = None


def good(about: str, words: str) -> Finding:
    return Finding(Level.GOOD, about, words)


def note(about: str, words: str, hint: str | None = None) -> Finding:
    return Finding(Level.NOTE, about, words, hint)


def wrong(about: str, words: str, hint: str | None = None) -> Finding:
    return Finding(Level.WRONG, about, words, hint)
