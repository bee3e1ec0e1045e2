"""A summary without a model: the first sentence, marked as what it is."""

import re

__all__ = ["EXTRACT", "extract", "is_extract"]

EXTRACT = "[extract] "
"""What stands before a summary that no model made."""
_LONGEST = 200
_SENTENCE = re.compile(r"(.+?[.!?。！？…])(?:[\s\"'”’)\]]|$)", re.DOTALL)


def extract(text: str) -> str:
    """The first sentence of a text on one line, or its beginning; nothing of nothing."""
    line = " ".join(text[: 20 * _LONGEST].split()).lstrip("#>*- ")
    if not line:
        return ""
    found = _SENTENCE.match(line)
    sentence = found.group(1) if found is not None else line
    if len(sentence) > _LONGEST:
        sentence = sentence[: _LONGEST - 1].rsplit(" ", 1)[0].rstrip() + "…"
    return EXTRACT + sentence


def is_extract(summary: str) -> bool:
    return summary.startswith(EXTRACT)
