"""What callers give, looked at before it is used: the field by its name, and what it should have been."""

import math
from collections.abc import Sequence

from weft.errors import ContextLimitError, InvalidInputError


def checked_count(name: str, value: object, *, least: int = 0) -> int:
    """A whole number. True is none, and neither is 100.7, which would count as something else everywhere."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise InvalidInputError(f"the {name} must be at least {least}, got {value:,}")
    return value


def checked_share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidInputError(f"{name} must be a number between 0 and 1, got {value!r}")
    if not 0 <= value <= 1:
        raise InvalidInputError(f"the {name} must be between 0 and 1, got {value}")
    return value


def checked_words(name: str, value: object) -> str:
    """A text that can be sent: no lone surrogates, which no wire carries."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a string, got {value!r}")
    from weft.tree.content import check_text  # noqa: PLC0415 - plain lists seldom need it, and imports are counted

    return check_text(value, what=name)


_NAMED = 3


def _largest(parts: Sequence[tuple[str, int]]) -> str:
    heaviest = sorted(parts, key=lambda part: -part[1])[:_NAMED]
    return ", ".join(f"{name} {tokens:,}" for name, tokens in heaviest)


def system_over(
    needed: int, budget: int, parts: Sequence[tuple[str, int]], *, library: int = 0
) -> ContextLimitError:
    """`library` is the part of it that is items of earlier turns: shorter instructions do not help there."""
    hint = "shorten the agent's or the tree's instructions, or choose a model with a larger window"
    if library > needed - library:
        hint = (
            "exclude the turns that brought the largest items, set library to inline, "
            "or choose a model with a larger window"
        )
    return ContextLimitError(
        f"system context needs {needed:,} tokens, the budget is {budget:,} ({_largest(parts)})", hint=hint
    )


def recent_over(count: int, needed: int, budget: int) -> ContextLimitError:
    what = "the last message needs" if count == 1 else f"the last {count:,} messages need"
    return ContextLimitError(
        f"{what} at least {needed:,} tokens even when shortened, and {max(budget, 0):,} are left for them",
        hint="raise the limit, lower minimumRecentNodes, or shorten the system context",
    )


def pins_over(pins: Sequence[tuple[str, int]], budget: int) -> ContextLimitError:
    """A loom-aware agent's pins are never left out: each is named with its tokens, the largest first."""
    named = ", ".join(f"{name} {tokens:,}" for name, tokens in sorted(pins, key=lambda pin: -pin[1]))
    needed = sum(tokens for _, tokens in pins)
    return ContextLimitError(
        f"the pins need {needed:,} tokens and leave too little of the budget of {budget:,} ({named})",
        hint="drop a pin, lower the agent's inlineTokens, or choose a model with a larger window",
    )


def context_over(
    needed: int, budget: int, parts: Sequence[tuple[str, int]], *, at_least: bool = False
) -> ContextLimitError:
    """stopAtLimit's: by how much, and what weighs most."""
    heaviest = f" (largest: {_largest(parts)})" if parts else ""
    about = "at least " if at_least else ""
    return ContextLimitError(
        f"the context needs {about}{needed:,} tokens, the budget is {budget:,}: {needed - budget:,} over{heaviest}",
        hint="exclude nodes, choose a model with a larger window, or another truncationStrategy",
    )
