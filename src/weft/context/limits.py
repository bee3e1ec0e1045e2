"""What is said when something that may not be cut does not fit."""

from collections.abc import Sequence

from weft.errors import ContextLimitError

_NAMED = 3


def _largest(parts: Sequence[tuple[str, int]]) -> str:
    heaviest = sorted(parts, key=lambda part: -part[1])[:_NAMED]
    return ", ".join(f"{name} {tokens:,}" for name, tokens in heaviest)


def system_over(
    needed: int, budget: int, parts: Sequence[tuple[str, int]], *, library: int = 0
) -> ContextLimitError:
    """`library` is how much of it are items of earlier turns, which nobody shortens by other instructions."""
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
