"""From how many tokens on results and pins are given in short: an agent's own setting."""

from weft.commands.results import INLINE_TOKENS
from weft.tree.agent import Agent

__all__ = ["INLINE", "inline_tokens"]

INLINE = "inlineTokens"


def inline_tokens(agent: Agent) -> int:
    """What the agent says, where that is a number of tokens; else the default."""
    told = agent.configuration.custom.get(INLINE)
    return told if isinstance(told, int) and not isinstance(told, bool) and told > 0 else INLINE_TOKENS
