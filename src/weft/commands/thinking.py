"""Where a private thought begins, decided in one place for scanner and parser.

If they differed, a command inside of a thought could be run.
"""

import re

__all__ = ["thought_start"]

_BEGINS = re.compile(
    r"""[ \t]*+
    (?:(?:please|now|just|let|me|let's|i|will|ok|okay|first|so)[ \t,]+){0,5}
    (?:(?:i[ ](?:need|want|have)|i'd[ ]like|i[ ]would[ ]like|i'm[ ]going|i[ ]am[ ]going|(?:it's[ ])?time)[ ]to[ ])?
    (?:
        (?:(?:start|begin)[ ])?think(?:ing)?
        |(?:(?:open|use|start|begin)[ ])?(?:(?:a|the|my)[ ])?(?:private[ ])?scratch-?pad
        |(?:start|begin)[ ](?:a[ ])?(?:private[ ])?thought
    )(?![\w'’-])
    (?:[ ]about[ ](?:it|this)(?=[ ]?:|[ ](?:privately|quietly|silently)))?
    (?:[ ](?:privately|quietly|silently|(?:for[ ])?(?:a|one)[ ](?:moment|second|minute|bit|while)|please)
        (?=[ \t]*+(?:[.…:]|\Z)))?
    [ \t]*+(?:[:.,…!]++|[—–-]++(?=[ \t]|\Z))?""",
    re.IGNORECASE | re.VERBOSE,
)
_LOOKED_AT = 120


def thought_start(text: str, position: int = 0) -> int | None:
    """The place where the thought's own words begin, or None if this opens none."""
    found = _BEGINS.match(text[position : position + _LOOKED_AT].replace("’", "'").split("\n", 1)[0])
    return None if found is None else position + found.end()
