"""Characters by width, and the default token estimate that follows from them.

Nodes store the two counts, so estimators that are linear in them need no text.
"""

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from weft.tree.content import Content

MEDIA_TOKENS = 1_600
"""What one image or recording is taken to cost."""

_NARROW_RUN = re.compile("[\u0000-\u02af\u1e00-\u1eff\u2000-\u206f\u20a0-\u20cf]+")
"""Latin script with its punctuation: four characters a token is a cautious guess here only."""


class Measure(NamedTuple):
    """How many characters count a quarter token each, how many count one, and how many media there are."""

    narrow: int
    wide: int
    media: int = 0

    @property
    def tokens(self) -> int:
        return default_tokens(self.narrow, self.wide) + self.media * MEDIA_TOKENS


def measure(text: str) -> Measure:
    """Count narrow and wide characters.

    ASCII is all narrow; any character outside Latin script and its punctuation is wide.
    """
    if text.isascii():
        return Measure(len(text), 0)
    narrow = sum(len(run) for run in _NARROW_RUN.findall(text))
    return Measure(narrow, len(text) - narrow)


def measure_content(content: "Content") -> Measure:
    """The size of a node, as the ruler has it."""
    from weft.tree.content import Audio, Image, blocks_of, sent_text  # noqa: PLC0415 - plain texts never need it

    media = sum(isinstance(block, Image | Audio) for block in blocks_of(content))
    return measure(sent_text(content))._replace(media=media)


def default_tokens(narrow: int, wide: int) -> int:
    return -(-narrow // 4) + wide
