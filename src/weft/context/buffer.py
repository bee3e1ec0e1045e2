"""One document: the nodes' words with nothing in between, the working buffer at its end."""

from collections.abc import Iterable

from weft.context.dialogue import Part
from weft.tree.content import Text


def document_of(parts: Iterable[Part]) -> str:
    return "".join(
        part.heading + "".join(block.text for block in part.blocks if isinstance(block, Text))
        for part in parts
    )
