"""How long a collaborator may go on."""

from dataclasses import dataclass
from decimal import Decimal

from weft.errors import InvalidInputError
from weft.runtime.contexts.option_checks import shown

TURNS, TOKENS, SECONDS = 12, 32_000, 300.0
_MOST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What ends a run with a note. Money is always within the grove's caps; `dollars` is for one run."""

    turns: int = TURNS
    tokens: int = TOKENS
    """What the model says and what its commands are answered, together; what it is shown is not counted."""
    seconds: float = SECONDS
    dollars: Decimal | None = None

    def __post_init__(self) -> None:
        for what, amount, kind in (
            ("turns", self.turns, int),
            ("tokens", self.tokens, int),
            ("seconds", self.seconds, int | float),
        ):
            if isinstance(amount, bool) or not isinstance(amount, kind) or not 0 < amount <= _MOST:
                raise InvalidInputError(
                    f"a run of {shown(amount)} {what} makes no sense",
                    hint=f"{'a whole number, ' if kind is int else ''}more than 0, at most {_MOST:,}",
                )
        if self.dollars is not None and self.dollars < 0:
            raise InvalidInputError(f"a run of {self.dollars} dollars makes no sense", hint="0 or more")

    def reached(self, *, turns: int, tokens: int, seconds: float) -> str | None:
        """Why it may not go on, if it may not."""
        if turns >= self.turns:
            return f"ended after {self.turns:,} turn{'' if self.turns == 1 else 's'}"
        if tokens >= self.tokens:
            return f"ended after {tokens:,} tokens, of {self.tokens:,}"
        if seconds >= self.seconds:
            return f"ended after {self.seconds:g} seconds"
        return None
