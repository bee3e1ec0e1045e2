"""Ways out that an agent can take: what operations hint at is often for people, who have more than commands."""

import re
from collections.abc import Iterable

from weft.errors import WeftError

__all__ = ["INSTEAD", "for_models", "there_are"]

_MOST_NAMED = 20
_NAME = 80
_ASK = "ask the human"
_TEXT = "→ respond … with its text, and attach that node as [ID]"
INSTEAD: dict[str, str] = {
    "archive the tree instead": "prune what follows it",
    "choose another name, or remove it first": "choose another name",
    "decode the text again with errors='replace'": "leave it out",
    "detach it first to replace it": "",
    "detach one first": "attach to another node",
    "give its text with it: --text, or an item of type url": _TEXT,
    "give what it gave with it: --text, or an item of type query": _TEXT,
    "name one of ": "→ switch to one of these first: ",
    "quote more of the text, or give an offset": "quote more of the text",
    "remove it, or store the bytes as a blob": "leave it out",
    "restore it first": "ask the human to restore it",
    "restore it, or act as another agent": "ask the human to restore it",
    "restore it, or name another": "name another",
    "say the new text under it, or plant another tree": "→ respond … says the new text under it",
    "set max_tokens, raise the cap (weft spend cap), or choose a cheaper model": (
        "use tokens:N with less, name a cheaper agent, or ask the human to raise the cap"
    ),
    "split it, or keep it in a document or a blob": "make it shorter",
    "unarchive it first": "ask the human to unarchive it",
    "use an offset between ": "quote words from its middle",
    "weft agents shows who is a model": "name a model's agent",
}
"""By how a person's hint begins, what a model is told instead; an empty one: nothing.

Where both end in a blank, what follows stays.
"""
_FOR_PEOPLE = re.compile(r"\bweft [a-z]|`weft|--[a-z]|\bpip install\b|\b[A-Z]+_[A-Z_]+\b|\bchmod\b")
"""What is typed in a shell."""
_NAMES = re.compile(r"\"[^\"]*+\"|'[^']*+'")
"""What somebody called something: any words may be in it."""


def for_models(error: WeftError) -> WeftError:
    """The refusal, from now on with a hint that commands can follow, or with none."""
    error.hint = _instead(error.hint or "") or None
    return error


def _instead(hint: str) -> str:
    for begins, told in INSTEAD.items():
        if hint.startswith(begins):
            return told + (hint.removeprefix(begins) if told.endswith(" ") else "")
    return _ASK if _FOR_PEOPLE.search(_NAMES.sub("", hint)) else hint


def there_are(names: Iterable[str], otherwise: str) -> str:
    """The names that there are, as a hint; of a long one its beginning, by which it is found too."""
    known = list(names)
    if not known:
        return otherwise
    shown = ", ".join(f'"{name[:_NAME].rstrip()}"' for name in known[:_MOST_NAMED])
    return f"there are {shown}" + (", and more" if len(known) > _MOST_NAMED else "")
