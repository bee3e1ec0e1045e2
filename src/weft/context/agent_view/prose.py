"""A document for a loom-aware agent: continuous prose with its nodes' boundaries."""

from collections.abc import Iterable

BOUNDARY = "︱"
MODEL = "›"
_LOOK_ALIKE = "|"


def boundary(*, first: bool, model: bool) -> str:
    """What stands before a node's words: nothing before a person's at the beginning."""
    if model:
        return f"{BOUNDARY}{MODEL}"
    return "" if first else BOUNDARY


def unmarked(text: str) -> str:
    """A node's words without anything that looks like a boundary."""
    return text.replace(BOUNDARY, _LOOK_ALIKE)


def marked_prose(parts: Iterable[tuple[str, bool]]) -> str:
    """Stitch (text, whether a model wrote it) together. What is empty, as a root mostly is, has no boundaries."""
    said: list[str] = []
    for text, model in parts:
        if text:
            said.append(boundary(first=not said, model=model) + unmarked(text))
    return "".join(said)
