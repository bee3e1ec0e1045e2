"""Nodes that are shown for reference: framed, so that nobody takes them for the conversation."""

from weft.context.tokens import Estimator
from weft.tree.content import Audio, Block, Content, Image, Text, blocks_of, sent_text

_CLOSE = "</reference"
_DISARMED = "<\\reference"
"""As long as what it stands for, so that escaping never costs a token."""


def _frame(local_id: str) -> tuple[str, str]:
    return f'<reference node="{local_id}">\n', "\n</reference>"


def frame_tokens(local_id: str, estimator: Estimator) -> int:
    return sum(estimator.of_text(side) + estimator.seam for side in _frame(local_id))


def reference_blocks(local_id: str, content: Content) -> tuple[Block, ...]:
    """A node's text, and its images as images; tool traffic is told as JSON, not repeated as such."""
    before, after = _frame(local_id)
    media = tuple(block for block in blocks_of(content) if isinstance(block, Image | Audio))
    text = sent_text(content).replace(_CLOSE, _DISARMED)
    if not media:
        return (Text(before + text + after),)
    return (Text(before + text), *media, Text(after))
