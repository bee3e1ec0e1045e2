"""The ledger of a compaction: exact texts that the replaced nodes had and the summary has not.

It compares strings and claims nothing about meaning: paths, ids, numbers and errors, as they were written.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

_PATH = re.compile(
    r"(?<![\w/.-])(?:~|\.{1,2})?/?(?:[\w@.+-]+/)+[\w@.+-]*\w(?::\d+)?|(?<![\w/.-])[\w-]+\.[A-Za-z]{1,6}(?::\d+)?(?![\w/.(-])"
)
_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning|Failure)\b(?:: [^\n]{1,160})?|\bE[A-Z]{3,12}\b")
_ID = re.compile(
    r"\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{6,}\b|\b[0-9a-f]{7,40}\b|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[A-Za-z]+(?:[A-Z][a-z0-9]+)+\b|\b\w+=\w+\b"
)
_NUMBER = re.compile(r"(?<![\w.,:/-])[-+]?\d+(?:[.,:]\d+)*%?(?![\w/])")
_CONTEXT = 60


class LedgerKind(StrEnum):
    PATH = "path"
    ID = "id"
    NUMBER = "number"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCount:
    """How many different texts of a kind there were, and how many the summary has."""

    kind: LedgerKind
    before: int
    kept: int

    @property
    def lost(self) -> int:
        return self.before - self.kept


@dataclass(frozen=True, slots=True, kw_only=True)
class LostText:
    """A text that the summary lacks."""

    text: str
    kind: LedgerKind
    uses: int
    last_in: str
    """The local id of the last node that has it."""
    context: str
    """The words around it there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionLedger:
    """What a summary kept and lost, the most used first."""

    nodes: int
    characters: int
    summary_characters: int
    counts: tuple[LedgerCount, ...]
    lost: tuple[LostText, ...]


def named_texts(text: str) -> Iterator[tuple[LedgerKind, str, int]]:
    """Every path, error, id and number of a text, with its place; each place counts once."""
    taken: list[tuple[int, int]] = []
    for kind, pattern in (
        (LedgerKind.ERROR, _ERROR),
        (LedgerKind.PATH, _PATH),
        (LedgerKind.ID, _ID),
        (LedgerKind.NUMBER, _NUMBER),
    ):
        fresh = [
            match for match in pattern.finditer(text) if not _overlaps(match.start(), match.end(), taken)
        ]
        yield from ((kind, match.group(), match.start()) for match in fresh)
        taken = sorted([*taken, *((match.start(), match.end()) for match in fresh)])


def _overlaps(start: int, end: int, taken: Sequence[tuple[int, int]]) -> bool:
    at = bisect_left(taken, (end, 0))
    return at > 0 and taken[at - 1][1] > start


def compare_texts(before: Sequence[tuple[str, str]], summary: str) -> CompactionLedger:
    """Compare nodes (local id and text, in order) with the text that took their place."""
    uses: Counter[tuple[LedgerKind, str]] = Counter()
    last: dict[tuple[LedgerKind, str], tuple[str, str]] = {}
    for name, text in before:
        for kind, each, place in named_texts(text):
            uses[kind, each] += 1
            around = text[max(0, place - _CONTEXT) : place + len(each) + _CONTEXT]
            last[kind, each] = name, " ".join(around.split())
    has = {key: is_within(key[1], summary) for key in uses}
    counts = tuple(
        LedgerCount(
            kind=kind,
            before=sum(1 for each, _ in uses if each is kind),
            kept=sum(1 for key in uses if key[0] is kind and has[key]),
        )
        for kind in LedgerKind
    )
    lost = sorted((key for key in uses if not has[key]), key=lambda key: (-uses[key], key[0].value, key[1]))
    return CompactionLedger(
        nodes=len(before),
        characters=sum(len(text) for _, text in before),
        summary_characters=len(summary),
        counts=counts,
        lost=tuple(
            LostText(text=key[1], kind=key[0], uses=uses[key], last_in=last[key][0], context=last[key][1])
            for key in lost
        ),
    )


def is_within(each: str, text: str) -> bool:
    """Whether a text has this one as a whole: 14 is not in 1440."""
    start = text.find(each)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(each) : start + len(each) + 1]
        if not (before.isalnum() and each[0].isalnum()) and not (after.isalnum() and each[-1].isalnum()):
            return True
        start = text.find(each, start + 1)
    return False
