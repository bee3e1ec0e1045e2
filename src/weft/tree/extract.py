"""A text's own words in short."""

import re

__all__ = ["first_sentence"]

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
