"""What stands on a node, in words, the same for every face."""

from collections.abc import Iterator

from weft.tree.node import Node, Status


def node_marks(node: Node, annotations: int = 0) -> Iterator[str]:
    """What stands on a node, in words: bookmark, flags, notes, items."""
    metadata = node.metadata
    if metadata.bookmarked:
        yield f"★ {metadata.bookmark_label or ''}".rstrip()
    for name, stands in (
        ("excluded", metadata.excluded),
        ("pruned", metadata.pruned),
        ("undone", metadata.hidden),
        ("interrupted", node.status is Status.INTERRUPTED),
    ):
        if stands:
            yield name
    if annotations:
        yield counted(annotations, "annotation")
    if node.attachments:
        yield f"{len(node.attachments)} attached"


def counted(number: int, word: str) -> str:
    """How many of something: `1 node`, `2 nodes`."""
    if number == 1:
        return f"1 {word}"
    if word.endswith("dy"):
        return f"{number:,} {word[:-1]}ies"
    return f"{number:,} {word}{'es' if word.endswith(('s', 'ch')) else 's'}"
