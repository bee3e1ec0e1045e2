"""Extracts: the first sentence of a text, where no model has summarised it."""

import re

_END = re.compile(r"(?<=[.!?…。！？])[\"”’»)]*(?=\s|$)|\n")


def first_sentence(text: str, limit: int) -> str:
    """The first sentence of a text on one line, cut at a word where it is longer than the limit."""
    found = text[: 20 * limit].strip()
    end = _END.search(found)
    line = " ".join((found if end is None else found[: end.end()]).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > limit // 2 else cut).rstrip() + "…"


EXTRACT = "[extract] "
"""The prefix of a summary that no model made."""
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
