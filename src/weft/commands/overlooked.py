"""Arrows that were seen and left alone: whoever meant them as commands is told so, and why."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.commands.parse import parse_strictly
from weft.commands.scan import Ignored, Why, scan
from weft.commands.values import Think
from weft.commands.writing import write_command
from weft.errors import WeftError

__all__ = ["Overlooked", "overlooked", "overlooked_note"]

_LOOKED_AT = 20
_LONGEST = 2_000
_TOLD = 3
_ABOUT = 80


class Overlooked(NamedTuple):
    """What would have been a command in another place."""

    command: str
    """In its canonical form, no longer than it takes to know it."""
    why: Why


def overlooked(text: str, ignored: Sequence[Ignored]) -> tuple[Overlooked, ...]:
    """Those of the arrows in a text that patterns alone would have read as commands, the first few."""
    own = [each for each in ignored if each.why not in {Why.GIVEN, Why.MARKED}]
    found = (_read(text[each.start : each.start + _LONGEST], each.why) for each in own[:_LOOKED_AT])
    return tuple(each for each in found if each is not None)[:_TOLD]


def _read(text: str, why: Why) -> Overlooked | None:
    commands = scan(text).commands
    if not commands or not commands[0].closed:
        return None
    try:
        meant = parse_strictly(commands[0].text)
    except WeftError:
        return None
    if isinstance(meant.action, Think):
        return None
    said = " ".join(write_command(meant).split())
    return Overlooked(said if len(said) <= _ABOUT else f"{said[: _ABOUT - 1]}…", why)


def overlooked_note(found: Sequence[Overlooked]) -> str:
    """A line for each, to stand behind the results of a turn."""
    return "\n".join(f"not run, {each.why}: → {each.command}" for each in found)
