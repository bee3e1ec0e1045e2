"""A document for a loom-aware agent: continuous prose with its nodes' boundaries."""

from collections.abc import Iterable, Sequence

from weft.context.loomaware.headings import NodeFacts

__all__ = ["BOUNDARY", "MODEL", "boundary", "marked_prose", "unmarked"]

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
    """Stitch (text, whether a model wrote it) together."""
    said: list[str] = []
    for text, model in parts:
        said.append(boundary(first=not said, model=model) + unmarked(text))
    return "".join(said)


def boundaries(ids: Sequence[str], facts: dict[str, NodeFacts]) -> dict[str, str]:
    """By node id, what stands before its words."""
    return {
        name: boundary(first=index == 0, model=name in facts and facts[name].model)
        for index, name in enumerate(ids)
    }
