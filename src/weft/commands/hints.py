"""What to say to a line that was not read: which command was meant, and which arrows were not run."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from weft.commands.catalog import CATALOG, ROWS
from weft.commands.scanner import Why
from weft.commands.vocabulary import Sort, VocabularyToken

HELP = "→ help shows what there is"
_LETTERS = range(3, 21)

DOUBTFUL: dict[str, tuple[str, ...]] = {
    "delete": ("prune", "exclude", "drop"),
    "erase": ("prune", "exclude", "drop"),
    "remove": ("prune", "exclude", "drop"),
    "hide": ("prune", "exclude", "collapse"),
    "kill": ("prune", "exclude"),
    "clear": ("prune", "exclude", "drop"),
    "forget": ("drop", "exclude"),
    "discard": ("drop", "prune"),
    "release": ("drop", "restore"),
    "save": ("bookmark", "stash", "pin"),
    "store": ("stash", "write"),
    "mark": ("bookmark", "tag"),
    "label": ("tag", "bookmark"),
    "flag": ("bookmark", "tag"),
    "remember": ("pin", "stash"),
    "keep": ("pin", "stash", "bookmark"),
    "add": ("respond", "annotate", "attach", "tag"),
    "put": ("respond", "annotate", "attach"),
    "insert": ("respond", "write"),
    "replace": ("edit", "write"),
    "back": ("switch", "undo"),
    "return": ("switch", "respond"),
    "revert": ("undo", "restore"),
    "get": ("view", "recall"),
    "give": ("view", "continue"),
    "take": ("switch", "drop"),
    "group": ("collapse", "merge"),
    "detach": ("unlink", "untag"),
    "branch": ("respond", "continue", "view"),
    "fork": ("respond", "continue"),
    "copy": ("stash", "respond"),
    "summarise": ("stash", "view"),
    "summarize": ("stash", "view"),
    "summary": ("stash", "view", "read"),
    "make": ("respond", "edit", "merge"),
    "create": ("respond", "link"),
    "set": ("edit", "switch"),
    "let": ("edit", "continue"),
    "have": ("continue", "pin", "prune"),
}
"""Verbs that could mean things that differ in effect: without a noun that settles it they are asked about."""


@lru_cache(maxsize=1)
def verbs() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Every verb, of one word or more, and the commands it may mean."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {(row.name,): (row.name,) for row in ROWS}
    for row in ROWS:
        for verb in row.verbs:
            said = tuple(verb.partition("=")[0].split())
            if row.name not in known.get(said, ()):
                known[said] = (*known.get(said, ()), row.name)
    return known


def forms(names: Iterable[str]) -> str:
    """The forms of these commands, as a hint."""
    return " · ".join(f"→ {form}" for name in dict.fromkeys(names) for form in CATALOG[name].notations)


def near_misses(word: str) -> list[str]:
    """The commands with a verb written much like this: to ask which was meant, and not to run it."""
    if len(word) not in _LETTERS:
        return []
    singles = [verb[0] for verb in verbs() if len(verb) == 1]
    near = get_close_matches(word, singles, cutoff=0.75)
    return list(dict.fromkeys(name for each in near for name in verbs()[(each,)]))


def doubtful(items: Sequence[VocabularyToken]) -> tuple[str, tuple[str, ...]] | None:
    """The first verb of a line that could mean several commands, and those."""
    for item in items:
        if item.sort is Sort.WORD and item.text in DOUBTFUL:
            return item.text, DOUBTFUL[item.text]
        if item.sort in {Sort.TEXT, Sort.OPTION}:
            break
    return None


class NotRun(NamedTuple):
    """An arrow that would have been a command in another place."""

    command: str
    """In its canonical form, no longer than it takes to know it."""
    why: Why


def not_run_note(ignored: Sequence[NotRun]) -> str:
    """A line for each, to follow the results of a turn."""
    return "\n".join(f"not run, {each.why}: → {each.command}" for each in ignored)
