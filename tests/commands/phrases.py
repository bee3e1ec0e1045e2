"""Ways of asking, with what is meant by them."""

from pathlib import Path
from typing import NamedTuple

from weft.commands.parse import parse, parse_strictly
from weft.commands.values import Command
from weft.errors import WeftError

FOLDER = Path(__file__).parent.parent / "data" / "commands"


class Phrase(NamedTuple):
    said: str
    meant: str | None
    """A catalog form; None where nobody could know."""


class Tally(NamedTuple):
    right: int
    refused: list[Phrase]
    """Understood by people, asked about by us."""
    wrong: list[Phrase]
    """Something else was done than was meant."""


def phrases(name: str) -> list[Phrase]:
    found: list[Phrase] = []
    meant: str | None = None
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            meant = None if line == "= ?" else line[2:]
        elif line and not line.startswith("#"):
            found.append(Phrase(line, meant))
    return found


def outcome(said: str) -> Command | WeftError:
    try:
        return parse(said)
    except WeftError as error:
        return error


def understood(said: str) -> Command | None:
    found = outcome(said)
    return None if isinstance(found, WeftError) else found


def tally(said: list[Phrase]) -> Tally:
    right, refused, wrong = 0, list[Phrase](), list[Phrase]()
    for phrase in said:
        found = understood(phrase.said)
        wanted = None if phrase.meant is None else parse_strictly(phrase.meant)
        if found == wanted:
            right += 1
        elif found is None:
            refused.append(phrase)
        else:
            wrong.append(phrase)
    return Tally(right, refused, wrong)
