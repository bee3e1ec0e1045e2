"""The options of a run: how long a collaborator may go on, and how its model is called."""

from dataclasses import dataclass, fields
from decimal import Decimal

from weft.argument_checks import option
from weft.runtime.generation.options import CallOptions, GenerationOptions, dollars_from

_MOST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(CallOptions):
    """How a collaborator's run goes. A reached limit ends it with a note."""

    turns: int = option(12, "How often the model may answer.", least=1, most=_MOST)
    tokens: int = option(
        32_000, "Tokens of its answers and of its commands' results, together.", least=1, most=_MOST
    )
    seconds: float = option(300.0, "How long it may take.", least=0.001, most=_MOST)
    dollars: float | Decimal | str | None = option(
        None, "What this run may cost; the grove's spend caps hold as well."
    )

    def __post_init__(self) -> None:
        # Without arguments `super` looks for the class that slots replaced.
        super(RunOptions, self).__post_init__()
        if self.dollars is not None:
            dollars_from(self.dollars, "dollars")

    @property
    def budget(self) -> Decimal | None:
        """What the run may cost, in dollars."""
        return None if self.dollars is None else dollars_from(self.dollars, "dollars")

    @property
    def generation(self) -> GenerationOptions:
        """How each turn is generated."""
        return GenerationOptions(**{each.name: getattr(self, each.name) for each in fields(CallOptions)})

    def reached(self, *, turns: int, tokens: int, seconds: float) -> str | None:
        """Why the run ends, if a limit is reached."""
        if turns >= self.turns:
            return f"ended after {self.turns:,} turn{'' if self.turns == 1 else 's'}"
        if tokens >= self.tokens:
            return f"ended after {tokens:,} tokens, of {self.tokens:,}"
        if seconds >= self.seconds:
            return f"ended after {self.seconds:g} seconds"
        return None
