"""What a content costs, and the same content in fewer tokens."""

from weft.context.fit import water_level
from weft.context.shorten import least_tokens, shorten_text
from weft.context.tokens import Estimator
from weft.tree.content import Audio, Block, Content, Image, Mixed, Text, ToolResult, blocks_of, sent_text
from weft.tree.measure import MEDIA_TOKENS


def tokens_of_content(content: Content, estimator: Estimator) -> int:
    """What a node costs, media included, where its light columns do not say. Words are never free."""
    media = sum(isinstance(block, Image | Audio) for block in blocks_of(content))
    text = sent_text(content)
    return (max(1, estimator.of_text(text)) if text else 0) + media * MEDIA_TOKENS


def least_of_content(content: Content, estimator: Estimator) -> int:
    """The fewest tokens that a content can be brought down to."""
    return tokens_of_content(shortened_content(content, 0, estimator), estimator)


def shortened_content(content: Content, most: int, estimator: Estimator, *, ending: bool = False) -> Content:
    """The same content with its longest words cut, in at most so many tokens if words alone can save them."""
    blocks = blocks_of(content)
    words = {index: text for index, block in enumerate(blocks) if (text := _words(block)) is not None}
    sizes = {index: estimator.of_text(text) for index, text in words.items()}
    least = least_tokens(estimator)
    floors = {index: min(least, size) for index, size in sizes.items()}
    fixed = max(0, tokens_of_content(content, estimator) - sum(sizes.values()))
    level = water_level(sizes, floors, most - fixed)
    while True:
        found = list(blocks)
        for index, size in sizes.items():
            allowed = max(level, floors[index])
            if size > allowed:
                shorter = shorten_text(words[index], allowed, estimator, ending=ending)
                found[index] = _with_words(blocks[index], shorter)
        whole = found[0] if len(found) == 1 else Mixed(tuple(found))
        # Sizes of parts do not quite add up to the size of the whole.
        if level <= 1 or tokens_of_content(whole, estimator) <= most:
            return whole
        level = max(1, level - max(1, level >> 3))


def _words(block: Block) -> str | None:
    if isinstance(block, Text):
        return block.text
    return sent_text(block) if isinstance(block, ToolResult) else None


def _with_words(block: Block, text: str) -> Block:
    if isinstance(block, ToolResult):
        return ToolResult(call_id=block.call_id, content=text, is_error=block.is_error)
    return Text(text)
