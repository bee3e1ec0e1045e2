"""Results on their way back: numbered, and in short where they are long."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from weft.errors import WeftError

__all__ = ["INLINE_TOKENS", "Result", "results_message", "shortened"]

INLINE_TOKENS = 1_000
"""From here on a result is given in short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one command came to. The number is its handle for the rest of the run."""

    number: int
    command: str
    """In its canonical form."""
    text: str
    ok: bool
    turn: int
    """The turn of the run in which it was made."""
    tokens: int
    short: str | None = None
    """What is shown instead, if the whole is too long."""
    error: WeftError | None = None
    nodes: tuple[str, ...] = ()
    """Local ids of the nodes that it made."""

    @property
    def shown(self) -> str:
        return self.text if self.short is None else self.short


def shortened(result: Result, summarise: Callable[[str], str], *, inline: int = INLINE_TOKENS) -> Result:
    """The result as it goes back: whole up to the threshold, else its summary and the handle for the rest."""
    if result.tokens <= inline:
        return result
    first, _, _ = result.text.partition("\n")
    note = f"  {result.tokens:,} tokens in all · → view result:{result.number} for the rest"
    summary = summarise(result.text).rstrip().lstrip("\n")
    return replace(result, short=f"{first}\n{summary}\n{note}")


def results_message(results: Sequence[Result]) -> str:
    """One user message with the results of a batch, in order."""
    return "\n\n".join(f"[result:{each.number}] → {_line(each.command)}\n{each.shown}" for each in results)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"
